"""Blocks and products of a Gram matrix, tile by tile on all cores, in float32 or float64.

A tile is a part of K that fits in a core's cache: the inner products of 256 rows with 512 columns
(`panels`), transformed in place by the kernel's function and used at once. For the RBF kernel

    K[i, j] = exp(2·gamma·(xᵢᵀxⱼ − ½‖xᵢ‖² − ½‖xⱼ‖²))

the half norms come from the same product, as two more columns of the samples. Sparse rows are multiplied
with dense columns: with 14 nonzero entries of 123 (a9a) that takes two fifths of the dense product's
time, with 12 of 300 (w8a) a fifth. Of many features (text) the frequent ones are multiplied as dense
matrices, the others as lists of the entries of each feature.

One thread computes a tile. Callers must limit BLAS to one thread meanwhile: two thread pools at a time
slow each other down by a factor of two to three.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import sqrt
from typing import Any

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.layouts import (
    DenseSamples,
    Samples,
    Section,
    SparseSamples,
    Tile,
    WideSamples,
)
from dualgap.problems.gram.panels import HEIGHT, WIDTH, fill, mirror, pack
from dualgap.problems.gram.threads import READ_COST, Job, Pool
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.kernels import DotKernel, FeatureKernel
from dualgap.problems.kernels.samples import is_sparse, is_wide, squared_norms


@cache
def _largest_value(dtype: Any) -> float:
    """Return a limit for values of K, below which their sums do not overflow."""
    return float(np.finfo(dtype).max) ** 0.8


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of K prepared for products: their samples in parts of `width` columns each.

    `parts` holds one section per part, or panels; None for kernels that are not computed in tiles.
    """

    cols: Indices
    dtype: np.dtype[Any]
    width: int
    parts: list[Section] | Tile | None

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.cols.size

    @property
    def count(self) -> int:
        """The number of parts."""
        return -(-self.cols.size // self.width)


class Tiles:
    """Blocks of K and products with it, computed in tiles on `threads` threads.

    A `DotKernel` that states its `cancellation` is computed here, others by `gram.bound`. Evaluations
    are counted by the Gram matrix.

    Attributes
    ----------
    work : cost of a value, including the kernel's function, in multiplications.
    is_cheap : whether computing a block takes less time than gathering it from stored rows: 0.2 ms
        against 0.9 for 512 x 512 values of 40 features.
    slow_columns : whether preparing a column takes as long as computing a few hundred of its values.
    """

    def __init__(self, gram: Gram, threads: int) -> None:
        kernel: Any = gram.kernel
        bound: Any = gram.bound
        X: Any = bound.samples if isinstance(kernel, FeatureKernel) else gram.X
        self.gram, self.kernel, self.pool, self._X = gram, kernel, Pool(threads), X
        self._samples: dict[np.dtype[Any], Samples]
        self._samples = gram.get_or_compute("samples", dict)
        self._sparse = is_sparse(X)
        self._norms2, self._largest_norm2, self._cancellation = np.zeros(0), 0.0, 0.0
        self._factor = abs(float(getattr(kernel, "gamma", 1.0)))
        self._is_tiled = isinstance(kernel, DotKernel) and np.isfinite(kernel.cancellation(0.0))
        if self._is_tiled:
            self._norms2 = squared_norms(X)
            self._largest_norm2 = float(self._norms2.max(initial=0.0))
            self._cancellation = kernel.cancellation(self._largest_norm2)
        self._of_distance = self._is_tiled and kernel.of_distance
        self.work = 16 + X.size // X.shape[0] if self._is_tiled else 64
        self.slow_columns = self._is_tiled and self._sparse and is_wide(X)
        self.is_cheap = self._is_tiled and self.work <= 144 and not self.slow_columns

    def __enter__(self) -> Tiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.__exit__()

    @cached_property
    def diagonal(self) -> Vector:
        """k(xᵢ, xᵢ), shape (n,), computed once."""
        return self.gram.diagonal()

    @cached_property
    def _largest_diagonal(self) -> float:
        return float(np.abs(self.diagonal).max())

    def precise(self, dtype: Any) -> bool:
        """Whether `dtype` represents the kernel's values to nearly all of its digits."""
        limit = _largest_value(dtype)
        in_range = all(1.0 / limit < v < limit for v in (self._factor, self._largest_diagonal))
        in_range &= self._largest_norm2 < limit
        return in_range and self._cancellation <= 1e3  # of which float32 keeps three digits

    def rounding(self, dtype: Any) -> float:
        """Return the error of values in `dtype`, relative to the largest value of K.

        It is the root mean square in the worst row, measured between a few samples; 0 without a
        measurement if only the last digits are lost to cancellation.
        """
        if self._cancellation <= 1.0:
            return 0.0
        probe = self._probe
        values = self.block(probe, self.columns(probe, dtype, pack_columns=False))
        if self._sparse:  # by what is compiled already
            exact = self.block(probe, self.columns(probe, np.float64, pack_columns=False))
        else:  # without a copy of all samples in float64
            exact = self.kernel(self.gram.X[probe], self.gram.X[probe])
        lost = np.sqrt(((values - exact) ** 2).mean(axis=1).max())
        return float(lost) / self._largest_diagonal

    @property
    def largest(self) -> float:
        """The largest |K| on the diagonal and between a few samples."""
        between = self.gram.bound.block(self._probe, self._probe)
        return max(self._largest_diagonal, float(np.abs(between).max()))

    @cached_property
    def _probe(self) -> Indices:
        """The indices of a few samples."""
        return np.unique(np.linspace(0, self.gram.n - 1, 64).astype(np.intp))

    def _samples_as(self, key: np.dtype[Any]) -> Samples:
        if key not in self._samples:
            sparse = WideSamples if self.slow_columns else SparseSamples
            maker = sparse if self._sparse else DenseSamples
            self._samples[key] = maker(self._X, key, self._of_distance)
        return self._samples[key]

    def columns(self, cols: Indices, dtype: Any, pack_columns: bool = True) -> Columns:
        """Prepare columns for products; packing them pays for several products."""
        key = np.dtype(dtype)
        if not (self._is_tiled and self.precise(key)):
            return Columns(cols, key, TUNING.tile_columns, None)
        samples = self._samples_as(key)
        if pack_columns and isinstance(samples, DenseSamples) and key == np.float32:
            return Columns(cols, key, WIDTH, samples.panels(cols))
        is_wide_part = pack_columns and self.slow_columns
        width = TUNING.wide_columns if is_wide_part else TUNING.tile_columns
        sections = [samples.columns(cols[at : at + width]) for at in range(0, cols.size, width)]
        return Columns(cols, key, width, sections)

    def block(
        self,
        rows: Indices,
        columns: Columns,
        out: Tile | None = None,
        use: Job | None = None,
        work: int = 0,
    ) -> Tile:
        """Return K[rows, columns], shape (r, c), written to `out` if it is given.

        A thread that has written columns `first` to `last` calls use(first, last), while they are in its
        cache if there are several parts; all calls together cost `work` multiplications.
        """
        K = np.empty((rows.size, columns.size), columns.dtype) if out is None else out

        def fill_across(first: int, last: int) -> None:
            offset = first * columns.width
            self._write(rows, columns, first, last, K, offset)
            if use is not None:
                use(offset, min(last * columns.width, columns.size))

        def fill_down(first: int, last: int) -> None:
            self._write(rows[first:last], columns, 0, columns.count, K[first:last], 0)

        across = use is not None or columns.size > rows.size
        across &= columns.count >= 2 * self.pool.count
        job, count = (fill_across, columns.count) if across else (fill_down, rows.size)
        self.pool.run(job, count, self.work * K.size + work)
        if use is not None and not across:
            self.pool.run(use, columns.size, work)
        self.gram.evaluations += K.size
        return K

    def symmetric_block(self, members: Indices, columns: Columns) -> Tile:
        """Return K[members, members], `columns` being the members'."""
        K, order = np.empty((members.size, members.size), columns.dtype), np.arange(members.size)
        self.complete(K, order, order, columns)
        return K

    def complete(self, K: Tile, at: Indices, missing: Indices, columns: Columns) -> None:
        """Compute missing rows of K[members, members], with the members' columns, each value once.

        Row i of it is K[at[i]]; those of `missing`, in increasing order, are consecutive. They are
        computed up to the diagonal, and what is right of it is copied from the rows below.
        """
        members = columns.cols
        rows, out = members[missing], K[at[missing[0]] : at[missing[-1]] + 1]
        ends = missing + 1
        if isinstance(columns.parts, np.ndarray) and self.kernel.power_form is None:
            ends = np.full(missing.size, members.size)  # its function is applied to whole rows
        total = np.cumsum(ends)
        is_missing = np.zeros(members.size, np.bool_)
        is_missing[missing] = True

        def fill_rows(first: int, last: int) -> None:  # each thread computes as many values
            shares = first * total[-1], last * total[-1]
            low, high = np.searchsorted(total * missing.size, shares, side="right")
            part = slice(low, high)
            self._write(rows[part], columns, 0, columns.count, out[part], 0, ends[part])

        def copy_columns(first: int, last: int) -> None:  # later columns have more to copy
            low, high = (round(sqrt(members.size * end)) for end in (first, last))
            mirror(K, at, is_missing, low, high)

        self.pool.run(fill_rows, missing.size, self.work * int(total[-1]))
        self.pool.run(copy_columns, members.size, READ_COST * out.size)
        height = WIDTH if isinstance(columns.parts, np.ndarray) else TUNING.tile_rows
        self.gram.evaluations += min(out.size, int(total[-1]) + rows.size * height // 2)

    def product(self, rows: Indices, columns: Columns, weights: Vector) -> Vector:
        """Return K[rows, columns] @ weights."""
        result, weight = np.zeros(rows.size), weights.astype(columns.dtype)
        tile_rows, tile_columns = TUNING.tile_rows, TUNING.tile_columns
        step = max(1, tile_columns // columns.width)

        def accumulate(first: int, last: int) -> None:
            buffer = np.empty(tile_rows * max(tile_columns, columns.width), columns.dtype)
            for low in range(first, last, tile_rows):
                high = min(low + tile_rows, last)
                for part in range(0, columns.count, step):
                    part_weights = weight[part * columns.width :][: step * columns.width]
                    tile = buffer[: (high - low) * part_weights.size].reshape(-1, part_weights.size)
                    self._write(rows[low:high], columns, part, part + step, tile, 0)
                    result[low:high] += tile @ part_weights

        values = rows.size * columns.size
        self.pool.run(accumulate, rows.size, self.work * values)
        self.gram.evaluations += values
        return result

    def symmetric_product(self, members: Indices, dtype: Any, weights: Vector) -> Vector:
        """Return K[members, members] @ weights; a tile off the diagonal serves its rows and columns."""
        columns = self.columns(members, dtype, pack_columns=False)
        weight, height, width = weights.astype(columns.dtype), TUNING.tile_rows, columns.width
        n, count = members.size, columns.count
        sums: dict[int, Vector] = {}

        def accumulate(first: int, last: int) -> None:
            total, buffer = np.zeros(n), np.empty(height * width, columns.dtype)
            # columns from both ends, so that threads compute as many values
            for part in sorted({*range(first, last), *range(count - last, count - first)}):
                strip = slice(part * width, min((part + 1) * width, n))
                for low in range(strip.start, n, height):
                    at = slice(low, min(low + height, n))
                    tile = buffer[: (at.stop - low) * (strip.stop - strip.start)]
                    tile = tile.reshape(at.stop - low, -1)
                    self._write(members[at], columns, part, part + 1, tile, 0)
                    total[at] += tile @ weight[strip]
                    if low >= strip.stop:
                        total[strip] += weight[at] @ tile
            sums[first] = total

        self.pool.run(accumulate, (count + 1) // 2, self.work * n**2 // 2)
        self.gram.evaluations += sum((n - at) * min(width, n - at) for at in range(0, n, width))
        return np.sum([sums[first] for first in sorted(sums)], axis=0)

    def _write(
        self, rows: Indices, columns: Columns, first: int, last: int, out: Tile, offset: int,
        ends: Indices | None = None,
    ) -> None:  # fmt: skip
        """Write K[rows, parts first to last of the columns] to `out[:, offset:]`.

        Of row r only the columns before ends[r], which increase, are needed; by default all.
        """
        ends = np.full(rows.size, out.shape[1]) if ends is None else ends
        if isinstance(columns.parts, np.ndarray):
            self._write_panels(rows, columns, first, last, out, offset, ends)
            return
        width, height = columns.width, TUNING.tile_rows
        buffer = np.empty(height * width, out.dtype)
        for low in range(0, rows.size, height):
            chunk, end = rows[low : low + height], int(ends[low : low + height][-1])
            for k in range(first, min(last, columns.count)):
                start = offset + (k - first) * width
                if start >= end:
                    break
                target = out[low : low + height, start : min(start + width, end)]
                cols = columns.cols[k * width :][: target.shape[1]]
                if columns.parts is None:
                    target[:] = self.gram.bound.block(chunk, cols)
                    continue
                contiguous = target.flags.c_contiguous
                tile = target if contiguous else buffer[: target.size].reshape(target.shape)
                self._samples_as(columns.dtype).products(chunk, columns.parts[k], tile)
                self._transform(tile, chunk, cols)
                if not contiguous:
                    target[:] = tile

    def _write_panels(
        self, rows: Indices, columns: Columns, first: int, last: int, out: Tile, offset: int,
        ends: Indices,
    ) -> None:  # fmt: skip
        """Do the same for columns in panels, whose products and powers are computed in registers."""
        samples = self._samples_as(columns.dtype)
        assert isinstance(samples, DenseSamples)
        form = self.kernel.power_form
        *affine, degree = form or (1.0, 0.0, 1)
        factor, shift = map(np.float32, affine)
        groups, tile = pack(samples.rows, rows, HEIGHT), np.empty((HEIGHT, WIDTH), np.float32)
        panels: Any = columns.parts
        fill(groups, panels[first:last], tile, out, offset, factor, shift, degree, ends)
        if form is None:
            cols = columns.cols[first * columns.width : last * columns.width]
            self._transform(out[:, offset : offset + cols.size], rows, cols)

    def _transform(self, products: Tile, rows: Indices, cols: Indices) -> None:
        """Apply the kernel's function to inner products, in place."""
        norms = (self._norms2[i].astype(products.dtype) for i in (rows, cols))
        self.kernel.evaluate(products, *norms)
        if self._cancellation > 20.0:  # exp(−4·20) is next to subnormal numbers, which are slow
            products[np.abs(products) < np.finfo(products.dtype).tiny] = 0.0
