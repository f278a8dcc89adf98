"""Blocks and products of a Gram matrix, tile by tile on all cores, in float32 or float64.

A tile is a part of K that fits a core's cache: the inner products of 256 rows with 512 columns, put
through the kernel's function in place and used at once. For the RBF kernel

    K[i, j] = exp(2·gamma·(xᵢᵀxⱼ − ½‖xᵢ‖² − ½‖xⱼ‖²))

the half norms come out of the same product, as two more columns of the samples. Sparse rows meet dense
columns: with 14 entries of 123 (a9a) that takes two fifths of the dense product's time, with 12 of 300
(w8a) a fifth.

A tile is the work of one thread. Whoever uses this keeps linear algebra to one thread meanwhile: two
pools of threads at a time slow each other down by a factor of two to three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from problems.dataset import Indices, Vector
from problems.gram.exponential import exponentials
from problems.gram.gram import Gram
from problems.kernels import RBF, Linear, Polynomial, Sigmoid, squared_norms
from problems.kernels.expansion import (
    COLUMNS,
    MOST_FEATURES,
    SPARSE,
    DenseSamples,
    Section,
    SparseSamples,
)

Tile = NDArray[Any]
Job = Callable[[int, int], None]

_ROWS = 256
# Of K, that are worth a thread: starting it takes 0.1 ms, waking it half of that, on a busy machine
# some milliseconds.
_LEAST_VALUES = 131_072
# Above this value of gamma·max‖x‖² the exponent has lost too many digits to cancellation.
_EXPANSION_LIMIT = {np.dtype(np.float32): 1e3, np.dtype(np.float64): 1e4}


@dataclass(frozen=True, eq=False)
class _Part:
    """Columns `first` to `last`: their samples, for kernels computed here as a section."""

    first: int
    last: int
    cols: Indices
    section: Section | None


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of K made ready for products, in parts that fit the cache."""

    size: int
    dtype: np.dtype[Any]
    parts: tuple[_Part, ...]


class Tiles:
    """Blocks of K and products with it, computed in tiles on `threads` threads.

    Linear, polynomial, RBF and sigmoid kernels are computed here, others by `gram.bound`. The Gram
    matrix goes on counting evaluations.
    """

    def __init__(self, gram: Gram, threads: int) -> None:
        self.gram, self.kernel, self.threads = gram, gram.kernel, threads
        self._samples: dict[np.dtype[Any], DenseSamples | SparseSamples] = {}
        X: Any = gram.X
        self._sparse = scipy.sparse.issparse(X) and X.nnz <= SPARSE * X.shape[0] * X.shape[1]
        self._spread = 0.0
        if isinstance(self.kernel, RBF):
            self._spread = self.kernel.gamma * float(squared_norms(X).max(initial=0.0))
        elementary = isinstance(self.kernel, Linear | Polynomial | RBF | Sigmoid)
        self._here = elementary and not (self._sparse and X.shape[1] > MOST_FEATURES)

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *_: object) -> None:
        if "_pool" in vars(self):
            self._pool.shutdown()

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads)

    def precise(self, dtype: Any) -> bool:
        """Whether the kernel's values have nearly all the digits of `dtype`."""
        return self._spread <= _EXPANSION_LIMIT[np.dtype(dtype)]

    def factors(self, dtype: Any) -> tuple[Tile, Tile, float] | None:
        """Return R and S (n, d) and a factor with K = exp(factor·RSᵀ); None for other kernels.

        None also for sparse samples, and where `dtype` has too few digits.
        """
        if not isinstance(self.kernel, RBF) or self._sparse or not self.precise(dtype):
            return None
        samples = self._ready(np.dtype(dtype))
        assert isinstance(samples, DenseSamples)
        return samples.rows, samples.others, 2 * self.kernel.gamma

    def _ready(self, key: np.dtype[Any]) -> DenseSamples | SparseSamples:
        if key not in self._samples:
            maker = SparseSamples if self._sparse else DenseSamples
            self._samples[key] = maker(self.gram.X, key, isinstance(self.kernel, RBF))
        return self._samples[key]

    def columns(self, cols: Indices, dtype: Any) -> Columns:
        """Make columns ready, for several products with them."""
        key = np.dtype(dtype)
        here = self._here and self.precise(key)
        parts: list[_Part] = []
        for at in range(0, cols.size, COLUMNS):
            part = cols[at : at + COLUMNS]
            section = self._ready(key).columns(part) if here else None
            parts.append(_Part(at, at + part.size, part, section))
        return Columns(cols.size, key, tuple(parts))

    def block(self, rows: Indices, columns: Columns, out: Tile | None = None) -> Tile:
        """Return K[rows, columns], shape (r, c), written to `out` if it is given."""
        K = np.empty((rows.size, columns.size), columns.dtype) if out is None else out

        def fill(first: int, last: int) -> None:
            if len(columns.parts) == 1:  # a tile is then a part of K itself
                for low in range(first, last, _ROWS):
                    part = slice(low, min(low + _ROWS, last))
                    self._evaluate(rows[part], columns.parts[0], K[part])
                return
            for low, high, left, right, tile in self._tiles(rows, columns, first, last):
                K[low:high, left:right] = tile

        def fill_across(first: int, last: int) -> None:
            part = Columns(columns.size, columns.dtype, columns.parts[first:last])
            for low, high, left, right, tile in self._tiles(rows, part, 0, rows.size):
                K[low:high, left:right] = tile

        if columns.size > rows.size and len(columns.parts) >= 2 * self.threads:
            self.run(fill_across, len(columns.parts), _LEAST_VALUES // max(1, rows.size * COLUMNS))
        else:
            self.run(fill, rows.size, _LEAST_VALUES // max(1, columns.size))
        self.gram.evaluations += K.size
        return K

    def product(self, rows: Indices, columns: Columns, weights: Vector) -> Vector:
        """Return K[rows, columns] @ weights."""
        result, weight = np.zeros(rows.size), weights.astype(columns.dtype)

        def accumulate(first: int, last: int) -> None:
            for low, high, left, right, tile in self._tiles(rows, columns, first, last):
                result[low:high] += tile @ weight[left:right]

        self.run(accumulate, rows.size, _LEAST_VALUES // max(1, columns.size))
        self.gram.evaluations += rows.size * columns.size
        return result

    def run(self, job: Job, count: int, least: int = 1) -> None:
        """Run job(first, last) on all threads, over parts of range(count) of at least `least`."""
        if count == 0:
            return
        parts = min(self.threads, max(1, count // max(1, least)))
        size = -(-count // parts)
        others = range(size, count, size)
        waiting = [self._pool.submit(job, at, min(at + size, count)) for at in others]
        job(0, min(size, count))
        for part in waiting:
            part.result()

    def _tiles(
        self, rows: Indices, columns: Columns, first: int, last: int
    ) -> Iterator[tuple[int, int, int, int, Tile]]:
        """Yield K[rows[low:high], left:right] for all tiles of rows[first:last], in one buffer."""
        buffer = np.empty(_ROWS * COLUMNS, columns.dtype)
        for low in range(first, last, _ROWS):
            high = min(low + _ROWS, last)
            for part in columns.parts:
                left, right = part.first, part.last
                tile = buffer[: (high - low) * (right - left)].reshape(high - low, right - left)
                self._evaluate(rows[low:high], part, tile)
                yield low, high, left, right, tile

    def _evaluate(self, rows: Indices, part: _Part, out: Tile) -> None:
        """Write K[rows, part] to `out`."""
        if part.section is None:
            out[:] = self.gram.bound.block(rows, part.cols)
            return
        self._ready(out.dtype).products(rows, part.section, out)
        match self.kernel:
            case RBF(gamma):
                exponentials(out, 2 * gamma)
            case Polynomial(degree, gamma, coef0):
                np.power(gamma * out + coef0, degree, out=out)
            case Sigmoid(gamma, coef0):
                np.tanh(gamma * out + coef0, out=out)
            case _:
                pass
