"""What the QP solvers share: convexity, a scaling to the size of tolerances, back ends and answers.

Interior-point and splitting methods compare residuals with tolerances that are absolute for numbers
below one, so that what they answer depends on the units of the data. They are given
    min ½uᵀ(σ²P/ρ)u + (σq/ρ)ᵀu   s.t.  Gu ≤ h/σ,  Au = b/σ,  lb/σ ≤ u ≤ ub/σ
with x = σu, in which σ and ρ are powers of two, and so exact: σ is the size of the box where all of it
is below one, and ρ brings the linear cost, or P where there is none, to a size of one. What a solver's
multipliers are times ρ/σ are those of the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import QP, Claim, FormPoint
from dualgap.problems.gram.gram import SignedGram
from dualgap.problems.validation import check_choice
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import CONVEX

# Residual that an optimum may be claimed with, however large the rounding.
COARSEST = 1e-4
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class ScaledQP:
    """A QP's arrays as a solver gets them.

    Attributes
    ----------
    operator, of_P : P is `of_P` times the operator; for a dual the operator may never be formed.
    of_x, of_z : what the solver's variables, and its multipliers, are to be multiplied by.
    """

    operator: scipy.sparse.csc_array | SignedGram
    of_P: float
    q: Vector
    G: scipy.sparse.csc_array | None
    h: Vector | None
    A: scipy.sparse.csc_array | None
    b_eq: Vector | None
    lb: Vector
    ub: Vector
    of_x: float
    of_z: float

    @cached_property
    def P(self) -> Any:
        """The matrix: dense for a dual, sparse for a primal."""
        P = self.operator.dense() if isinstance(self.operator, SignedGram) else self.operator
        return P if self.of_P == 1 else self.of_P * P

    def rounding(self, x: Vector) -> float:
        """Return the rounding error of P x relative to q, below which no dual residual comes.

        Each entry of P x is rounded by up to eps·max P·‖x‖₁; for P ⪰ 0 the diagonal has the largest.
        """
        largest = self.of_P * float(self.operator.diagonal().max())
        error = _EPS * np.sqrt(x.size) * largest * float(np.abs(x).sum())
        return error / max(1.0, float(np.linalg.norm(self.q)))


def scaled(form: QP) -> ScaledQP:
    """Return `form` with its box, if it is small, and its cost brought to a size of one."""
    ends = np.abs([form.lb, form.ub])
    of_x = min(1.0, _power_of_two(float(ends.max()))) if np.isfinite(ends).all() else 1.0
    linear = of_x * float(np.abs(form.q).max())
    of_cost = _power_of_two(linear or of_x**2 * float(np.abs(form.P.diagonal()).max()))
    return ScaledQP(
        operator=form.P,
        of_P=of_x**2 / of_cost,
        q=of_x / of_cost * form.q,
        G=form.G,
        h=None if form.h is None else form.h / of_x,
        A=form.A,
        b_eq=None if form.b_eq is None else form.b_eq / of_x,
        lb=form.lb / of_x,
        ub=form.ub / of_x,
        of_x=of_x,
        of_z=of_cost / of_x,
    )


def _power_of_two(size: float) -> float:
    """Return the power of two that is at most `size`, and above half of it; 1 for 0."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1)) if size else 1.0


class ConvexQPSolver(Solver):
    """Base of the solvers of convex QPs."""

    form: ClassVar = QP
    needs: ClassVar = (CONVEX,)


@dataclass(frozen=True)
class Backend:
    """Where a back end comes from, and what it calls things.

    Attributes
    ----------
    package : what to install.
    tolerances : its options that mean `tol`.
    limit : its option that means `max_iter`, "" if it has none.
    clock : its option for seconds after which it ends, "" if it has none.
    """

    package: str
    tolerances: tuple[str, ...]
    limit: str
    clock: str = ""


_RESIDUALS = ("eps_abs", "eps_rel")
BACKENDS = {
    "clarabel": Backend(
        "clarabel", ("tol_gap_abs", "tol_gap_rel", "tol_feas"), "max_iter", "time_limit"
    ),
    "cvxopt": Backend("cvxopt", ("abstol", "reltol", "feastol"), "max_iters"),
    "highs": Backend(
        "highspy",
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        "qp_iteration_limit",
        "time_limit",
    ),
    "osqp": Backend("osqp", _RESIDUALS, "max_iter", "time_limit"),
    "piqp": Backend("piqp", _RESIDUALS, "max_iter"),
    "proxqp": Backend("proxsuite", _RESIDUALS, "max_iter"),
    "quadprog": Backend("quadprog", (), ""),
    "scs": Backend("scs", _RESIDUALS, "max_iters", "time_limit_secs"),
}


@dataclass(frozen=True)
class BackendQP(ConvexQPSolver):
    """Base of the packages that hand a QP to one of several back ends."""

    backend: str
    tol: float | None = None
    max_iter: int | None = None

    choices: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.backend, "backend", self.choices)

    @property
    def _backend(self) -> Backend:
        return BACKENDS[self.backend.lower()]

    def _options(self, tol: float, max_iter: int | None) -> dict[str, Any]:
        """Return the back end's options for a tolerance and a limit on its iterations."""
        options: dict[str, Any] = dict.fromkeys(self._backend.tolerances, tol)
        return options if max_iter is None else {**options, self._backend.limit: int(max_iter)}


def answer_of(
    form: QP, qp: ScaledQP, x: Any, z: Any, y: Any, iterations: int, claim: Claim
) -> FormPoint:
    """Return the point of a back end's x and multipliers z of Gx ≤ h and y of A x = b_eq, or None.

    At C = 1e12 some claim a problem to be infeasible that has an optimum, as 0 is feasible and its box
    finite: they have failed.
    """
    no_optimum = claim in ("infeasible", "unbounded")
    if no_optimum and form.G is None and (form.b_eq is None or not form.b_eq.any()):
        finite = np.isfinite(form.lb).all() and np.isfinite(form.ub).all()
        if finite and (form.lb <= 0).all() and (form.ub >= 0).all():
            claim = "stopped"
    inequality = None if form.G is None else _times(qp.of_z, z)
    equality = None if form.A is None else _times(qp.of_z, y)
    return FormPoint(
        _times(qp.of_x, x),
        inequality=inequality,
        equality=equality,
        iterations=iterations,
        claim=claim,
    )


def unbounded_claim(form: QP) -> Claim:
    """Return the claim that a back end makes which says that the objective is unbounded.

    A dual is unbounded where the problem of its samples is infeasible.
    """
    return "unbounded" if form.gram is None else "infeasible"


def point_of_failure(form: QP, backend: str, error: Exception) -> FormPoint:
    """Return the point of a back end that raised an exception; some raise one to say "unbounded".

    Raises
    ------
    MemoryError
        If that is the exception, which is no back end's own.
    """
    if isinstance(error, MemoryError):
        raise error
    said = str(error) or type(error).__name__
    claim = unbounded_claim(form) if "unbounded" in said else "stopped"
    return FormPoint(None, claim=claim, note=f"{backend} gave no answer: {said}")


def _times(scale: float, values: Any) -> Vector | None:
    """Return the values scaled; None for none, or for those that are not numbers."""
    array = np.asarray(values, dtype=np.float64)  # of None a NaN
    return scale * array if np.isfinite(array).all() else None
