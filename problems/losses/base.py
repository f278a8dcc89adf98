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

from dualgap.problems.dataset import Vector
from dualgap.problems.registry import snake_case


class Side(NamedTuple):
    """One sign of each t: x = sign·t, from `low` to `high`, with the gradient r = sign·f + cost."""

    sign: Vector
    cost: Any
    low: Any = 0.0
    high: Any = 1.0

    def residual(self, f: Any) -> Any:
        """Return r at the predictions `f` (n,)."""
        return self.sign * f + self.cost


class Terms(NamedTuple):
    """A piecewise linear loss, ℓ(y, f) = max over lo ≤ t ≤ hi of −t·(f + q) − eps·|t|.

    It is 0 where |f + q| ≤ eps; its slope is −hi below and −lo above. In the dual, t = βᵢ/Cᵢ costs
    q·t + eps·|t|.

    Attributes
    ----------
    q : (n,). eps, lo, hi : numbers, or (n,), with eps ≥ 0 and lo ≤ 0 ≤ hi.
    """

    q: Any
    eps: Any
    lo: Any
    hi: Any

    def sides(self) -> list[Side]:
        """Return one side of each t if none has both signs, else the sides t > 0 and t < 0 of all."""
        lo, hi = (np.broadcast_to(end, self.q.shape).astype(np.float64) for end in self[2:])
        sides = list[Side]()
        for side in self.unit_sides():
            low = np.where(side.sign > 0, np.maximum(lo, 0.0), 0.0 - np.minimum(hi, 0.0))
            high = np.where(side.sign > 0, np.maximum(hi, 0.0), 0.0 - np.minimum(lo, 0.0))
            sides.append(side._replace(low=low, high=high))
        return sides

    def unit_sides(self) -> list[Side]:
        """Return the sides of a loss whose slopes are 0 and ±1, for which all limits are 0 and 1."""
        has_two_signs = np.any((np.asarray(self.lo) < 0) & (np.asarray(self.hi) > 0))
        ones = np.ones(self.q.shape)
        signs = [ones, -ones] if has_two_signs else [np.where(self.lo < 0, -ones, ones)]
        return [Side(sign, sign * self.q + self.eps) for sign in signs]

    def value(self, above: Any, below: Any) -> Any:
        """Return the loss, with t > 0 at the predictions `above` and t < 0 at those `below`."""
        q, eps, lo, hi = self
        return np.maximum(-hi * (above + q + eps), 0.0) + np.maximum(-lo * (below + q - eps), 0.0)

    def check(self) -> None:
        """Raise ValueError unless the conjugate is q·t + eps·|t| for lo ≤ t ≤ hi."""
        if not (np.all(self.eps >= 0) and np.all(self.lo <= 0) and np.all(self.hi >= 0)):
            raise ValueError(
                "loss: its terms must have eps ≥ 0 and lo ≤ 0 ≤ hi; the conjugate of others is unknown"
            )


def times(C: Vector, limit: Any) -> Vector:
    """Return limit·C, which is 0 for a limit of 0 even if C is infinite."""
    return np.multiply(limit, C, out=np.zeros(C.size), where=np.not_equal(limit, 0.0))


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

    @property
    def tube(self) -> float:
        """Half-width of the tube, `epsilon`; 0 if it has none."""
        return float(getattr(self, "epsilon", 0.0))

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

    def terms(self, y: Any) -> Terms | None:
        """Return the terms of the loss if it is piecewise linear, else None."""
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
    """A loss of several predictions per sample, whose dual variables have additional constraints."""

    @abstractmethod
    def project_dual(self, y: Vector, C: Vector, alpha: Vector) -> Vector:
        """Return the feasible dual variables nearest to `alpha`."""

    @abstractmethod
    def dual_violation(self, y: Vector, C: Vector, alpha: Vector) -> float:
        """Return the largest violation of a constraint by `alpha`."""
