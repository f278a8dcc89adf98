"""Losses ℓ(y, f) of a prediction f for a label or target y, convex in f.

    hinge             max(0, 1 − yf)          squared_hinge                 max(0, 1 − yf)²
    logistic          ln(1 + exp(−yf))        perceptron                    max(0, −yf)
    squared           ½(y − f)²               epsilon_insensitive           max(0, |y − f| − epsilon)
                                              squared_epsilon_insensitive   max(0, |y − f| − epsilon)²

Each knows what certificates and solvers need: value, subgradient, second derivative, its conjugate
ℓ*(y, s) = max over f of s·f − ℓ(y, f), and the step of dual coordinate ascent, which is its prox. A
dual coefficient is βᵢ = −Cᵢℓ'(yᵢ, fᵢ): the dual of ½‖w‖² + Σ Cᵢℓ(yᵢ, fᵢ) is
−½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) with w = Σ βᵢφ(xᵢ) (Shalev-Shwartz & Zhang 2013, section 1).

All but the logistic one are one function of the distance of f to an interval, linear or
quadratic (Gori's notes, Straka's notes, and scikit-learn's scaling of each).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Vector, check_positive
from problems.logistic import logistic_steps, negative_entropy, sigmoid

_TINY = float(np.finfo(float).tiny)


class Loss(ABC):
    """A convex loss of predictions f, of shape (n,), or (n, K) for K classes.

    Attributes
    ----------
    name : how experiment files call it. source : where it is published.
    is_regression : whether y is a real target, rather than a label.
    steepest : the largest slope |ℓ'|; inf if slopes grow without bound.
    smoothness : the largest second derivative; inf for a loss with kinks.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    is_regression: ClassVar[bool] = False

    @property
    @abstractmethod
    def steepest(self) -> float:
        """The largest slope |ℓ'|."""

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """The largest second derivative."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has no kinks."""
        return self.smoothness < inf

    @abstractmethod
    def value(self, y: Vector, f: Vector) -> Vector:
        """Return ℓ(y, f)."""

    @abstractmethod
    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return a g with ℓ(y, f') ≥ ℓ(y, f) + g·(f' − f) for all f'."""

    @abstractmethod
    def curvature_times(self, y: Vector, f: Vector, v: Vector) -> Vector:
        """Return ℓ''(y, f)·v, for v of f's shape."""

    @abstractmethod
    def conjugate(self, y: Vector, s: Vector) -> Vector:
        """Return ℓ*(y, s) = max over f of s·f − ℓ(y, f), shape (n,); +inf outside its domain."""


class ScalarLoss(Loss):
    """A loss of one prediction a sample; all methods work entry by entry on arrays of shape (n,)."""

    @abstractmethod
    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return the second derivative ℓ''(y, f), the larger one where it jumps; 0 beside kinks."""

    def curvature_times(self, y: Vector, f: Vector, v: Vector) -> Vector:
        """Return ℓ''(y, f)·v."""
        return self.curvature(y, f) * v

    @abstractmethod
    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return the s with −s ∈ ∂ℓ(y, m + t·s), for t ≥ 0.

        It maximises −ℓ*(y, −s) − m·s − ½t·s², the dual in one coefficient, and m + t·s is the prox
        of t·ℓ at m: the f that minimises t·ℓ(y, f) + ½(f − m)².
        """


class IntervalLoss(ScalarLoss):
    """ℓ = |e| or e²/(2·softness), where e is the distance of f to [lower, upper], signed.

    e = lower − f below the interval, upper − f above, 0 within; `softness` 0 means |e|.
    """

    softness: ClassVar[float] = 0.0

    @abstractmethod
    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return (lower, upper), the interval of predictions f that cost nothing; may be infinite."""

    @property
    def steepest(self) -> float:
        """1 for |e|, inf for e²."""
        return inf if self.softness else 1.0

    @property
    def smoothness(self) -> float:
        """1/softness."""
        return 1.0 / self.softness if self.softness else inf

    def value(self, y: Vector, f: Vector) -> Vector:
        """Return |e| or e²/(2·softness)."""
        e = self._distance(y, f)
        return e * e / (2.0 * self.softness) if self.softness else np.abs(e)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return −sign(e) or −e/softness."""
        e = self._distance(y, f)
        return -e / self.softness if self.softness else -np.sign(e)

    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return 1/softness outside the interval and at its ends, else 0."""
        lower, upper = self.ends(y)
        return np.where((f <= lower) | (f >= upper), 1.0 / (self.softness or inf), 0.0)

    def conjugate(self, y: Vector, s: Vector) -> Vector:
        """Return max of s over the interval, + ½softness·s²; +inf where |s| > steepest."""
        lower, upper = self.ends(y)
        support = np.zeros(np.shape(s))
        np.multiply(s, np.where(s > 0, upper, lower), out=support, where=s != 0)
        return np.where(np.abs(s) <= self.steepest, support + 0.5 * self.softness * s * s, inf)

    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return e(m)/(t + softness) within ±steepest."""
        width = np.maximum(t + self.softness, _TINY)
        reach = self.steepest * width
        return np.clip(self._distance(y, m), -reach, reach) / width

    def _distance(self, y: Vector, f: Vector) -> Vector:
        lower, upper = self.ends(y)
        return np.maximum(lower - f, 0.0) - np.maximum(f - upper, 0.0)


def _beyond(y: Vector, margin: float) -> tuple[Vector, Vector]:
    """Return the interval y·f ≥ margin for labels y."""
    return np.where(y > 0, margin, -inf), np.where(y > 0, inf, -margin)


@dataclass(frozen=True)
class Hinge(IntervalLoss):
    """ℓ(y, f) = max(0, 1 − y·f), of support vector classification; conjugate y·s, −1 ≤ y·s ≤ 0."""

    source: ClassVar[str] = "Cortes & Vapnik 1995"

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return y·f ≥ 1."""
        return _beyond(y, 1.0)


@dataclass(frozen=True)
class SquaredHinge(IntervalLoss):
    """ℓ(y, f) = max(0, 1 − y·f)², LIBLINEAR's L2 loss; conjugate y·s + s²/4 for y·s ≤ 0."""

    softness: ClassVar[float] = 0.5
    source: ClassVar[str] = "Fan et al. 2008 (L2-loss SVC)"

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return y·f ≥ 1."""
        return _beyond(y, 1.0)


@dataclass(frozen=True)
class Perceptron(IntervalLoss):
    """ℓ(y, f) = max(0, −y·f), Rosenblatt's criterion; conjugate 0 for −1 ≤ y·s ≤ 0.

    With any regularisation w = 0 is optimal, as no sample has a loss there.
    """

    source: ClassVar[str] = "Rosenblatt 1958; Gori's notes, eq. 44"

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return y·f ≥ 0."""
        return _beyond(y, 0.0)


@dataclass(frozen=True)
class Squared(IntervalLoss):
    """ℓ(y, f) = ½(y − f)², of ridge regression; conjugate y·s + ½s²."""

    softness: ClassVar[float] = 1.0
    is_regression: ClassVar[bool] = True
    source: ClassVar[str] = "Hoerl & Kennard 1970; NPFL129 notes (MSE)"

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return f = y."""
        return y, y


class _Tube(IntervalLoss):
    epsilon: float
    is_regression: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive(self.epsilon, "epsilon", zero=True)

    def ends(self, y: Vector) -> tuple[Vector, Vector]:
        """Return |y − f| ≤ epsilon."""
        return y - self.epsilon, y + self.epsilon


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
    softness: ClassVar[float] = 0.5
    source: ClassVar[str] = "Ho & Lin 2012 (L2-loss SVR)"


@dataclass(frozen=True)
class Logistic(ScalarLoss):
    """ℓ(y, f) = ln(1 + exp(−y·f)), of logistic regression (cross entropy, −ln σ(y·f)).

    Conjugate a·ln a + (1 − a)·ln(1 − a) for a = −y·s in [0, 1].
    """

    source: ClassVar[str] = "Cox 1958; NPFL129 and Gori's notes (σ-NLL)"

    @property
    def steepest(self) -> float:
        """1, where the sample is far on the wrong side."""
        return 1.0

    @property
    def smoothness(self) -> float:
        """¼, at f = 0."""
        return 0.25

    def value(self, y: Vector, f: Vector) -> Vector:
        """Return ln(1 + exp(−y·f))."""
        return np.logaddexp(0.0, -y * f)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return −y·σ(−y·f)."""
        return -y * sigmoid(-y * f)

    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return σ(f)·σ(−f)."""
        return sigmoid(f) * sigmoid(-f)

    def conjugate(self, y: Vector, s: Vector) -> Vector:
        """Return a·ln a + (1 − a)·ln(1 − a) for a = −y·s in [0, 1], else +inf."""
        a = -y * s
        inside = (a >= 0.0) & (a <= 1.0)
        a = np.where(inside, a, 0.0)
        return np.where(inside, negative_entropy(a) + negative_entropy(1.0 - a), inf)

    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return y·a with a = σ(−y·m − t·a), by Newton's method."""
        return y * logistic_steps(*np.broadcast_arrays(y * m, t))


LOSSES: dict[str, type[ScalarLoss]] = {
    cls.name: cls
    for cls in (
        Hinge,
        SquaredHinge,
        Logistic,
        Perceptron,
        Squared,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
    )
}
