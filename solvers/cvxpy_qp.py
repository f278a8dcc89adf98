"""Quadratic programs modelled in CVXPY, solved by one of its back ends.

    min ½xᵀPx + qᵀx  s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub

The model is stated unchanged; CVXPY takes it to the back end's standard form through a chain of
reductions (Agrawal et al. 2018, "A rewriting system for convex optimization problems"). Modelling,
rewriting and solving are all timed, as a user of CVXPY waits for them.
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.forms import QP, Claim, FormPoint
from dualgap.solvers.base import NotInstalled, import_optional
from dualgap.solvers.numerics.backends import BackendQP, proxqp_gap, proxqp_infeasibility
from dualgap.solvers.numerics.quadratic import answer_of, point_of_failure, scaled, unbounded_claim


@dataclass(frozen=True)
class CvxpyQP(BackendQP):
    """A convex QP through CVXPY.

    Attributes
    ----------
    backend : CLARABEL, CVXOPT, HIGHS, OSQP, PIQP, PROXQP or SCS; `backends()` lists those installed.
    tol : passed as every tolerance of the back end, which defines its meaning. CVXOPT receives P as a
        second-order cone, and fails on many duals below 1e-9: then it is called again with LDLᵀ factors
        and with larger tolerances, up to 1e-4, at which it claims nothing. HiGHS is called by its
        interior-point method first where highspy-extras adds that.
    max_iter : limit on the back end's iterations; None for its default, but 100,000 for HiGHS and
        1,000,000 for OSQP and SCS.
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
                tol, status = self._solve(problem)
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
        claim = claims.get(status, "stopped")
        point = answer_of(form, qp, x.value, z, y, iterations, claim)
        yield self._at_tolerance(point, tol)

    def _solve(self, problem: Any) -> tuple[float, str]:
        """Solve the problem by the first call that finds an optimum, or that there is none.

        Return its tolerance and status, or those of the last call that gave a point.
        """
        failure, answer = None, None
        for tol, options in self._attempts():
            named = {"highs_options": options} if self.backend == "HIGHS" else options
            try:
                # OSQP would keep settings of the call before
                problem.solve(solver=self.backend, warm_start=False, **named)
                status = problem.status
                if self.backend == "PROXQP" and status in ("optimal", "infeasible"):
                    refine_proxqp(problem, options)
                    status = problem.status if is_nearly_feasible(problem) else status
            except MemoryError:
                raise
            except Exception as error:  # each back end raises its own exceptions
                failure = failure or error
                continue
            answer = tol, status
            # CVXPY's Cholesky factors for CVXOPT may lose rows, and a problem seems to have no optimum
            is_doubtful = self.backend == "CVXOPT" and "kktsolver" not in options
            if status == "optimal" or (status in ("infeasible", "unbounded") and not is_doubtful):
                break
        if answer is None:
            assert failure is not None
            raise failure
        return answer


def refine_proxqp(problem: Any, options: dict[str, Any]) -> None:
    """Solve the problem again by the same ProxQP object, with settings that CVXPY does not pass."""
    solver = problem._solver_cache["PROXQP"][0]
    for name, value in (proxqp_gap(options) | proxqp_infeasibility(options)).items():
        setattr(solver.settings, name, value)
    problem.solve(solver="PROXQP", **options)


def is_nearly_feasible(problem: Any) -> bool:
    """Whether its variables have values that violate its constraints by 1e-6 of them at most."""
    if any(variable.value is None for variable in problem.variables()):
        return False
    size = max(float(np.abs(variable.value).max()) for variable in problem.variables())
    violations = [float(np.max(c.violation())) for c in problem.constraints]
    return max(violations, default=0.0) <= 1e-6 * max(1.0, size)
