"""Quadratic programs through qpsolvers, one interface to many back ends.

    min ½xᵀPx + qᵀx  s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub

Caron et al., "qpsolvers: Quadratic Programming Solvers in Python". The back ends: Clarabel (interior
point, Goulart & Chen 2024), PIQP (proximal interior point, Schwan et al. 2023), OSQP and SCS (operator
splitting, Stellato et al. 2020, O'Donoghue 2021), ProxQP (augmented Lagrangian, Bambade et al. 2022),
HiGHS and quadprog (active sets, Huangfu & Hall 2018, Goldfarb & Idnani 1983).
"""

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.forms import QP, Claim, FormPoint
from dualgap.solvers.base import NotInstalled
from dualgap.solvers.needs import CONVEX, Need
from dualgap.solvers.numerics.quadratic import (
    BACKENDS,
    BackendQP,
    ScaledQP,
    answer_of,
    point_of_failure,
    scaled,
    unbounded_claim,
)


@dataclass(frozen=True)
class QPSolversQP(BackendQP):
    """A convex QP through qpsolvers.

    Attributes
    ----------
    backend : clarabel, highs, osqp, piqp, proxqp, quadprog or scs.
    tol : passed as every tolerance of the back end, which defines its meaning. HiGHS accepts none below
        1e-10, and adds 1e-7 to P's diagonal; quadprog has no tolerance: it is exact except for a ridge
        of 1.5e-8 times P's mean diagonal, and for limits looser by 1e-9 if it finds no point.
    max_iter : limit on the back end's iterations; None for its default, but 100,000 for HiGHS, which
        has none and can cycle, and for OSQP, whose 4,000 end before the tolerance. Clarabel and HiGHS do
        not report their number of iterations; quadprog has no limit.
    """

    backend: str = "clarabel"

    choices: ClassVar = tuple(name for name in BACKENDS if name != "cvxopt")
    source: ClassVar[str] = "Caron et al., qpsolvers"
    needs: ClassVar = (
        Need(
            "max_iter=None with this back end, which has no limit on its iterations",
            lambda _, solver: solver.max_iter is None or solver._backend.limit,
        ),
        Need(
            "P ≠ 0 with quadprog, which divides by a factor of it",
            lambda form, solver: solver.backend != "quadprog" or form.P.diagonal().any(),
        ),
        CONVEX,
    )
    single_threaded: ClassVar[bool] = True

    def prepare(self, form: QP) -> QP:
        """Import qpsolvers and its back ends; raise NotInstalled if one is missing."""
        try:
            available = importlib.import_module("qpsolvers").available_solvers
        except ImportError:
            available = []
        if self.backend not in available:
            raise NotInstalled(
                f"qpsolvers with the back end {self.backend} needs: "
                f"pip install qpsolvers {self._backend.package}"
            )
        return form

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        qpsolvers = importlib.import_module("qpsolvers")
        tol = max(self.tolerance, 1e-10) if self.backend == "highs" else self.tolerance
        qp, options = scaled(form), self._options(tol, self.max_iter)
        if self.backend in ("piqp", "proxqp"):
            options |= dict.fromkeys(("eps_duality_gap_abs", "eps_duality_gap_rel"), self.tolerance)
        if self.backend == "proxqp":  # whose residuals alone do not show that z(h − Gx) = 0
            options["check_duality_gap"] = True
        with warnings.catch_warnings():
            # about sparse copies, and about failures, which the claim shows
            warnings.simplefilter("ignore")
            kinds = {"quadprog": "dense", "piqp": "either", "proxqp": "either"}
            problem = qpsolvers.Problem(*_matrices(qp, kinds.get(self.backend, "sparse")))
            try:
                answer = qpsolvers.solve_problem(problem, self.backend, **options)
                if self.backend == "proxqp" and not answer.found:
                    answer = closest_feasible(qpsolvers, problem, answer, options)
                if self.backend == "quadprog" and not answer.found:
                    answer = qpsolvers.solve_problem(loosened(problem), "quadprog")
            except Exception as error:  # each back end raises its own exceptions
                yield point_of_failure(form, self.backend, error)
                return
        # qpsolvers' z and y are the multipliers of Gx ≤ h and A x = b in every back end
        info = answer.extras.get("info")
        # of the back ends that return the number of iterations
        names = {"proxqp": "iter_ext", "quadprog": "iterations"}
        names |= dict.fromkeys(("osqp", "piqp", "scs"), "iter")
        field = names.get(self.backend, "")
        # the status of the back end, "" if qpsolvers does not return it
        status = str(answer.extras.get("status", getattr(info, "status", ""))).lower()
        claim: Claim = "optimal" if answer.found else "stopped"
        unbounded = ("dual infeasible", "dual_infeasible", "dualinfeasible", "unbounded")
        if "almost" not in status and status.endswith(unbounded):
            claim = unbounded_claim(form)
        elif "almost" not in status and status.endswith("infeasible"):
            claim = "infeasible"
        # if the back end does not report its iterations, its limit or 0
        iterations = getattr(info, field, answer.extras.get(field))
        if iterations is None:
            iterations = self.max_iter or 0 if status == "maxiterations" else 0
        yield answer_of(form, qp, answer.x, answer.z, answer.y, int(np.ravel(iterations)[0]), claim)


def closest_feasible(qpsolvers: Any, problem: Any, answer: Any, options: dict[str, Any]) -> Any:
    """Return ProxQP's answer to the closest feasible problem if this is `problem` itself, else `answer`.

    ProxQP calls a problem infeasible at a residual of 1e-4, which qpsolvers cannot change. It then seeks
    the closest feasible problem if asked, for a hundred iterations at most, as this may never end.
    """
    if not str(answer.extras["info"].status).endswith("PRIMAL_INFEASIBLE"):
        return answer
    limit = min(options.get("max_iter", 100), 100)
    options = options | {"primal_infeasibility_solving": True, "max_iter": limit}
    closest = qpsolvers.solve_problem(problem, "proxqp", **options)
    if str(closest.extras["info"].status).endswith("CLOSEST_PRIMAL_FEASIBLE"):
        closest = replace(closest, found=True)
    tolerance = 1e-6 * max(1.0, float(np.abs(closest.x).max()))
    return closest if closest.primal_residual() <= tolerance else answer


def loosened(problem: Any) -> Any:
    """Return the problem with h, lb and ub looser by up to 1e-9 of themselves, but at least of one.

    quadprog finds no point where rounding violates a constraint that follows from active ones: at random
    distances no constraint does (Charnes 1952).
    """
    rng = np.random.default_rng(0)

    def loosen(limits: Any, sign: float) -> Any:
        if limits is None:
            return None
        return limits + sign * 1e-9 * np.maximum(1.0, np.abs(limits)) * rng.uniform(
            0.5, 1.0, limits.size
        )

    P, q, G, h, A, b, lb, ub = problem.unpack()
    return type(problem)(P, q, G, loosen(h, 1.0), A, b, loosen(lb, -1.0), loosen(ub, 1.0))


def _matrices(qp: ScaledQP, kind: str) -> tuple[Any, ...]:
    """Return P, q, G, h, A, b, lb, ub in the matrix format of the back end; None for missing bounds."""
    matrices: list[Any] = [qp.P, qp.G, qp.A]
    if kind == "dense" or (kind == "either" and not scipy.sparse.issparse(qp.P)):
        matrices = [M.toarray() if scipy.sparse.issparse(M) else M for M in matrices]
    else:  # qpsolvers does not support csc_array
        matrices = [None if M is None else scipy.sparse.csc_matrix(M) for M in matrices]
    P, G, A = matrices
    if kind == "dense":
        # quadprog divides by the Cholesky factor of P, which for a dual is singular. A ridge δ moves the
        # optimum by O(δ) and adds rounding of O(eps/δ): δ = √eps of the mean diagonal is best.
        P = P + float(np.sqrt(np.finfo(float).eps)) * float(np.mean(np.diag(P))) * np.eye(qp.q.size)
    lb = qp.lb if np.isfinite(qp.lb).any() else None
    ub = qp.ub if np.isfinite(qp.ub).any() else None
    return P, qp.q, G, qp.h, A, qp.b_eq, lb, ub
