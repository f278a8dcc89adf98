"""Base classes of losses ℓ(y, f), convex in the prediction f for a label or target y.

A loss provides what certificates and solvers need: value, subgradient, second derivative, the conjugate
ℓ*(y, s) = max over f of s·f − ℓ(y, f), and the step of dual coordinate ascent, which is its prox. A
dual coefficient is βᵢ = −Cᵢℓ'(yᵢ, fᵢ): the dual of ½‖w‖² + Σ Cᵢℓ(yᵢ, fᵢ) is
−½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) with w = Σ βᵢφ(xᵢ) (Shalev-Shwartz & Zhang 2013, section 1).
"""

from abc import ABC, abstractmethod
from math import inf
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.arithmetic.rounding import MIN_NORMAL
from dualgap.problems.dataset import Vector
from dualgap.problems.registry import snake_case


class Piece(NamedTuple):
    """One linear piece of a loss, and its dual variables.

    A piecewise linear loss is ℓ(y, f) = Σ over pieces of max over low ≤ x ≤ high of −x·r, where
    r = sign·(f − target) + offset. In the dual each piece has a variable Cᵢxᵢ per sample, which costs
    −Cᵢxᵢ·(sign·target − offset) and adds sign·Cᵢxᵢ to βᵢ.

    Attributes
    ----------
    sign, target : (n,), with signs −1 and +1.
    offset, low, high : numbers, with low ≤ 0 ≤ high. If there are two pieces, their signs are opposite,
        both `low` are 0, and at every prediction at least one of them is 0.
    """

    sign: Vector
    target: Vector
    offset: float
    low: float
    high: float

    @property
    def cost(self) -> Vector:
        """r at f = 0: the linear cost of the dual variables, shape (n,)."""
        return self.offset - self.sign * self.target

    def residual(self, f: Vector) -> Vector:
        """Return r at the predictions `f` (n,)."""
        return self.sign * f + self.cost


def times(C: Vector, limit: float) -> Vector:
    """Return limit·C, which is 0 for a limit of 0 even if C is infinite."""
    return limit * C if limit else np.zeros(C.size)


def check_pieces(pieces: list[Piece]) -> None:
    """Raise ValueError unless the pieces satisfy the assumptions of `Piece`."""
    valid = len(pieces) <= 2 and all(p.low <= 0 <= p.high for p in pieces)
    if valid and len(pieces) == 2:
        one, other = pieces
        are_opposite = bool((one.sign == -other.sign).all() and (one.cost >= -other.cost).all())
        valid = one.low == other.low == 0 and are_opposite
    if not valid:
        raise ValueError(
            "loss: must have one piece with low ≤ 0 ≤ high, or two of opposite signs with low = 0, at "
            "most one of which is positive at any prediction; the conjugate of others is unknown"
        )


class Loss(ABC):
    """A convex loss of predictions f, of shape (n,), or (n, K) for K classes.

    Attributes
    ----------
    name : the name in experiment files. source : the publication.
    is_regression : whether y is a real target, rather than a label.
    unit_margin : whether the loss is 0 for margins of at least one, so that scaling w can repair a
        margin that falls short by rounding.
    depends_on_residual : whether ℓ(y, f) = g(y − f), so that an offset can shift the targets.
    degree : p with ℓ(ty, tf) = tᵖℓ(y, f) for t > 0, where t also scales `epsilon`, but not labels y;
        None if there is none.
    lipschitz : the largest slope |ℓ'|; inf if it is unbounded.
    smoothness : the largest second derivative; inf for a loss with kinks.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    is_regression: ClassVar[bool] = False
    unit_margin: ClassVar[bool] = False
    depends_on_residual: ClassVar[bool] = False
    degree: ClassVar[int | None] = None

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The largest slope |ℓ'|."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """The largest second derivative."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = snake_case(cls.__name__)

    @property
    def outputs(self) -> int:
        """Number of predictions per sample."""
        return 1

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has no kinks."""
        return self.smoothness < inf

    @abstractmethod
    def value(self, y: Any, f: Any) -> Any:
        """Return ℓ(y, f), shape (n,).

        Values and conjugates may only use +, −, *, /, `abs`, `np.maximum`, `np.logaddexp` and the
        functions of `dualgap.problems.arithmetic`: certificates evaluate them on numbers with error
        bounds.
        """

    @abstractmethod
    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return g with ℓ(y, f') ≥ ℓ(y, f) + g·(f' − f) for all f'."""

    @abstractmethod
    def curvature_times(self, y: Vector, f: Vector, v: Vector) -> Vector:
        """Return ℓ''(y, f)·v, for v of the shape of f."""

    @abstractmethod
    def conjugate(self, y: Any, s: Any) -> Any:
        """Return ℓ*(y, s) = max over f of s·f − ℓ(y, f), shape (n,), for s in its domain."""

    @abstractmethod
    def in_domain(self, y: Vector, s: Vector) -> NDArray[np.bool_]:
        """Return whether ℓ*(y, s) is finite, shape (n,)."""

    @property
    def dual_range(self) -> tuple[float, float]:
        """The smallest and the largest α/C, where α is y·β for labels and β for targets."""
        return (-self.lipschitz if self.is_regression else 0.0), self.lipschitz

    def signs(self, y: Vector) -> Vector:
        """Return the signs in α = signs·β, shape (n,): the labels; ones for targets."""
        return np.ones(y.size) if self.is_regression else y

    def limits(self, y: Vector, C: Vector) -> tuple[Vector, Vector]:
        """Return the smallest and largest α for the weights `C` (n,), each (n,)."""
        low, high = self.dual_range
        return times(C, low), times(C, high)

    def dual_pieces(self, y: Vector) -> list[Piece] | None:
        """Return the pieces of the loss if it is piecewise linear, else None."""
        return None

    def kinks(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the predictions at which coefficients are between bounds, for β > 0 and for β < 0."""
        return y, y


class ScalarLoss(Loss):
    """A loss of one prediction per sample; all methods work entry by entry on arrays of shape (n,)."""

    def in_domain(self, y: Vector, s: Vector) -> NDArray[np.bool_]:
        """Return whether α/C, which is −s for targets and −y·s for labels, is in `dual_range`."""
        low, high = self.dual_range
        ratio = -s if self.is_regression else -y * s
        return (low <= ratio) & (ratio <= high)

    @abstractmethod
    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return the second derivative ℓ''(y, f), the larger one at jumps, ignoring kinks."""

    def curvature_times(self, y: Vector, f: Vector, v: Vector) -> Vector:
        """Return ℓ''(y, f)·v."""
        return self.curvature(y, f) * v

    @abstractmethod
    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return s with −s ∈ ∂ℓ(y, m + t·s), for t ≥ 0.

        It maximises −ℓ*(y, −s) − m·s − ½t·s², the dual in one coefficient, and m + t·s is the prox
        of t·ℓ at m, the minimiser f of t·ℓ(y, f) + ½(f − m)².
        """


class VectorLoss(Loss):
    """A loss of several predictions per sample, whose dual variables have constraints of their own."""

    @abstractmethod
    def project_dual(self, y: Vector, C: Vector, alpha: Vector) -> Vector:
        """Return the feasible dual variables nearest to `alpha`."""

    @abstractmethod
    def dual_violation(self, y: Vector, C: Vector, alpha: Vector) -> float:
        """Return the largest violation of a constraint by `alpha`."""


class PiecewiseLinear(ScalarLoss):
    """A loss defined by its pieces alone, from which all methods follow."""

    @abstractmethod
    def dual_pieces(self, y: Vector) -> list[Piece]:
        """Return the pieces."""

    @property
    def dual_range(self) -> tuple[float, float]:
        """The smallest and the largest α/C."""
        ends = [(p.sign[0] * p.low, p.sign[0] * p.high) for p in self.dual_pieces(np.ones(1))]
        return float(sum(min(pair) for pair in ends)), float(sum(max(pair) for pair in ends))

    @property
    def lipschitz(self) -> float:
        """The largest slope |ℓ'|."""
        return max(map(abs, self.dual_range))

    @property
    def smoothness(self) -> float:
        """Infinite, because of the kink."""
        return inf

    def value(self, y: Any, f: Any) -> Any:
        """Return the sum of the pieces."""
        residuals = [(p, p.residual(f)) for p in self.dual_pieces(y)]
        return sum(np.maximum(-p.high * r, 0.0) + np.maximum(-p.low * r, 0.0) for p, r in residuals)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return the slope, and at a kink the subgradient closest to 0."""
        pieces = [(p, np.sign(p.residual(f))) for p in self.dual_pieces(y)]
        return -np.sum(
            [p.sign * np.select([s < 0, s > 0], [p.high, p.low]) for p, s in pieces], axis=0
        )

    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return 0: the loss is linear between its kinks."""
        return np.zeros(np.shape(f))

    def conjugate(self, y: Any, s: Any) -> Any:
        """Return Σ cost·x for the variables x that make up −s."""
        pieces = self.dual_pieces(y)
        if len(pieces) == 1:
            return -pieces[0].cost * pieces[0].sign * s
        return sum(p.cost * np.maximum(-p.sign * s, 0.0) for p in pieces)

    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return Σ sign·x with x = −r(m)/t within its limits."""
        denominator = np.maximum(t, MIN_NORMAL)
        pieces = self.dual_pieces(y)
        return np.sum(
            [p.sign * np.clip(-p.residual(m) / denominator, p.low, p.high) for p in pieces], axis=0
        )

    def kinks(self, y: Vector) -> tuple[Vector, Vector]:
        """Return f with r = 0 in the piece of β > 0, and in that of β < 0."""
        pieces = self.dual_pieces(y)
        first, last = (p.target - p.sign * p.offset for p in (pieces[0], pieces[-1]))
        rises = pieces[0].sign > 0
        return np.where(rises, first, last), np.where(rises, last, first)
