"""The matrix K of the variables: its columns, blocks and products, and rows that are kept.

A variable is a sample, or several equal samples; several variables may share a sample.
Columns are prepared once for several products with them.

Rows of K among the active variables are computed when they are first needed. Each variable that moves
adds its row to the scores of all active variables; this reads rows again and again, at the speed of
memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import KernelQP
from dualgap.problems.gram.threads import READ_COST, Job
from dualgap.problems.gram.tiles import Columns, Tile, Tiles
from dualgap.solvers.smo.tuning import TUNING

_ROWS_PER_SUM = 32  # rows summed in float32, before the rounding of sums exceeds that of rows


class PreparedColumns(NamedTuple):
    """Columns of K for some variables; `column_of` maps each to its column if several share a sample."""

    columns: Columns
    column_of: Indices | None


class Matrix:
    """K of the variables of a problem, computed on demand.

    Attributes
    ----------
    sample : that of each variable. repeats : whether variables share samples.
    dtype : that of blocks, and the default of columns.
    """

    def __init__(self, tiles: Tiles, form: KernelQP, dtype: Any) -> None:
        self.tiles, self.sample = tiles, form.samples
        self.repeats = form.sums.size > 1 and np.unique(self.sample).size < form.n
        self.dtype = np.dtype(dtype)

    @property
    def in_single(self) -> bool:
        """Whether rows are in float32."""
        return self.dtype == np.float32

    @property
    def _key(self) -> tuple[str, bytes]:
        """The key of rows of these variables in the Gram matrix's cache."""
        return self.dtype.name, self.sample.tobytes()

    def take_rows(self) -> RowCache | None:
        """Take the rows that an earlier problem left: rows are added, so no other may use them now."""
        rows: RowCache | None = (self.tiles.gram.solver_cache or {}).pop(self._key, None)
        if rows is not None:
            rows.matrix = self
        return rows

    def leave_rows(self, rows: RowCache) -> None:
        """Leave rows of all variables to the next problem."""
        if self.tiles.gram.solver_cache is not None:
            del rows.matrix  # it refers to the Gram matrix, whose memory would be freed late
            self.tiles.gram.solver_cache[self._key] = rows

    def columns(self, cols: Indices, dtype: Any = None) -> PreparedColumns:
        """Prepare columns of K for several products; variables that share a sample share a column."""
        samples, column_of = self.sample[cols], None
        if self.repeats:
            once, back = np.unique(samples, return_inverse=True)
            if once.size < samples.size:
                samples, column_of = once, back
        return PreparedColumns(self.tiles.columns(samples, dtype or self.dtype), column_of)

    def diagonal(self, members: Indices) -> Vector:
        """Return K[i, i] for each of the members."""
        return self.tiles.diagonal[self.sample[members]]

    def block(
        self,
        rows: Indices,
        cols: Indices,
        prepared: PreparedColumns,
        out: Tile | None = None,
        then: Job | None = None,
        work: int = 0,
    ) -> Tile:
        """Return K[rows, cols], in `out` if given; each thread then calls `then` on its columns.

        See `Tiles.block`.
        """
        if prepared.column_of is None:
            return self.tiles.block(self.sample[rows], prepared.columns, out, then, work)
        once = self.tiles.block(self.sample[rows], prepared.columns)
        K = np.take(once, prepared.column_of, axis=1, out=out, mode="clip")
        if then is not None:
            self.tiles.pool.run(then, cols.size, work)
        return K

    def symmetric_block(self, members: Indices) -> Tile:
        """Return K among the members."""
        prepared = self.columns(members)
        if prepared.column_of is None:
            return self.tiles.symmetric_block(self.sample[members], prepared.columns)
        return self.block(members, members, prepared)

    def products(
        self, rows: Indices, cols: Indices, weights: Vector, prepared: PreparedColumns | None = None
    ) -> Vector:
        """Return K[rows, cols] @ weights; `prepared` are the columns `cols`, if computed before."""
        columns, column_of = self.columns(cols) if prepared is None else prepared
        if column_of is not None:
            weights = np.bincount(column_of, weights, columns.size).astype(np.float64)
        if self.repeats:
            samples, back = np.unique(self.sample[rows], return_inverse=True)
            return self.tiles.product(samples, columns, weights)[back]
        return self.tiles.product(self.sample[rows], columns, weights)

    def exact_scores(self, rows: Indices, z: Vector) -> Vector:
        """Return (Kz)[rows] in float64, with one of each two values between rows that z supports."""
        support = np.flatnonzero(z)
        in_support, scores = z[rows] != 0, np.zeros(rows.size)
        if self.repeats or np.count_nonzero(in_support) < TUNING.max_one_set:
            return self.products(rows, support, z[support], self.columns(support, np.float64))
        both = rows[in_support]
        outside = np.setdiff1d(support, both, assume_unique=True)
        scores[in_support] = self.tiles.symmetric_product(self.sample[both], np.float64, z[both])
        for mask, cols in ((in_support, outside), (~in_support, support)):
            prepared = self.columns(cols, np.float64)
            scores[mask] += self.products(rows[mask], cols, z[cols], prepared)
        return scores


class RowCache:
    """Rows of K[members, members], as many as fit in memory.

    Attributes
    ----------
    memory : holds the rows; reused by later caches, as touching fresh memory takes time.
    values : the rows. row_index : index of each member's row, −1 for none. owner : each row's variable.
    distinct : the members, but only the first of those that share a sample (ν-SVR has such); `values`
        and `row_index` refer to these. twin : index in `distinct` of each member; None if all are
        distinct.
    """

    def __init__(
        self, matrix: Matrix, members: Indices, capacity: int, memory: Tile | None = None
    ) -> None:
        """Create an empty cache of `capacity` values, in `memory` if it is large enough."""
        self.matrix, self.members = matrix, members
        self.distinct, self.twin = members, None
        if matrix.repeats:
            samples = matrix.sample[members]
            _, first, self.twin = np.unique(samples, return_index=True, return_inverse=True)
            self.distinct = members[first]
        width = self.distinct.size
        entries = max(width, min(capacity, width**2))
        if memory is None or memory.size < entries or memory.dtype != matrix.dtype:
            memory = np.empty(entries, matrix.dtype)
        count = min(width, entries // max(1, width))
        self.memory, self.values = memory, memory[: count * width].reshape(count, width)
        self.row_index = np.full(self.distinct.size, -1)
        self.owner = np.full(self.values.shape[0], -1)

    @property
    def count(self) -> int:
        """Number of cached rows."""
        return int(np.count_nonzero(self.owner >= 0))

    @cached_property
    def columns(self) -> PreparedColumns:
        """The columns of the members, prepared when the first row is computed."""
        return self.matrix.columns(self.distinct)

    @property
    def complete(self) -> bool:
        """Whether all rows fit."""
        return self.owner.size >= self.distinct.size

    def indices(self, chosen: Indices) -> Indices:
        """Return the indices of the chosen members in `distinct`."""
        return chosen if self.twin is None else self.twin[chosen]

    def has_row(self, chosen: Indices) -> NDArray[np.bool_]:
        """Return a mask of the chosen members that have a row."""
        return self.row_index[self.indices(chosen)] >= 0

    def part(self, chosen: Indices, cols: Indices) -> Tile:
        """Return K[chosen, cols] among the members, of which the chosen have a row."""
        return self.values[np.ix_(self.row_index[self.indices(chosen)], self.indices(cols))]

    def rows_first(self, chosen: Indices) -> Indices:
        """Return the chosen members, those that have a row first."""
        has_row = self.has_row(chosen)
        return np.concatenate([chosen[has_row], chosen[~has_row]])

    def block(self, chosen: Indices) -> Tile:
        """Return K among members, those that have a row first; values between others are computed."""
        K = np.empty((chosen.size, chosen.size), self.values.dtype)
        count = np.count_nonzero(self.has_row(chosen))
        self._gather(self.indices(chosen[:count]), K)
        if count < chosen.size:
            columns = self.matrix.tiles.columns(self.matrix.sample[self.members[chosen]], K.dtype)
            order = np.arange(chosen.size)
            self.matrix.tiles.complete(K, order, order[count:], columns)
            K[:count, count:] = K[count:, :count].T
        return K

    def _gather(self, indices: Indices, K: Tile) -> None:
        """Copy K[indices, indices] from the rows to the first rows and columns of `K`."""
        values, count = self.values.reshape(-1), indices.size
        starts = self.row_index[indices] * self.values.shape[1]
        height = 64  # rows gathered at a time
        strips = -(-count // height)

        def gather(first: int, last: int) -> None:
            # Only half of the values are gathered; each takes as long as 16 sequential reads. Pairing
            # strips from both ends balances the load.
            for strip in {*range(first, last), *range(strips - last, strips - first)}:
                rows = slice(height * strip, min(height * (strip + 1), count))
                part = np.take(values, starts[rows, None] + indices[: rows.stop], mode="clip")
                K[rows, : rows.stop] = part
                K[: rows.start, rows] = part[:, : rows.start].T

        self.matrix.tiles.pool.run(gather, (strips + 1) // 2, 8 * READ_COST * count**2)

    def fetch(self, chosen: Indices) -> None:
        """Compute missing rows of the chosen members (positions), as many as fit."""
        self._compute(self._assign_rows(chosen))

    def fetch_all(self) -> None:
        """Compute all missing rows, which must fit, and each of their values once."""
        missing = np.flatnonzero(self.row_index < 0)
        indices = self._assign_rows(np.arange(self.members.size))
        if indices[-1] + 1 - indices[0] > indices.size:  # after other members were replaced
            self._compute(indices)
            return
        self.matrix.tiles.complete(self.values, self.row_index, missing, self.columns.columns)

    def _assign_rows(self, chosen: Indices) -> Indices:
        """Assign rows to the chosen members that have none, as many as fit; return the indices."""
        missing = chosen[~self.has_row(chosen)]
        if self.twin is not None:
            missing = np.unique(self.twin[missing])
        indices = np.flatnonzero(self.owner < 0)[: missing.size] if missing.size else missing
        missing = missing[: indices.size]
        self.row_index[missing], self.owner[indices] = indices, self.distinct[missing]
        return indices

    def _compute(self, indices: Indices, then: Job | None = None, work: int = 0) -> None:
        """Compute the rows at `indices`; each thread then calls `then` on its columns."""
        if indices.size:
            rows, first, last = self.owner[indices], indices[0], indices[-1] + 1
            if last - first == indices.size:
                out = self.values[first:last]
                self.matrix.block(rows, self.distinct, self.columns, out, then, work)
                return
            self.values[indices] = self.matrix.block(rows, self.distinct, self.columns)
        if then is not None:
            self.matrix.tiles.pool.run(then, self.distinct.size, work)

    def replace(self, positions: Indices, arriving: Indices) -> None:
        """Replace the members at `positions`: drop their rows, and update columns of the other rows."""
        dropped = self.row_index[positions]
        self.owner[dropped[dropped >= 0]] = -1
        self.row_index[positions] = -1
        self.members = self.members.copy()
        self.members[positions] = arriving
        used = np.flatnonzero(self.owner >= 0)
        columns = self.matrix.columns(arriving)
        self.values[np.ix_(used, positions)] = self.matrix.block(
            self.owner[used], arriving, columns
        )
        self.distinct, self.columns = self.members, self.matrix.columns(self.members)

    def add_to(self, f: Vector, chosen: Indices, weights: Vector) -> NDArray[np.bool_]:
        """Add weighted rows of members to the scores f, and compute those that are missing.

        Returns a mask of those added, as not all rows may fit.
        """
        new, sums = self._assign_rows(chosen), f
        cached = self.has_row(chosen)
        chosen, weights = chosen[cached], weights[cached]
        if self.twin is not None:
            total = np.bincount(self.twin[chosen], weights, self.distinct.size).astype(np.float64)
            sums, chosen = np.zeros(total.size), np.flatnonzero(total)
            weights = total[chosen]
        at, weight = self.row_index[chosen], weights.astype(self.values.dtype)
        if self.values.dtype == np.float64 or sums.size <= TUNING.max_one_set:

            def add(first: int, last: int) -> None:
                for k in range(0, at.size, _ROWS_PER_SUM):
                    batch = slice(k, k + _ROWS_PER_SUM)
                    sums[first:last] += weight[batch] @ self.values[at[batch], first:last]

        else:
            padding = -at.size % 8  # repeats of the first row, with weight 0
            at, weight = np.append(at, at[:1].repeat(padding)), np.pad(weight, (0, padding))

            def add(first: int, last: int) -> None:
                buffer = np.empty(4096, np.float32)  # columns, which stay in the first-level cache
                add_rows(sums, self.values, at, weight, buffer, first, last)

        self._compute(new, add, READ_COST * at.size * sums.size)
        if self.twin is not None:
            f += sums[self.twin]
        return cached


@numba.njit(cache=True, nogil=True)
def add_rows(
    f: Vector, rows: Tile, at: Indices, weights: Tile, sums: Tile, first: int, last: int
) -> None:
    """Add weighted float32 rows, whose number is a multiple of eight, to f[first:last].

    Eight rows are read in one pass. `sums` holds as many columns as stay in the cache, so that f is
    updated once per 32 rows.
    """
    for column in range(first, last, sums.size):
        size = sums.size if column + sums.size < last else last - column
        for start in range(0, at.size, _ROWS_PER_SUM):
            for t in range(size):
                sums[t] = 0.0
            end = start + _ROWS_PER_SUM if start + _ROWS_PER_SUM < at.size else at.size
            for k in range(start, end, 8):
                r0, r1 = rows[at[k], column:], rows[at[k + 1], column:]
                r2, r3 = rows[at[k + 2], column:], rows[at[k + 3], column:]
                r4, r5 = rows[at[k + 4], column:], rows[at[k + 5], column:]
                r6, r7 = rows[at[k + 6], column:], rows[at[k + 7], column:]
                w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                w4, w5, w6, w7 = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
                for t in range(size):
                    below = (w0 * r0[t] + w1 * r1[t]) + (w2 * r2[t] + w3 * r3[t])
                    above = (w4 * r4[t] + w5 * r5[t]) + (w6 * r6[t] + w7 * r7[t])
                    sums[t] += below + above
            for t in range(size):
                f[column + t] += sums[t]
