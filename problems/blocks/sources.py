"""Blocks of samples, and where they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from dualgap.problems.dataset import Matrix, Vector


class Block(NamedTuple):
    """Samples `X` (m, d), labels or targets `y` (m,), and the weights `C` (m,) of their losses."""

    X: Matrix
    y: Vector
    C: Vector

    def slices(self) -> list[slice]:
        """Return consecutive ranges of rows, small enough for temporary arrays."""
        m, size = self.y.size, 2**15
        return [slice(i, min(i + size, m)) for i in range(0, m, size)]

    def part(self, rows: slice) -> Block:
        """Return a view of a range of rows."""
        return Block(self.X[rows], self.y[rows], self.C[rows])


class BlockSource(ABC):
    """Base class of block readers; picklable, and without samples except those of arrays in memory.

    Attributes
    ----------
    positive : the label that becomes +1, all others becoming −1; None leaves y as it is.
    """

    positive: float | str | None = None

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Name of each block in messages."""

    def row_label(self, k: int, row: int) -> str:
        """Return the name of a row of block k in messages."""
        return f"{self.names[k]}, row {row}"

    @abstractmethod
    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Return samples, labels or targets, and weights or None of block k, as they are stored.

        Parameters
        ----------
        original : whether to read from the original source even if there is a cache.
        """


@dataclass(frozen=True)
class ArraySource(BlockSource):
    """Samples in memory, cut into blocks of `rows` rows."""

    X: Matrix
    y: Vector
    weight: Vector | None
    rows: int

    @property
    def names(self) -> tuple[str, ...]:
        """Range of rows of each block."""
        n, rows = self.y.size, self.rows
        return tuple(f"rows {i} to {min(i + rows, n) - 1}" for i in range(0, n, rows))

    def load(self, k: int, original: bool) -> tuple[Any, Any, Any]:
        """Return views."""
        rows = slice(k * self.rows, (k + 1) * self.rows)
        return self.X[rows], self.y[rows], None if self.weight is None else self.weight[rows]
