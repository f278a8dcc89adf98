"""Float64 arrays with radii, whose results enclose the exact ones, and bounds on rounding errors.

An operation propagates the radii of its operands, and adds its own rounding error: at most u = 2⁻⁵³ of
the result, plus the smallest normal number for products and quotients, which may underflow (Rump 1999,
"Fast and parallel interval arithmetic", BIT 39). Sums do not underflow, nor do products with an exact 0.
A radius is a sum of a few products of nonnegative numbers: `_ROUND_UP` covers its own rounding.

The error of a sum of m products, in any order, is at most γ_m·Σ|products| with γ_m = m·u/(1 − m·u)
(Higham 2002, "Accuracy and stability of numerical algorithms", sections 2.2 and 3.1), plus what
underflows. Long sums are computed in blocks, so that m is the length of a block plus their number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import exp, fsum, inf
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix, Vector

UNIT = 2.0**-53
MIN_NORMAL = float(np.finfo(np.float64).tiny)
# Units of error of exp, log, tanh and powers: NumPy's tests allow 4 units in the last place.
ELEMENTARY = 16
# Units of error of exp alone, which here and in C libraries is below one unit in the last place.
EXPONENTIAL = 4
# One hundredth covers the square of m·u, and the rounding of the bounds themselves.
SPARE = 1.01
# Error of a weight: C = 1/(n·lam), its inverse and a limit of α take up to eight operations.
WEIGHT_RTOL = 8 * UNIT
_ROUND_UP = 1.0 + 2.0**-49


class Intervals:
    """Midpoints `mid` and radii `rad` of the same shape, or one radius for all."""

    __slots__ = ("mid", "rad")
    _operators: ClassVar[dict[Any, Callable[..., Any]]] = {
        np.add: operator.add,
        np.subtract: operator.sub,
        np.multiply: operator.mul,
        np.true_divide: operator.truediv,
        np.negative: operator.neg,
        np.absolute: operator.abs,
    }

    def __init__(self, mid: Any, rad: Any = 0.0) -> None:
        self.mid: Any = np.asarray(mid, np.float64)
        self.rad: Any = np.asarray(rad, np.float64)

    @classmethod
    def joined(cls, values: Sequence[Intervals]) -> Intervals:
        """Stack scalars into an array."""
        return cls([v.mid for v in values], [v.rad for v in values])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the midpoints."""
        return self.mid.shape

    @property
    def low(self) -> Any:
        """Lower bounds of the numbers in each ball."""
        return np.where(self.rad == 0, self.mid, np.nextafter(self.mid - self.rad, -inf))

    @property
    def high(self) -> Any:
        """Upper bounds of the numbers in each ball."""
        return np.where(self.rad == 0, self.mid, np.nextafter(self.mid + self.rad, inf))

    @property
    def centres(self) -> Any:
        """The midpoints, exactly."""
        return self.mid

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.mid.size

    def _nonzero(self) -> Any:
        return (self.mid != 0) | (self.rad != 0)

    def widened(self, by: Any) -> Intervals:
        """Return balls with the same midpoints and larger radii."""
        return Intervals(self.mid, _ROUND_UP * (self.rad + by))

    def replaced(self, indices: Any, new: Intervals) -> Intervals:
        """Return a copy with `new` at the given indices."""
        mid, rad = self.mid.copy(), np.broadcast_to(self.rad, self.shape).copy()
        mid[indices], rad[indices] = new.mid, new.rad
        return Intervals(mid, rad)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **_: Any) -> Intervals:
        """Evaluate a NumPy function on balls; refuse unsupported ones, which would lose the radii."""
        balls = [_intervals(v) for v in operands]
        if method == "__call__" and ufunc in self._operators:
            return self._operators[ufunc](*balls)
        if method == "__call__" and ufunc is np.maximum:
            return _maximum(*balls)
        if method != "__call__" or ufunc not in (np.exp, np.logaddexp):
            raise _unsupported(ufunc.__name__)
        # increasing in each argument
        low, mid, high = (
            ufunc(*(getattr(v, part) for v in balls)) for part in ("low", "mid", "high")
        )
        largest = np.maximum(np.abs(low), np.abs(high))
        if ufunc is np.logaddexp:  # x + log(1 + exp(y − x)) for y ≤ x < 0, which may cancel
            below = np.maximum(-np.maximum(balls[0].low, balls[1].low), 0.0)
            largest = largest + np.where(np.isfinite(below), below, 0.0)
        error = 2 * ELEMENTARY * UNIT * largest
        return Intervals(mid, _ROUND_UP * (np.maximum(high - mid, mid - low) + error) + MIN_NORMAL)

    def __array__(self, *_: Any, **__: Any) -> Any:
        """Refuse the conversion, which would lose the radii."""
        raise _unsupported("an array of float64")

    def __len__(self) -> int:
        return len(self.mid)

    def __getitem__(self, key: Any) -> Intervals:
        return Intervals(self.mid[key], self.rad[key] if self.rad.ndim else self.rad)

    def __neg__(self) -> Intervals:
        return Intervals(-self.mid, self.rad)

    def __abs__(self) -> Intervals:
        return Intervals(np.abs(self.mid), self.rad)

    def __add__(self, other: Any) -> Intervals:
        if not isinstance(other, Intervals):
            return _rounded(self.mid + np.asarray(other, np.float64), self.rad)
        return _rounded(self.mid + other.mid, self.rad + other.rad)

    def __sub__(self, other: Any) -> Intervals:
        return self + -_intervals(other)

    def __rsub__(self, other: Any) -> Intervals:
        return -self + other

    def __mul__(self, other: Any) -> Intervals:
        size = np.abs(self.mid)
        if isinstance(other, Intervals):
            factor, largest = other.mid, np.abs(other.mid) + other.rad
            rad = size * other.rad + self.rad * largest
        else:
            factor = np.asarray(other, np.float64)
            largest = np.abs(factor)
            rad = self.rad * largest
        lost = MIN_NORMAL * ((size + self.rad != 0) & (largest != 0))
        return _rounded(self.mid * factor, rad + lost)

    def __truediv__(self, other: Any) -> Intervals:
        other = _intervals(other)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quotient, divisor = self.mid / other.mid, np.abs(other.mid) - other.rad
            rad = _ROUND_UP * (self.rad + np.abs(quotient) * other.rad) / divisor
            return _rounded(
                quotient, np.where(divisor > 0, rad + MIN_NORMAL * self._nonzero(), inf)
            )

    def __rtruediv__(self, other: Any) -> Intervals:
        return _intervals(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def reshape(self, *shape: int) -> Intervals:
        """Return the array in another shape."""
        return Intervals(
            self.mid.reshape(shape), np.broadcast_to(self.rad, self.shape).reshape(shape)
        )

    def sum(self, axis: int | None = None) -> Intervals:
        """Return the sum of all entries, or the sums along an axis."""
        rad = self.rad if self.rad.shape == self.shape else np.broadcast_to(self.rad, self.shape)
        count = self.mid.size if axis is None else self.shape[axis]
        # NumPy adds blocks of 128 in eight sums of 16, and blocks pairwise; along an axis one by one
        operations = 24.0 + float(np.log2(max(1, count))) if axis is None else count
        lost = operations * UNIT * np.abs(self.mid).sum(axis=axis)
        return _rounded(self.mid.sum(axis=axis), (1.0 + count * UNIT) * (rad.sum(axis=axis) + lost))

    def shortfall(self, total: float) -> Intervals:
        """Return `total` minus the sum of exact entries, rounded once."""
        return _rounded(np.float64(fsum([*(-self.mid).tolist(), total])), 0.0)

    def min(self) -> Intervals:
        """Return a ball that contains the smallest number."""
        return _enclosing(self.low.min(), self.high.min(), lost=0.0)

    def max(self, axis: int | None = None) -> Intervals:
        """Return balls that contain the largest number, or those along an axis."""
        low, mid, high = (v.max(axis=axis) for v in (self.low, self.mid, self.high))
        return Intervals(mid, _ROUND_UP * np.maximum(high - mid, mid - low))

    def entropy(self) -> Intervals:
        """Return p·ln p for the p ≥ 0 in each ball."""
        low, high = np.maximum(self.low, 0.0), np.maximum(self.high, 0.0)
        ends = [v * np.log(np.where(v > 0, v, 1.0)) for v in (low, high)]
        smallest, largest = np.minimum(*ends), np.maximum(*ends)
        error = ELEMENTARY * UNIT
        turns = (low <= exp(-1.0) * (1.0 + error)) & (high >= exp(-1.0) * (1.0 - error))
        smallest = np.where(turns, -exp(-1.0), smallest)
        return _enclosing(smallest - error * np.abs(smallest), largest + error * np.abs(largest))

    def log_sum_exp(self) -> Intervals:
        """Return ln Σₖ exp(fₖ) for each row (n, K), with the largest radius of the row's entries."""
        largest = self.mid.max(axis=1)
        mid = largest + np.log(np.exp(self.mid - largest[:, None]).sum(axis=1))
        rad = np.broadcast_to(self.rad, self.shape).max(axis=1)
        # the sum of K terms p·|f − largest|, each below 1/e
        error = ELEMENTARY * UNIT
        lost = self.shape[1] * (error + UNIT * self.shape[1])
        return _rounded(mid, rad + lost + error * (np.abs(mid) + np.abs(largest)))


def _unsupported(function: str) -> TypeError:
    return TypeError(
        f"{function} is not supported for numbers with error bounds, which certify a loss: write its "
        "value and conjugate with +, -, *, /, abs, np.maximum, np.logaddexp and the functions of "
        "dualgap.problems.arithmetic"
    )


def _intervals(v: Any) -> Intervals:
    return v if isinstance(v, Intervals) else Intervals(v)


def _maximum(left: Intervals, right: Intervals) -> Intervals:
    """Return the entrywise maximum; its radius is 0 if both radii are."""
    mid = np.maximum(left.mid, right.mid)
    # how far each operand's upper end is above the midpoint
    above = [(v.mid - mid) + _ROUND_UP * v.rad for v in (left, right)]
    return Intervals(mid, np.maximum(*above))


def _rounded(mid: Any, rad: Any) -> Intervals:
    """Return balls for rounded results `mid` of an operation, with `rad` from its operands."""
    result = object.__new__(Intervals)  # which are float64 already
    result.mid, result.rad = mid, _ROUND_UP * (rad + UNIT * np.abs(mid))
    return result


def _enclosing(low: Any, high: Any, lost: float = MIN_NORMAL) -> Intervals:
    """Return balls that contain all numbers from `low` to `high`, which have errors up to `lost`."""
    mid = 0.5 * low + 0.5 * high
    return Intervals(mid, _ROUND_UP * np.maximum(high - mid, mid - low) + lost)


def gamma(operations: float) -> float:
    """Return an upper bound on γ_m for m operations."""
    return SPARE * operations * UNIT


def products(X: Matrix, w: Any) -> Intervals:
    """Return balls that contain Xw, for `X` (n, d) and `w` (d,) or (d, K) of numbers or balls."""
    w = w if isinstance(w, Intervals) else Intervals(w)
    scores, errors = (np.empty((X.shape[0], *w.shape[1:])) for _ in range(2))
    for rows in _blocks(X):
        part = X[rows]
        scores[rows] = part @ w.mid
        errors[rows] = abs(part) @ (gamma(terms(part)) * np.abs(w.mid) + SPARE * w.rad)
    return Intervals(scores, errors + lost_to_underflow(w.mid, X.shape[1]))


def transposed_products(X: Matrix, v: Any) -> Intervals:
    """Return balls that contain Xᵀv, for `X` (n, d) and `v` (n,) or (n, K) of numbers or balls."""
    v = v if isinstance(v, Intervals) else Intervals(v)
    sums, errors = (np.zeros((X.shape[1], *v.shape[1:])) for _ in range(2))
    blocks = _blocks(X)
    v_errors = gamma(blocks[0].stop + len(blocks)) * np.abs(v.mid) + SPARE * v.rad
    for rows in blocks:
        part = X[rows].T
        sums += part @ v.mid[rows]
        errors += abs(part) @ v_errors[rows]
    return Intervals(sums, errors + lost_to_underflow(v.mid, X.shape[0]))


def terms(X: Matrix) -> int:
    """Return the largest number of nonzero entries in a row: the number of terms of its products."""
    if isinstance(X, np.ndarray):
        return int(np.count_nonzero(X, axis=1).max(initial=0))
    return int(np.diff(X.indptr).max(initial=0))


def lost_to_underflow(factors: Vector, count: int) -> float:
    """Return a bound on the underflow error of a sum of `count` products with the factors."""
    return count * MIN_NORMAL if factors.any() else 0.0


def _blocks(X: Matrix) -> list[slice]:
    """Partition the rows into about √n blocks."""
    n = X.shape[0]
    size = max(1, int(np.ceil(np.sqrt(n))))
    return [slice(k, min(k + size, n)) for k in range(0, n, size)]
