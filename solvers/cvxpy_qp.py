"""Quadratic programs modelled in CVXPY, solved by one of its back ends.

    min ½xᵀPx + qᵀx  s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub

The model is stated unchanged; CVXPY takes it to the back end's standard form through a chain of
reductions (Agrawal et al. 2018, "A rewriting system for convex optimization problems"). Modelling,
rewriting and solving are all timed, as a user of CVXPY waits for them.
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dualgap.problems.forms import QP, Claim, FormPoint
from dualgap.solvers.base import NotInstalled, import_optional
from dualgap.solvers.numerics.quadratic import (
    MAX_CLAIMED_RESIDUAL,
    BackendQP,
    answer_of,
    point_of_failure,
    scaled,
    unbounded_claim,
)


@dataclass(frozen=True)
class CvxpyQP(BackendQP):
    """A convex QP through CVXPY.

    Attributes
    ----------
    backend : CLARABEL, CVXOPT, HIGHS, OSQP, PIQP, PROXQP or SCS; `backends()` lists those installed.
    tol : passed as every tolerance of the back end, which defines its meaning. CVXOPT receives P as a
        second-order cone, and fails on many duals below 1e-9: then it is called again with ten times
        the tolerance, up to 1e-4, and claims nothing.
    max_iter : limit on the back end's iterations; None for its default, but 100,000 for HiGHS and OSQP.
    """

    backend: str = "CLARABEL"
    tol: float | None = None

    choices: ClassVar = ("CLARABEL", "CVXOPT", "HIGHS", "OSQP", "PIQP", "PROXQP", "SCS")
    source: ClassVar[str] = "Diamond & Boyd 2016; Agrawal et al. 2018"

    @staticmethod
    def backends() -> tuple[str, ...]:
        """Return the back ends that are installed here."""
        installed = set(import_optional("cvxpy", "CvxpyQP", "cvxpy").installed_solvers())
        return tuple(sorted(installed & set(CvxpyQP.choices)))

    def prepare(self, form: QP) -> QP:
        """Import CVXPY and the back end; raise NotInstalled if either is missing."""
        package = self._backend.package
        if self.backend not in self.backends():
            raise NotInstalled(f"CVXPY's back end {self.backend} needs: pip install {package}")
        importlib.import_module(package)
        return form

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        cp, qp = importlib.import_module("cvxpy"), scaled(form)
        x = cp.Variable(qp.q.size, bounds=[qp.lb, qp.ub])
        # P is semidefinite: without psd_wrap CVXPY would compute its eigenvalues
        objective = 0.5 * cp.quad_form(x, cp.psd_wrap(qp.P)) + qp.q @ x
        inequalities = [] if qp.G is None else [qp.G @ x <= qp.h]
        equalities = [] if qp.A is None else [qp.A @ x == qp.b_eq]
        problem = cp.Problem(cp.Minimize(objective), inequalities + equalities)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inaccuracy shows in the status and the certificate
            try:
                tol = self._solve(cp, problem)
            except Exception as error:  # each back end raises its own exceptions
                yield point_of_failure(form, self.backend, error)
                return
        z, y = (rows[0].dual_value if rows else None for rows in (inequalities, equalities))
        iterations = int(problem.solver_stats.num_iters or 0)
        claims: dict[str, Claim] = {
            "optimal": "optimal",
            "infeasible": "infeasible",
            "unbounded": unbounded_claim(form),
        }
        claim = claims.get(problem.status, "stopped")
        point = answer_of(form, qp, x.value, z, y, iterations, claim)
        if tol > self.tolerance and point.claim == "optimal":
            note = f"{self.backend} failed at tol = {self.tolerance:g} and reached {tol:g}"
            point = replace(point, claim="stopped", note=note)
        yield point

    def _solve(self, cp: Any, problem: Any) -> float:
        """Solve the problem and return the tolerance, see `_solve_with`.

        CVXPY's Cholesky factors for CVXOPT may lose rows and make a problem seem infeasible: LDLᵀ, which
        is slower, does not.
        """
        try:
            tol = self._solve_with(cp, problem)
        except cp.SolverError:
            if self.backend != "CVXOPT":
                raise
        else:
            if self.backend != "CVXOPT" or problem.status != "infeasible":
                return tol
        return self._solve_with(cp, problem, kktsolver="ldl")

    def _solve_with(self, cp: Any, problem: Any, **options: Any) -> float:
        """Solve the problem; return the tolerance, the first of `tol`, 10 tol, ... that gives a point.

        CVXOPT fails at tolerances below its rounding, and CVXPY then drops the point reached.
        """
        tol = self.tolerance
        while True:
            try:
                settings = self._options(tol, self.max_iter) | options
                problem.solve(solver=self.backend, **settings)
            except cp.SolverError:
                if self.backend != "CVXOPT" or 10 * tol > MAX_CLAIMED_RESIDUAL:
                    raise
                tol *= 10
            else:
                return tol
