"""Blocks and products of a Gram matrix, tile by tile on all cores, in float32 or float64.

A tile is a part of K that fits a core's cache: the inner products of 256 rows with 512 columns
(`panels`), put through the kernel's function in place and used at once. For the RBF kernel

    K[i, j] = exp(2·gamma·(xᵢᵀxⱼ − ½‖xᵢ‖² − ½‖xⱼ‖²))

the half norms come out of the same product, as two more columns of the samples. Sparse rows meet dense
columns: with 14 entries of 123 (a9a) that takes two fifths of the dense product's time, with 12 of 300
(w8a) a fifth.

A tile is the work of one thread. Whoever uses this keeps linear algebra to one thread meanwhile: two
pools of threads at a time slow each other down by a factor of two to three.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.exponential import exponentials
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.panels import HEIGHT, WIDTH, fill, pack
from dualgap.problems.gram.threads import Job, Pool
from dualgap.problems.kernels import RBF, Linear, Polynomial, Sigmoid, squared_norms
from dualgap.problems.kernels.expansion import (
    COLUMNS,
    MOST_FEATURES,
    SPARSE,
    DenseSamples,
    Section,
    SparseSamples,
)

Tile = NDArray[Any]

_ROWS = 256
# Above this value of gamma·max‖x‖² the exponent has lost too many digits to cancellation.
_EXPANSION_LIMIT = {np.dtype(np.float32): 1e3, np.dtype(np.float64): 1e4}
_CLOSE = 1.0  # up to this value no more than the last digits are lost
_LOOKED_AT = 64  # samples between which that is measured
_RANGE = 0.8  # of a type's largest exponent: values of K within it can be summed and multiplied


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of K made ready for products: their samples in parts of `wide` columns each.

    `parts` is a section for each, or panels; None for kernels that are not computed here.
    """

    cols: Indices
    dtype: np.dtype[Any]
    wide: int
    parts: list[Section] | Tile | None

    @property
    def size(self) -> int:
        """How many columns there are."""
        return self.cols.size

    @property
    def count(self) -> int:
        """How many parts there are."""
        return -(-self.cols.size // self.wide)


class Tiles:
    """Blocks of K and products with it, computed in tiles on `threads` threads.

    Linear, polynomial, RBF and sigmoid kernels are computed here, others by `gram.bound`. The Gram
    matrix goes on counting evaluations.

    Attributes
    ----------
    work : multiplications that a value takes, with its function.
    quick : whether a block takes less time computed than gathered from rows in memory: 0.2 ms against
        0.9 for 512 x 512 values of 40 features.
    """

    def __init__(self, gram: Gram, threads: int) -> None:
        self.gram, self.kernel, self.pool = gram, gram.kernel, Pool(threads)
        X: Any = gram.X
        self._samples: dict[np.dtype[Any], DenseSamples | SparseSamples]
        self._samples = gram.remembered("samples", dict)
        self._sparse = scipy.sparse.issparse(X) and X.nnz <= SPARSE * X.shape[0] * X.shape[1]
        self._factor, self._largest, self._spread = 1.0, 0.0, 0.0
        elementary = isinstance(self.kernel, Linear | Polynomial | RBF | Sigmoid)
        if elementary:
            self._factor = abs(float(getattr(self.kernel, "gamma", 1.0)))
            self._largest = float(squared_norms(X).max(initial=0.0))
        if isinstance(self.kernel, RBF | Sigmoid):
            self._spread = self._factor * self._largest
        self._here = elementary and not (self._sparse and X.shape[1] > MOST_FEATURES)
        self.work = 16 + X.size // X.shape[0] if self._here else 64
        self.quick = self._here and self.work <= 144

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.__exit__()

    @cached_property
    def diagonal(self) -> Vector:
        """All k(xᵢ, xᵢ), computed once."""
        return self.gram.diagonal()

    def precise(self, dtype: Any) -> bool:
        """Whether the kernel's values are in the range of `dtype`, with nearly all of its digits."""
        most = float(np.finfo(dtype).max) ** _RANGE
        in_range = all(1.0 / most < v < most for v in (self._factor, np.abs(self.diagonal).max()))
        precise = self._spread <= _EXPANSION_LIMIT[np.dtype(dtype)]
        return in_range and self._largest < most and precise

    def rounding(self, dtype: Any) -> float:
        """Return how far values in `dtype` are from the exact ones, relative to K's largest.

        It is the root mean square in the worst row, between some samples; 0, and not measured, where no
        more than the last digits are lost to cancellation.
        """
        if self._spread <= _CLOSE:
            return 0.0
        some = self._some
        exact, values = (
            self.block(some, self.columns(some, t, pack_them=False)) for t in (np.float64, dtype)
        )
        lost = np.sqrt(((values - exact) ** 2).mean(axis=1).max())
        return float(lost / np.abs(self.diagonal).max())

    @property
    def largest(self) -> float:
        """The largest |K| on the diagonal and between some samples."""
        between = self.gram.bound.block(self._some, self._some)
        return float(max(np.abs(self.diagonal).max(), np.abs(between).max()))

    @cached_property
    def _some(self) -> Indices:
        """A few samples."""
        return np.unique(np.linspace(0, self.gram.n - 1, _LOOKED_AT).astype(np.intp))

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

    def columns(self, cols: Indices, dtype: Any, pack_them: bool = True) -> Columns:
        """Make columns ready, for several products with them, or one."""
        key = np.dtype(dtype)
        if not (self._here and self.precise(key)):
            return Columns(cols, key, COLUMNS, None)
        samples = self._ready(key)
        if pack_them and isinstance(samples, DenseSamples) and key == np.float32:
            return Columns(cols, key, WIDTH, pack(samples.others, cols, WIDTH))
        starts = range(0, cols.size, COLUMNS)
        sections = [samples.columns(cols[at : at + COLUMNS]) for at in starts]
        return Columns(cols, key, COLUMNS, sections)

    def block(
        self,
        rows: Indices,
        columns: Columns,
        out: Tile | None = None,
        then: Job | None = None,
        work: int = 0,
    ) -> Tile:
        """Return K[rows, columns], shape (r, c), written to `out` if it is given.

        A thread that has written columns `first` to `last` goes on with then(first, last), while they
        are in its cache: as long as `work` multiplications in all.
        """
        K = np.empty((rows.size, columns.size), columns.dtype) if out is None else out

        def fill_across(first: int, last: int) -> None:
            left = first * columns.wide
            self._write(rows, columns, first, last, K, left)
            if then is not None:
                then(left, min(last * columns.wide, columns.size))

        def fill_down(first: int, last: int) -> None:
            self._write(rows[first:last], columns, 0, columns.count, K[first:last], 0)

        across = columns.size > rows.size and columns.count >= 2 * self.pool.count
        across |= then is not None
        job, count = (fill_across, columns.count) if across else (fill_down, rows.size)
        self.pool.run(job, count, self.work * K.size + work)
        self.gram.evaluations += K.size
        return K

    def product(self, rows: Indices, columns: Columns, weights: Vector) -> Vector:
        """Return K[rows, columns] @ weights."""
        result, weight = np.zeros(rows.size), weights.astype(columns.dtype)
        step = COLUMNS // columns.wide

        def accumulate(first: int, last: int) -> None:
            buffer = np.empty(_ROWS * COLUMNS, columns.dtype)
            for low in range(first, last, _ROWS):
                high = min(low + _ROWS, last)
                for part in range(0, columns.count, step):
                    some = weight[part * columns.wide :][:COLUMNS]
                    tile = buffer[: (high - low) * some.size].reshape(-1, some.size)
                    self._write(rows[low:high], columns, part, part + step, tile, 0)
                    result[low:high] += tile @ some

        values = rows.size * columns.size
        self.pool.run(accumulate, rows.size, self.work * values)
        self.gram.evaluations += values
        return result

    def _write(
        self, rows: Indices, columns: Columns, first: int, last: int, out: Tile, left: int
    ) -> None:
        """Write K between rows and the columns of some parts to `out`, from column `left` on."""
        parts, wide = columns.parts, columns.wide
        if isinstance(parts, np.ndarray):
            samples = self._ready(columns.dtype)
            assert isinstance(samples, DenseSamples)
            match self.kernel:
                case RBF(gamma):
                    function = 2 * gamma, 0.0, 0
                case Polynomial(degree, gamma, coef0):
                    function = gamma, coef0, degree
                case _:
                    function = 1.0, 0.0, 1
            factor, shift = map(np.float32, function[:2])
            groups, tile = pack(samples.rows, rows, HEIGHT), np.empty((HEIGHT, WIDTH), np.float32)
            fill(groups, parts[first:last], tile, out, left, factor, shift, function[2])
            if isinstance(self.kernel, Sigmoid):
                self._transform(out[:, left : left + (last - first) * wide])
            return
        buffer = np.empty(_ROWS * wide, out.dtype)
        for low in range(0, rows.size, _ROWS):
            some = rows[low : low + _ROWS]
            for k in range(first, min(last, columns.count)):
                target = out[low : low + _ROWS, left + (k - first) * wide :][:, :wide]
                if parts is None:
                    target[:] = self.gram.bound.block(some, columns.cols[k * wide : (k + 1) * wide])
                else:
                    whole = target.flags.c_contiguous
                    tile = target if whole else buffer[: target.size].reshape(target.shape)
                    self._ready(columns.dtype).products(some, parts[k], tile)
                    self._transform(tile)
                    if not whole:
                        target[:] = tile

    def _transform(self, products: Tile) -> None:
        """Put products through the kernel's function, in place."""
        match self.kernel:
            case RBF(gamma):
                exponentials(products, 2 * gamma)
            case Polynomial(degree, gamma, coef0):
                np.power(gamma * products + coef0, degree, out=products)
            case Sigmoid(gamma, coef0):
                np.tanh(gamma * products + coef0, out=products)
            case _:
                pass
