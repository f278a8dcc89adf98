"""Code shared by the QP solvers: convexity check, scaling and results.

Interior-point and splitting methods compare residuals with tolerances that are absolute for numbers
below one, so that their results depend on the units of the data. They are given
    min ½uᵀ(σ²P/ρ)u + (σq/ρ)ᵀu   s.t.  Gu ≤ h/σ,  Au = b/σ,  lb/σ ≤ u ≤ ub/σ
with x = σu, where σ and ρ are powers of two, so that scaling is exact: σ is the size of the box if it is
below one, and ρ scales the linear cost, or P without one, to a size of one. The solver's multipliers
times ρ/σ are those of the original problem.
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
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import CONVEX

# largest residual of a claimed optimum, however large the rounding
MAX_CLAIMED_RESIDUAL = 1e-4


@dataclass(frozen=True, eq=False)
class ScaledQP:
    """The arrays of a QP as passed to a solver.

    Attributes
    ----------
    operator, of_P : P is `of_P` times the operator; a dual's operator need not be formed.
    of_x, of_z : factors by which to multiply the solver's variables and its multipliers.
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
        if not isinstance(self.operator, SignedGram):
            return self.operator if self.of_P == 1 else self.of_P * self.operator
        P = self.operator.dense()
        P *= self.of_P
        return P

    def rounding(self, x: Vector) -> float:
        """Return the rounding error of P x relative to q: the smallest attainable dual residual.

        Each entry of P x is rounded by up to eps·max P·‖x‖₁; the largest entry of P ⪰ 0 is on the
        diagonal.
        """
        largest = self.of_P * float(self.operator.diagonal().max())
        error = float(np.finfo(float).eps) * np.sqrt(x.size) * largest * float(np.abs(x).sum())
        return error / max(1.0, float(np.linalg.norm(self.q)))


def scaled(form: QP) -> ScaledQP:
    """Return `form` with its cost, and its box if it is small, scaled to a size of one."""
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
    """Return the largest power of two that is at most `size`; 1 for 0."""
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1)) if size else 1.0


class ConvexQPSolver(Solver):
    """Base class of the solvers of convex QPs."""

    form: ClassVar = QP
    needs: ClassVar = (CONVEX,)


def answer_of(
    form: QP, qp: ScaledQP, x: Any, z: Any, y: Any, iterations: int, claim: Claim
) -> FormPoint:
    """Return the point of a back end's x and multipliers z of Gx ≤ h and y of A x = b_eq (or None).

    At C = 1e12 some back ends call a problem infeasible whose box is finite and contains the feasible 0:
    this counts as a failure.
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
    """Return the claim that corresponds to a back end's "unbounded".

    An unbounded dual means that the primal problem is infeasible.
    """
    return "unbounded" if form.gram is None else "infeasible"


def point_of_failure(form: QP, backend: str, error: Exception) -> FormPoint:
    """Return the point of a back end that raised an exception, which may mean "unbounded".

    Raises
    ------
    MemoryError
        If `error` is one, as it says nothing about the problem.
    """
    if isinstance(error, MemoryError):
        raise error
    message = str(error) or type(error).__name__
    claim = unbounded_claim(form) if "unbounded" in message else "stopped"
    return FormPoint(None, claim=claim, note=f"{backend} gave no answer: {message}")


def _times(scale: float, values: Any) -> Vector | None:
    """Return scale·values, or None if they are None or not finite."""
    array = np.asarray(values, dtype=np.float64)  # None becomes NaN
    return scale * array if np.isfinite(array).all() else None
