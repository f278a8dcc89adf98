"""Quadratic programs through qpsolvers, one call for many back ends.

    min ½xᵀPx + qᵀx  s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub

Caron et al., "qpsolvers: Quadratic Programming Solvers in Python". The back ends: Clarabel (interior
point, Goulart & Chen 2024), PIQP (proximal interior point, Schwan et al. 2023), OSQP and SCS (operator
splitting, Stellato et al. 2020, O'Donoghue 2021), ProxQP (augmented Lagrangian, Bambade et al. 2022),
HiGHS and quadprog (active sets, Huangfu & Hall 2018, Goldfarb & Idnani 1983).
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from problems.dataset import Vector
from problems.forms import QP, Claim, FormPoint
from problems.validation import check_choice
from solvers.base import NotInstalled, Solver
from solvers.quadratic import ScaledQP, is_solvable, refuse_indefinite, scaled


@dataclass(frozen=True)
class _Backend:
    """Where a back end comes from, and what it calls things.

    Attributes
    ----------
    package : what to install.
    tolerances : its options that mean `tol`; finest : the smallest it takes.
    limit : its option that means `max_iter`, None if it has none.
    matrices : "dense", "sparse", or "either", as the problem's P is.
    count : where qpsolvers leaves the number of iterations, "" if nowhere.
    cap : what to set `limit` to by default, for a back end that can cycle without end.
    """

    package: str
    tolerances: tuple[str, ...]
    limit: str | None
    matrices: str
    count: str
    finest: float = 0.0
    cap: int | None = None


_EPS = ("eps_abs", "eps_rel")
_GAPS = ("eps_duality_gap_abs", "eps_duality_gap_rel")
_BACKENDS = {
    "clarabel": _Backend(
        "clarabel", ("tol_gap_abs", "tol_gap_rel", "tol_feas"), "max_iter", "sparse", ""
    ),
    "highs": _Backend(
        "highspy",
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        "qp_iteration_limit",
        "sparse",
        "",
        finest=1e-10,
        cap=100_000,
    ),
    "osqp": _Backend("osqp", _EPS, "max_iter", "sparse", "iter"),
    "piqp": _Backend("piqp", (*_EPS, *_GAPS), "max_iter", "either", "iter"),
    "proxqp": _Backend("proxsuite", _EPS, "max_iter", "either", "iter_ext"),
    "quadprog": _Backend("quadprog", (), None, "dense", "iterations"),
    "scs": _Backend("scs", _EPS, "max_iters", "sparse", "iter"),
}

# quadprog divides by the Cholesky factor of P, which for a dual is singular. A ridge δ moves the
# optimum by O(δ) and costs O(eps/δ) in rounding: δ = √eps of the mean diagonal loses least.
_RIDGE = float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True)
class QPSolversQP(Solver):
    """A convex QP through qpsolvers.

    Attributes
    ----------
    backend : clarabel, highs, osqp, piqp, proxqp, quadprog or scs.
    tol : handed to every tolerance that the back end has; what it means is the back end's affair.
        HiGHS takes none below 1e-10, and adds 1e-7 to P's diagonal; quadprog has no tolerance: what
        it solves is exact but for a ridge of 1.5e-8 of P's mean diagonal.
    max_iter : the back end's limit on its own iterations; None for its own default (HiGHS, which has
        none and can cycle: 100,000). Clarabel and HiGHS do not report to qpsolvers how many they made;
        quadprog has no limit.
    """

    backend: str = "clarabel"
    tol: float = 1e-9
    max_iter: int | None = None

    form: ClassVar = QP
    source: ClassVar[str] = "Caron et al., qpsolvers"
    name: ClassVar[str] = "qpsolvers_qp"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.backend, "backend", sorted(_BACKENDS))

    def refuses(self, form: QP) -> str | None:
        """A QP must be convex, and a limit needs a back end that has one."""
        if self.max_iter is not None and _BACKENDS[self.backend].limit is None:
            return f"{self.backend} has no limit on its iterations: leave max_iter out"
        return refuse_indefinite(form)

    def prepare(self, form: QP) -> QP:
        """Import qpsolvers and its back ends; NotInstalled with what to do if one is missing."""
        package = _BACKENDS[self.backend].package
        try:
            available = importlib.import_module("qpsolvers").available_solvers
        except ImportError:
            available = []
        if self.backend not in available:
            raise NotInstalled(
                f"qpsolvers with the back end {self.backend} needs: pip install qpsolvers {package}"
            )
        return form

    def iterates(self, form: QP) -> Iterator[FormPoint]:
        """Yield once, at the end."""
        qpsolvers = importlib.import_module("qpsolvers")
        qp = scaled(form)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sparse copies and failures: the claim says those
            problem = qpsolvers.Problem(*_matrices(qp, _BACKENDS[self.backend].matrices))
            answer = qpsolvers.solve_problem(problem, self.backend, **self._options())
        claim = _claim(answer)
        yield FormPoint(
            _times(qp.of_x, answer.x),
            # qpsolvers' z is the multiplier of Gx ≤ h in every back end, not negative where optimal
            inequality=None if form.G is None else _times(qp.of_z, answer.z),
            iterations=self._iterations(answer),
            claim="stopped" if claim == "infeasible" and is_solvable(form) else claim,
        )

    def _options(self) -> dict[str, Any]:
        backend = _BACKENDS[self.backend]
        options: dict[str, Any] = dict.fromkeys(backend.tolerances, max(self.tol, backend.finest))
        limit = backend.cap if self.max_iter is None else self.max_iter
        if backend.limit is not None and limit is not None:
            options[backend.limit] = int(limit)
        return options

    def _iterations(self, answer: Any) -> int:
        """Return the back end's count; of one that keeps it to itself, its limit or 0."""
        count = _BACKENDS[self.backend].count
        made = getattr(answer.extras.get("info"), count, None) if count else None
        made = answer.extras.get(count) if made is None else made
        if made is None:
            return int(self.max_iter or 0) if _status(answer) == "maxiterations" else 0
        return int(np.ravel(made)[0])


def _matrices(qp: ScaledQP, kind: str) -> tuple[Any, ...]:
    """Return P, q, G, h, A, b, lb, ub with matrices of the kind wanted; None for no bounds at all."""
    dense = kind == "dense" or (kind == "either" and not scipy.sparse.issparse(qp.P))
    P, G, A = (_as_dense(M) if dense else _as_sparse(M) for M in (qp.P, qp.G, qp.A))
    if kind == "dense":
        P = P + _RIDGE * float(np.mean(np.diag(P))) * np.eye(qp.q.size)
    lb = qp.lb if np.isfinite(qp.lb).any() else None
    ub = qp.ub if np.isfinite(qp.ub).any() else None
    return P, qp.q, G, qp.h, A, qp.b_eq, lb, ub


def _as_dense(M: Any) -> Any:
    return M.toarray() if scipy.sparse.issparse(M) else M


def _as_sparse(M: Any) -> Any:
    return None if M is None else scipy.sparse.csc_matrix(M)  # qpsolvers knows no csc_array


def _status(answer: Any) -> str:
    """Return the back end's own word in small letters, "" where qpsolvers does not pass it on."""
    info = answer.extras.get("info")
    return str(answer.extras.get("status", getattr(info, "status", ""))).lower()


def _claim(answer: Any) -> Claim:
    if answer.found:
        return "optimal"
    status = _status(answer)
    proven = status.endswith(("infeasible", "unbounded")) and "almost" not in status
    return "infeasible" if proven else "stopped"


def _times(scale: float, values: Any) -> Vector | None:
    """Return the values scaled; None for none, or for those that are not numbers."""
    if values is None or not np.isfinite(np.asarray(values, dtype=np.float64)).all():
        return None
    return scale * np.asarray(values, dtype=np.float64)
