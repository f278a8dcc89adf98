"""What both kinds of enclosures offer, so that a bound is stated once and evaluated in either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self

from dualgap.problems.dataset import Vector


class Enclosure(Protocol):
    """An array of balls, each of which contains the exact number: `Intervals` or `Balls`.

    Operators take float64 operands as exact numbers.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        ...

    @property
    def mid(self) -> Vector:
        """Float64 midpoints."""
        ...

    @property
    def low(self) -> Vector:
        """Float64 lower bounds."""
        ...

    @property
    def high(self) -> Vector:
        """Float64 upper bounds."""
        ...

    @property
    def centres(self) -> Vector | Self:
        """The midpoints, exactly."""
        ...

    @classmethod
    def joined(cls, values: Sequence[Self]) -> Self:
        """Stack scalars into an array."""
        ...

    def replaced(self, indices: Any, new: Self) -> Self:
        """Return a copy with `new` at the given indices."""
        ...

    def reshape(self, *shape: int) -> Self:
        """Return the array in another shape."""
        ...

    def sum(self, axis: int | None = None) -> Self:
        """Return the sum of all entries, or the sums along an axis."""
        ...

    def shortfall(self, total: float) -> Self:
        """Return `total` minus the sum of the entries."""
        ...

    def min(self) -> Self:
        """Return the smallest number."""
        ...

    def max(self) -> Self:
        """Return the largest number."""
        ...

    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Self: ...
    def __neg__(self) -> Self: ...
    def __abs__(self) -> Self: ...
    def __add__(self, other: Any) -> Self: ...
    def __radd__(self, other: Any) -> Self: ...
    def __sub__(self, other: Any) -> Self: ...
    def __rsub__(self, other: Any) -> Self: ...
    def __mul__(self, other: Any) -> Self: ...
    def __rmul__(self, other: Any) -> Self: ...
    def __truediv__(self, other: Any) -> Self: ...
    def __rtruediv__(self, other: Any) -> Self: ...
