"""Arrays of balls, on which NumPy expressions are evaluated as on float64 arrays.

A ball [m ± r] contains every value that its operands allow, at the precision of `flint.ctx` (Johansson
2017, "Arb: efficient arbitrary-precision midpoint-radius interval arithmetic"). NumPy's operators and
elementary functions work entry by entry, matrix products use python-flint. Everything else is refused:
comparisons, conversions to float64, and functions that would mistake the midpoints for the numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial
from math import inf, nextafter, prod
from typing import Any

import numpy as np
import scipy
from numpy.lib.mixins import NDArrayOperatorsMixin

PRECISION_BITS = 106  # distinguishes a ball's end from its float64 neighbours


class Unprovable(Exception):
    """No proof is available for this problem; the message states the reason."""


class Balls(NDArrayOperatorsMixin):
    """An array of balls, or of exact numbers.

    Parameters
    ----------
    values : an array of balls or of numbers, a number, a sparse matrix, or a matrix of python-flint.
    """

    def __init__(self, values: Any) -> None:
        if hasattr(values, "nrows"):
            self._source, self.shape = values, (values.nrows(), values.ncols())
            return
        array: Any = values.toarray() if scipy.sparse.issparse(values) else np.asarray(values)
        if array.dtype != object:
            if not (array.dtype.kind in "bi" or np.can_cast(array.dtype, np.float64)):
                raise Unprovable(f"{array.dtype} numbers have no ball arithmetic")
            array = array.astype(np.float64) if array.dtype.kind == "b" else array
        self._source, self.shape = array, array.shape

    @classmethod
    def joined(cls, values: Sequence[Balls]) -> Balls:
        """Stack scalars into an array."""
        return cls(np.array([v.item() for v in values], object))

    @cached_property
    def entries(self) -> Any:
        """The balls, as an object array."""
        from flint import arb  # noqa: PLC0415 - only needed for proofs

        if not isinstance(self._source, np.ndarray):
            entries = np.fromiter(self._source.entries(), object, self.shape[0] * self.shape[1])
            return entries.reshape(self.shape)
        exact = self._source.dtype != object
        return np.asarray(np.frompyfunc(arb, 1, 1)(self._source) if exact else self._source, object)

    def matrix(self) -> Any:
        """Return the array (m, k) as a matrix of python-flint."""
        from flint import arb_mat  # noqa: PLC0415 - only needed for proofs

        if isinstance(self._source, np.ndarray):
            m, k = self.shape
            self._source = arb_mat(m, k, self._source.ravel().tolist())
        return self._source

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.entries.size

    @property
    def mid(self) -> Any:
        """The nearest float64 numbers."""
        return self._map(float)

    @property
    def low(self) -> Any:
        """The largest float64 numbers at or below each ball."""
        return self._map(below)

    @property
    def high(self) -> Any:
        """The smallest float64 numbers at or above each ball."""
        return self._map(above)

    def _map(self, function: Callable[[Any], float]) -> Any:
        with np.errstate(over="ignore"):  # beyond float64's range the result is infinite
            return np.asarray(np.frompyfunc(function, 1, 1)(self.entries), np.float64)

    @property
    def centres(self) -> Balls:
        """The midpoints, exactly."""
        return Balls(np.frompyfunc(operator.methodcaller("mid"), 1, 1)(self.entries))

    @property
    def T(self) -> Balls:
        """The transpose."""
        return Balls(self.entries.T)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Balls:
        return Balls(self.entries[key])

    def item(self) -> Any:
        """Return the only ball."""
        return self.entries.item()

    def replaced(self, indices: Any, new: Balls) -> Balls:
        """Return a copy with `new` at the given indices."""
        entries = self.entries.copy()
        entries[indices] = new.entries
        return Balls(entries)

    def nonzero(self) -> Any:
        """Return the indices of a vector's balls that are not exactly 0."""
        return np.flatnonzero([not ball.is_zero() for ball in self.entries])

    def reshape(self, *shape: Any) -> Balls:
        """Return the array in another shape."""
        return Balls(self.entries.reshape(*shape))

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Balls:
        """Return the sums along an axis, or of all entries."""
        return Balls(self.entries.sum(axis=axis, keepdims=keepdims))

    def shortfall(self, total: float) -> Balls:
        """Return `total` minus the sum of the entries."""
        return total - self.sum()

    def min(self) -> Balls:
        """Return the smallest number."""
        return np.minimum.reduce(self, axis=None)

    def max(self) -> Balls:
        """Return the largest number."""
        return np.maximum.reduce(self, axis=None)

    def entropy(self) -> Balls:
        """Return p·ln p; for a ball that contains 0 also 0, an upper bound."""
        positive = np.frompyfunc(lambda p: p if p > 0 else p * 0 + 1, 1, 1)(self.entries)
        return self * np.log(Balls(positive))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Unprovable("the array of balls is converted to float64")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        function, out = _functions().get(ufunc), options.pop("out", None)
        if function is None or method not in ("__call__", "reduce"):
            raise Unprovable(f"numpy.{ufunc.__name__} has no ball arithmetic")
        if ufunc is np.matmul:
            result = function(*map(_balls, inputs))
        else:
            entrywise = getattr(np.frompyfunc(function, ufunc.nin, 1), method)
            result = Balls(entrywise(*(_balls(v).entries for v in inputs), **options))
        if out is None:
            return result
        if not isinstance(out[0], Balls):
            raise Unprovable("the array of balls is written to a float64 array")
        out[0].entries = out[0]._source = result.entries.reshape(out[0].shape)
        return out[0]

    def __array_function__(self, function: Any, _: Any, inputs: Any, options: Any) -> Any:
        stacking = {np.concatenate, np.hstack, np.vstack, np.stack}
        if function not in stacking | {np.einsum, np.sum, np.prod, np.dot}:
            raise Unprovable(f"numpy.{function.__name__} has no ball arithmetic")
        return Balls(function(*map(_entries_in, inputs), **options))


def _balls(value: Any) -> Balls:
    return value if isinstance(value, Balls) else Balls(value)


def _entries_in(value: Any) -> Any:
    """Return the entries of an array of balls, or of each array in a list."""
    if isinstance(value, list | tuple):
        return [_entries_in(v) for v in value]
    return value if isinstance(value, str) else _balls(value).entries


@cache
def _functions() -> dict[Any, Callable[..., Any]]:
    """Return the ball functions that implement NumPy's functions."""
    from flint import arb  # noqa: PLC0415 - only needed for proofs

    elementary = "exp expm1 log log1p sin cos tan sinh cosh tanh"
    return {
        np.add: operator.add,
        np.subtract: operator.sub,
        np.multiply: operator.mul,
        np.true_divide: operator.truediv,
        np.power: _power,
        np.matmul: _product,
        np.negative: operator.neg,
        np.positive: operator.pos,
        np.absolute: operator.abs,
        np.square: partial(_power, exponent=arb(2)),
        np.exp2: arb(2).__pow__,
        np.sqrt: _root,
        np.arctan: arb.atan,
        np.logaddexp: _log_add,
        np.maximum: arb.max,
        np.minimum: arb.min,
        **{getattr(np, name): getattr(arb, name) for name in elementary.split()},
    }


def below(ball: Any) -> float:
    """Return the largest float64 that is at most every number in a ball."""
    from flint import arb, ctx  # noqa: PLC0415 - only needed for proofs

    with ctx.workprec(PRECISION_BITS):
        end = ball.lower()
        rounded = float(end)
        return rounded if arb(rounded) <= end else nextafter(rounded, -inf)


def above(ball: Any) -> float:
    """Return the smallest float64 that is at least every number in a ball."""
    from flint import ctx  # noqa: PLC0415 - only needed for proofs

    with ctx.workprec(PRECISION_BITS):  # negation rounds too
        return 0.0 - below(-ball)  # never −0.0


def _product(left: Balls, right: Balls) -> Balls:
    if left.ndim == right.ndim == 2:
        return Balls(left.matrix() * right.matrix())
    return Balls(left.entries @ right.entries)


def _log_add(left: Any, right: Any) -> Any:
    return (left.exp() + right.exp()).log()


def _power(base: Any, exponent: Any) -> Any:
    """Return base**exponent; integer powers up to 1024 also of balls that contain 0, as products."""
    integer = exponent.unique_fmpz() if base.contains(0) else None
    if integer is None or not 0 <= integer <= 1024 or integer != exponent:
        return base**exponent
    return prod([base] * int(integer), start=type(base)(1))


def _root(ball: Any) -> Any:
    """Return the square root of a nonnegative number, whose ball may extend below 0."""
    if ball.lower() >= 0 or not ball.upper() >= 0:
        return ball.sqrt()
    return ball.upper().sqrt().union(type(ball)(0))
