"""Float64 arrays with radii: the result of every operation holds what is meant.

An operation takes the radii of its operands along, and adds its own rounding: at most u = 2⁻⁵³ of the
result, and for products and quotients the smallest normal number, below which they may fall (Rump 1999,
"Fast and parallel interval arithmetic", BIT 39). Sums are exact there, and so is what is multiplied by
exactly 0. A radius is a sum of a few products of numbers that are not negative: `_UP` covers what is
rounded of it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import exp, fsum, inf
from typing import Any

import numpy as np

_UNIT = 2.0**-53
_UP = 1.0 + 2.0**-49
_TINY = float(np.finfo(np.float64).tiny)
_ELEMENTARY = 16 * _UNIT  # of exp and log: NumPy tests its own to 4 units in the last place
_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.negative: operator.neg,
    np.absolute: operator.abs,
}
_RISING = np.exp, np.logaddexp  # in each argument, and wrong by no more than _ELEMENTARY
_UNKNOWN = (
    "{} is not known of numbers with radii, on which a loss is certified: write its value and "
    "conjugate with +, -, *, /, abs, np.maximum, np.logaddexp and the functions of "
    "dualgap.problems.arithmetic"
)


class Intervals:
    """Midpoints `mid` and radii `rad`, of the same shape; or one radius for all."""

    __slots__ = ("mid", "rad")

    def __init__(self, mid: Any, rad: Any = 0.0) -> None:
        self.mid: Any = np.asarray(mid, np.float64)
        self.rad: Any = np.asarray(rad, np.float64)

    @classmethod
    def joined(cls, values: Sequence[Intervals]) -> Intervals:
        """Return several numbers as an array."""
        return cls([v.mid for v in values], [v.rad for v in values])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the midpoints."""
        return self.mid.shape

    @property
    def low(self) -> Any:
        """Numbers that are no more than any in each ball."""
        return np.where(self.rad == 0, self.mid, np.nextafter(self.mid - self.rad, -inf))

    @property
    def high(self) -> Any:
        """Numbers that are no less than any in each ball."""
        return np.where(self.rad == 0, self.mid, np.nextafter(self.mid + self.rad, inf))

    @property
    def centres(self) -> Any:
        """The midpoints, as exact as they are."""
        return self.mid

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.mid.size

    def _nonzero(self) -> Any:
        return (self.mid != 0) | (self.rad != 0)

    def widened(self, by: Any) -> Intervals:
        """Return balls around the same midpoints whose radii are larger."""
        return Intervals(self.mid, _UP * (self.rad + by))

    def replaced(self, at: Any, new: Intervals) -> Intervals:
        """Return them with others at some indices."""
        mid, rad = self.mid.copy(), np.broadcast_to(self.rad, self.shape).copy()
        mid[at], rad[at] = new.mid, new.rad
        return Intervals(mid, rad)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **_: Any) -> Intervals:
        """A function of an array and balls is one of balls; functions not known would lose radii."""
        balls = [_intervals(v) for v in operands]
        if method == "__call__" and ufunc in _OPERATORS:
            return _OPERATORS[ufunc](*balls)
        if method == "__call__" and ufunc is np.maximum:
            return _maximum(*balls)
        if method != "__call__" or ufunc not in _RISING:
            raise TypeError(_UNKNOWN.format(ufunc.__name__))
        low, mid, high = (
            ufunc(*(getattr(v, part) for v in balls)) for part in ("low", "mid", "high")
        )
        largest = np.maximum(np.abs(low), np.abs(high))
        if ufunc is np.logaddexp:  # x + log(1 + exp(y − x)) for y ≤ x < 0, which may cancel
            below = np.maximum(-np.maximum(balls[0].low, balls[1].low), 0.0)
            largest = largest + np.where(np.isfinite(below), below, 0.0)
        wrong = 2 * _ELEMENTARY * largest
        return Intervals(mid, _UP * (np.maximum(high - mid, mid - low) + wrong) + _TINY)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse: the array would be of midpoints alone."""
        raise TypeError(_UNKNOWN.format("an array of float64"))

    def __len__(self) -> int:
        return len(self.mid)

    def __getitem__(self, key: Any) -> Intervals:
        return Intervals(self.mid[key], self.rad[key] if self.rad.ndim else self.rad)

    def __neg__(self) -> Intervals:
        return Intervals(-self.mid, self.rad)

    def __abs__(self) -> Intervals:
        return Intervals(np.abs(self.mid), self.rad)

    def __add__(self, other: Any) -> Intervals:
        other = _intervals(other)
        return _rounded(self.mid + other.mid, self.rad + other.rad)

    def __sub__(self, other: Any) -> Intervals:
        return self + -_intervals(other)

    def __rsub__(self, other: Any) -> Intervals:
        return -self + other

    def __mul__(self, other: Any) -> Intervals:
        other = _intervals(other)
        rad = np.abs(self.mid) * other.rad + self.rad * (np.abs(other.mid) + other.rad)
        lost = _TINY * (self._nonzero() & other._nonzero())
        return _rounded(self.mid * other.mid, rad + lost)

    def __truediv__(self, other: Any) -> Intervals:
        other = _intervals(other)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quotient, least = self.mid / other.mid, np.abs(other.mid) - other.rad
            rad = _UP * (self.rad + np.abs(quotient) * other.rad) / least
            return _rounded(quotient, np.where(least > 0, rad + _TINY * self._nonzero(), inf))

    def __rtruediv__(self, other: Any) -> Intervals:
        return _intervals(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def reshape(self, *shape: int) -> Intervals:
        """Return them in another shape."""
        return Intervals(
            self.mid.reshape(shape), np.broadcast_to(self.rad, self.shape).reshape(shape)
        )

    def sum(self, axis: int | None = None) -> Intervals:
        """Return the sum of all entries, or of those along an axis."""
        rad = np.broadcast_to(self.rad, self.shape)
        count = self.mid.size if axis is None else self.shape[axis]
        # NumPy adds blocks of 128 in eight sums of 16, and blocks in pairs; along an axis one by one
        added = 24.0 + float(np.log2(max(1, count))) if axis is None else count
        lost = added * _UNIT * np.abs(self.mid).sum(axis=axis)
        return _rounded(
            self.mid.sum(axis=axis), (1.0 + count * _UNIT) * (rad.sum(axis=axis) + lost)
        )

    def lacking(self, total: float) -> Intervals:
        """Return what exact numbers lack of their sum, rounded once."""
        return _rounded(np.float64(fsum([*(-self.mid).tolist(), total])), 0.0)

    def min(self) -> Intervals:
        """Return a ball around the smallest number."""
        return _enclosing(self.low.min(), self.high.min(), lost=0.0)

    def max(self, axis: int | None = None) -> Intervals:
        """Return balls around the largest number, or those along an axis."""
        low, mid, high = (v.max(axis=axis) for v in (self.low, self.mid, self.high))
        return Intervals(mid, _UP * np.maximum(high - mid, mid - low))

    def entropy(self) -> Intervals:
        """Return p·ln p of the p ≥ 0 in each."""
        low, high = np.maximum(self.low, 0.0), np.maximum(self.high, 0.0)
        ends = [v * np.log(np.where(v > 0, v, 1.0)) for v in (low, high)]
        least, largest = np.minimum(*ends), np.maximum(*ends)
        turns = (low <= exp(-1.0) * (1.0 + _ELEMENTARY)) & (high >= exp(-1.0) * (1.0 - _ELEMENTARY))
        least = np.where(turns, -exp(-1.0), least)
        wrong = [_ELEMENTARY * np.abs(v) for v in (least, largest)]
        return _enclosing(least - wrong[0], largest + wrong[1])

    def log_sum_exp(self) -> Intervals:
        """Return ln Σₖ exp(fₖ) of each row (n, K), which moves by no more than any of its entries."""
        largest = self.mid.max(axis=1)
        mid = largest + np.log(np.exp(self.mid - largest[:, None]).sum(axis=1))
        rad = np.broadcast_to(self.rad, self.shape).max(axis=1)
        # each p·|f − largest| is below 1/e, and K of them are added
        lost = self.shape[1] * (_ELEMENTARY + _UNIT * self.shape[1])
        return _rounded(mid, rad + lost + _ELEMENTARY * (np.abs(mid) + np.abs(largest)))


def _intervals(v: Any) -> Intervals:
    return v if isinstance(v, Intervals) else Intervals(v)


def _maximum(left: Intervals, right: Intervals) -> Intervals:
    """Return the larger one of each two numbers: exact in the midpoints, and so 0 for radii of 0."""
    mid = np.maximum(left.mid, right.mid)
    # its own radius, of the larger one
    above = [(v.mid - mid) + _UP * v.rad for v in (left, right)]
    return Intervals(mid, np.maximum(*above))


def _rounded(mid: Any, rad: Any) -> Intervals:
    """Return balls around the rounded results of one operation, of exact ones with these radii."""
    return Intervals(mid, _UP * (rad + _UNIT * np.abs(mid)))


def _enclosing(low: Any, high: Any, lost: float = _TINY) -> Intervals:
    """Return balls that hold all numbers from `low` to `high`, which may be wrong by `lost`."""
    mid = 0.5 * low + 0.5 * high
    return Intervals(mid, _UP * np.maximum(high - mid, mid - low) + lost)
