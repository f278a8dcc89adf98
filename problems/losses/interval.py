"""Losses that are linear or quadratic in the distance of f from an interval.

    hinge             max(0, 1 − yf)          squared_hinge                 max(0, 1 − yf)²
    perceptron        max(0, −yf)             squared                       ½(y − f)²
    epsilon_insensitive           max(0, |y − f| − epsilon)
    squared_epsilon_insensitive   max(0, |y − f| − epsilon)²

(Gori's notes, Straka's notes, and scikit-learn's scaling of each.)
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic.intervals import MIN_NORMAL
from dualgap.problems.dataset import Vector
from dualgap.problems.losses.base import ScalarLoss, Terms
from dualgap.problems.validation import check_positive


class IntervalLoss(ScalarLoss):
    """ℓ = |e| or e²/(2·smoothing), where e is the signed distance of f from [lower, upper].

    e = lower − f below the interval, upper − f above, 0 within; `smoothing` = 0 means |e|. Subclasses
    with an infinite end override `excess` and `support`.
    """

    smoothing: ClassVar[float] = 0.0

    @abstractmethod
    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return (lower, upper), the interval of predictions without loss; ends may be infinite."""

    def excess(self, y: Any, f: Any) -> Any:
        """Return |e|."""
        lower, upper = self.ends(y)
        return np.maximum(lower - f, 0.0) + np.maximum(f - upper, 0.0)

    def support(self, y: Any, s: Any) -> Any:
        """Return the maximum of s·f over the interval, if it is finite."""
        lower, upper = self.ends(y)
        return np.maximum(s, 0.0) * upper - np.maximum(-s, 0.0) * lower

    @property
    def lipschitz(self) -> float:
        """1 for |e|, inf for e²."""
        return inf if self.smoothing else 1.0

    @property
    def smoothness(self) -> float:
        """1/smoothing."""
        return 1.0 / self.smoothing if self.smoothing else inf

    def value(self, y: Any, f: Any) -> Any:
        """Return |e| or e²/(2·smoothing)."""
        e = self.excess(y, f)
        return e * e / (2.0 * self.smoothing) if self.smoothing else e

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return −sign(e) or −e/smoothing."""
        e = self._distance(y, f)
        return -e / self.smoothing if self.smoothing else -np.sign(e)

    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return 1/smoothing outside the interval and at its ends, else 0."""
        lower, upper = self.ends(y)
        return np.where((f <= lower) | (f >= upper), 1.0 / (self.smoothing or inf), 0.0)

    def conjugate(self, y: Any, s: Any) -> Any:
        """Return the maximum of s·f over the interval, plus ½smoothing·s²."""
        support = self.support(y, s)
        return support + 0.5 * self.smoothing * s * s if self.smoothing else support

    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return e(m)/(t + smoothing) within ±lipschitz."""
        denominator = np.maximum(t + self.smoothing, MIN_NORMAL)
        limit = self.lipschitz * denominator
        return np.clip(self._distance(y, m), -limit, limit) / denominator

    def kinks(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the ends of the interval: β > 0 pulls f towards the lower, β < 0 towards the upper."""
        return self.ends(y)

    def _distance(self, y: Vector, f: Vector) -> Vector:
        lower, upper = self.ends(y)
        return np.maximum(lower - f, 0.0) - np.maximum(f - upper, 0.0)


class _Margin(IntervalLoss):
    margin: ClassVar[float] = 1.0

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the interval of f with y·f ≥ margin."""
        return np.where(y > 0, self.margin, -inf), np.where(y > 0, inf, -self.margin)

    def excess(self, y: Any, f: Any) -> Any:
        """Return max(0, margin − y·f)."""
        return np.maximum(self.margin - y * f, 0.0)

    def support(self, y: Any, s: Any) -> Any:
        """Return margin·y·s, for y·s ≤ 0."""
        return self.margin * (y * s)

    def kinks(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the finite end, y·margin, twice."""
        return self.margin * y, self.margin * y

    def terms(self, y: Vector) -> Terms | None:
        """Return the terms, in which t has the sign of the label; None for a squared loss."""
        ends = np.minimum(y, 0.0), np.maximum(y, 0.0)
        return None if self.smoothing else Terms(-self.margin * y, 0.0, *ends)


@dataclass(frozen=True)
class Hinge(_Margin):
    """ℓ(y, f) = max(0, 1 − y·f), of support vector classification; conjugate y·s, −1 ≤ y·s ≤ 0."""

    source: ClassVar[str] = "Cortes & Vapnik 1995"
    unit_margin: ClassVar[bool] = True


@dataclass(frozen=True)
class SquaredHinge(_Margin):
    """ℓ(y, f) = max(0, 1 − y·f)², LIBLINEAR's L2 loss; conjugate y·s + s²/4 for y·s ≤ 0."""

    smoothing: ClassVar[float] = 0.5
    source: ClassVar[str] = "Fan et al. 2008 (L2-loss SVC)"


@dataclass(frozen=True)
class Perceptron(_Margin):
    """ℓ(y, f) = max(0, −y·f), Rosenblatt's criterion; conjugate 0 for −1 ≤ y·s ≤ 0.

    With any regularisation, and an offset without cost, w = 0 is optimal, as its loss is 0.
    """

    margin: ClassVar[float] = 0.0
    degree: ClassVar[int | None] = 1
    source: ClassVar[str] = "Rosenblatt 1958; Gori's notes, eq. 44"


@dataclass(frozen=True)
class Squared(IntervalLoss):
    """ℓ(y, f) = ½(y − f)², of ridge regression; conjugate y·s + ½s²."""

    smoothing: ClassVar[float] = 1.0
    is_regression: ClassVar[bool] = True
    depends_on_residual: ClassVar[bool] = True
    degree: ClassVar[int | None] = 2
    source: ClassVar[str] = "Hoerl & Kennard 1970; NPFL129 notes (MSE)"

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the interval that only contains y."""
        return y, y

    def excess(self, y: Any, f: Any) -> Any:
        """Return |y − f|."""
        return abs(y - f)

    def support(self, y: Any, s: Any) -> Any:
        """Return y·s."""
        return y * s


class _Tube(IntervalLoss):
    epsilon: float
    is_regression: ClassVar[bool] = True
    depends_on_residual: ClassVar[bool] = True
    degree: ClassVar[int | None] = 1

    def __post_init__(self) -> None:
        check_positive(self.epsilon, "epsilon", zero=True)

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the interval of f with |y − f| ≤ epsilon."""
        return y - self.epsilon, y + self.epsilon

    def excess(self, y: Any, f: Any) -> Any:
        """Return max(0, |y − f| − epsilon)."""
        return np.maximum(abs(y - f) - self.epsilon, 0.0)

    def support(self, y: Any, s: Any) -> Any:
        """Return y·s + epsilon·|s|."""
        return y * s + self.epsilon * abs(s)

    def terms(self, y: Any) -> Terms | None:
        """Return the terms, in which t has either sign; None for a squared loss."""
        return None if self.smoothing else Terms(-y, self.epsilon, -1.0, 1.0)


@dataclass(frozen=True)
class EpsilonInsensitive(_Tube):
    """ℓ(y, f) = max(0, |y − f| − epsilon), the loss of support vector regression (Vapnik 1995).

    Conjugate y·s + epsilon·|s| for |s| ≤ 1.
    """

    epsilon: float
    source: ClassVar[str] = "Vapnik 1995"


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(_Tube):
    """ℓ(y, f) = max(0, |y − f| − epsilon)²; conjugate y·s + epsilon·|s| + s²/4."""

    epsilon: float
    smoothing: ClassVar[float] = 0.5
    degree: ClassVar[int | None] = 2
    source: ClassVar[str] = "Ho & Lin 2012 (L2-loss SVR)"
