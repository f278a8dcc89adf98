"""Rows of K among the active variables, computed when they are first needed and kept.

What moves adds its row to the scores of all active variables; that reads each row again and again, at
the speed of memory. Newton steps read them too: products with K then cost no kernel values.

For a working set of all variables rows come on demand: within the pair steps, when one first needs them.
Most variables never move where classes are easily told apart: all of K would touch several times the
memory, and memory touched first takes longer than the values in it. On 501 to 2048 samples of 20
features all rows at once took 1.5 times as long, all of K in float64 (`small`) 1.7 times.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.exponential import exponential
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.panels import HEIGHT, WIDTH, fill, pack
from dualgap.problems.gram.threads import READING, Job
from dualgap.problems.gram.tiles import Tile
from dualgap.problems.kernels import RBF
from dualgap.solvers.smo.conditions import largest
from dualgap.solvers.smo.matrix import Matrix, Ready
from dualgap.solvers.smo.variables import ONE_SET

_MOST_FEATURES = 128  # up to which a row at a time takes little longer than many in one product
_SPAN = 4096  # columns whose sums, 16 KiB, stay in the first-level cache
_SUMMED = 32  # rows summed in their own precision, before that is worse than theirs
_SIDE = 64  # rows and columns of K that are gathered at a time


class Source(NamedTuple):
    """What rows of K are computed from: exp(factor·rows[i]·columns), in float32.

    Attributes
    ----------
    rows, columns : the variables' samples, shapes (n, d) and (d, n).
    place : where in the kept rows each variable's is, −1 for nowhere; overwritten, as are
    owner : each kept row's variable, and
    used : how many are kept, shape (1, ).
    """

    rows: Tile
    columns: Tile
    factor: np.float32
    place: Indices
    owner: Indices
    used: Indices


class RowCache:
    """Rows of K[members, members], as many as there is room for.

    Attributes
    ----------
    memory : of the rows, which other ones may have after these: touching fresh memory takes time.
    values : the rows. place : where each member's row is, −1 for none. owner : each row's variable.
    distinct : the members, but of those with one sample, as ν-SVR has them, only the first; `values` and
        `place` are of these, and `twin` is which of them stands for each member; None for itself.
    """

    def __init__(
        self, matrix: Matrix, members: Indices, room: int, memory: Tile | None = None
    ) -> None:
        """Begin without rows, with room for so many values, in `memory` if it is large enough."""
        self.matrix, self.members = matrix, members
        self.distinct, self.twin = members, None
        if matrix.repeats:
            samples = matrix.sample[members]
            _, first, self.twin = np.unique(samples, return_index=True, return_inverse=True)
            self.distinct = members[first]
        width = self.distinct.size
        most = max(width, min(room, width**2))
        if memory is None or memory.size < most or memory.dtype != matrix.dtype:
            memory = np.empty(most, matrix.dtype)
        count = min(width, most // max(1, width))
        self.memory, self.values = memory, memory[: count * width].reshape(count, width)
        self.place = np.full(self.distinct.size, -1)
        self.owner = np.full(self.values.shape[0], -1)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return int(np.count_nonzero(self.owner >= 0))

    @cached_property
    def columns(self) -> Ready:
        """The columns of the members, made ready when the first row is computed."""
        return self.matrix.columns(self.distinct)

    @property
    def complete(self) -> bool:
        """Whether there is room for all rows."""
        return self.owner.size >= self.distinct.size

    def known(self, chosen: Indices) -> NDArray[np.bool_]:
        """Return which of some members have a row."""
        return self.place[chosen if self.twin is None else self.twin[chosen]] >= 0

    def block(self, chosen: Indices) -> Tile:
        """Return K among members that have a row."""
        chosen = chosen if self.twin is None else self.twin[chosen]
        K, values = np.empty((chosen.size, chosen.size), self.values.dtype), self.values.reshape(-1)
        starts = self.place[chosen] * self.values.shape[1]
        count = -(-chosen.size // _SIDE)

        def gather(first: int, last: int) -> None:
            # half of the values, each of which takes as long as 16 that are read in order; a part
            # from either end has as many as any other two
            for strip in {*range(first, last), *range(count - last, count - first)}:
                rows = slice(_SIDE * strip, min(_SIDE * (strip + 1), chosen.size))
                places = starts[rows, None] + chosen[: rows.stop]
                part = np.take(values, places, mode="clip")
                K[rows, : rows.stop] = part
                K[: rows.start, rows] = part[:, : rows.start].T

        self.matrix.tiles.pool.run(gather, (count + 1) // 2, 8 * READING * K.size)
        return K

    def fetch(self, chosen: Indices) -> None:
        """Compute the rows of some members, given by position, that have none, while there is room."""
        self._compute(self._places_for(chosen))

    def _places_for(self, chosen: Indices) -> Indices:
        """Give some members that have no row a place for it, while there is room; return the places."""
        missing = chosen[~self.known(chosen)]
        if self.twin is not None:
            missing = np.unique(self.twin[missing])
        places = np.flatnonzero(self.owner < 0)[: missing.size] if missing.size else missing
        missing = missing[: places.size]
        self.place[missing], self.owner[places] = places, self.distinct[missing]
        return places

    def _compute(self, places: Indices, then: Job | None = None, work: int = 0) -> None:
        """Compute the rows of some places; threads go on with their columns as in `Tiles.block`."""
        if places.size:
            rows, first, last = self.owner[places], places[0], places[-1] + 1
            if last - first == places.size:
                out = self.values[first:last]
                self.matrix.block(rows, self.distinct, self.columns, out, then, work)
                return
            self.values[places] = self.matrix.block(rows, self.distinct, self.columns)
        if then is not None:
            self.matrix.tiles.pool.run(then, self.distinct.size, work)

    def source(self) -> Source | None:
        """Return what pair steps on all members compute rows from; None where K is of no such kind."""
        matrix = self.matrix
        factors = matrix.tiles.factors(np.float32) if matrix.in_single else None
        if factors is None or matrix.scale is not None:
            return None
        rows, columns, factor = factors
        if columns.shape[1] > _MOST_FEATURES:
            return None
        some = matrix.sample[self.members]
        across, used = np.ascontiguousarray(columns[some].T), np.array([self.count])
        return Source(rows[some], across, np.float32(factor), self.place, self.owner, used)

    def replace(self, positions: Indices, arriving: Indices) -> None:
        """Put `arriving` where other members stood: new columns for the rows that stay."""
        given_up = self.place[positions]
        self.owner[given_up[given_up >= 0]] = -1
        self.place[positions] = -1
        self.members = self.members.copy()
        self.members[positions] = arriving
        used = np.flatnonzero(self.owner >= 0)
        columns = self.matrix.columns(arriving)
        self.values[np.ix_(used, positions)] = self.matrix.block(
            self.owner[used], arriving, columns
        )
        self.distinct, self.columns = self.members, self.matrix.columns(self.members)

    def add_to(self, f: Vector, chosen: Indices, weights: Vector) -> NDArray[np.bool_]:
        """Add weighted rows of members to f, the scores of all, and compute those that are missing.

        Returns which were added: there may be no room for all.
        """
        new, sums = self._places_for(chosen), f
        known = self.known(chosen)
        chosen, weights = chosen[known], weights[known]
        if self.twin is not None:
            total = np.bincount(self.twin[chosen], weights, self.distinct.size).astype(np.float64)
            sums, chosen = np.zeros(total.size), np.flatnonzero(total)
            weights = total[chosen]
        at, weight = self.place[chosen], weights.astype(self.values.dtype)
        if self.values.dtype == np.float64 or sums.size <= ONE_SET:

            def add(first: int, last: int) -> None:
                for k in range(0, at.size, _SUMMED):
                    some = slice(k, k + _SUMMED)
                    sums[first:last] += weight[some] @ self.values[at[some], first:last]

        else:
            filling = -at.size % 8  # any row, with the weight 0
            at, weight = np.append(at, at[:1].repeat(filling)), np.pad(weight, (0, filling))

            def add(first: int, last: int) -> None:
                add_rows(sums, self.values, at, weight, np.empty(_SPAN, np.float32), first, last)

        self._compute(new, add, READING * at.size * sums.size)
        if self.twin is not None:
            f += sums[self.twin]
        return known


@numba.njit(cache=True, nogil=True, fastmath={"contract", "nsz"})
def add_row(K: Tile, source: Source, i: int) -> int:
    """Compute the row of K of variable i, and return where it is kept."""
    at = source.used[0]
    row, sample = K[at], source.rows[i]
    for t in range(row.size):
        row[t] = 0.0
    for k in range(sample.size):
        entry, column = source.factor * sample[k], source.columns[k]
        for t in range(row.size):
            row[t] += entry * column[t]
    for t in range(row.size):
        row[t] = exponential(row[t])
    source.place[i], source.owner[at] = at, i
    source.used[0] = at + 1
    return at


@numba.njit(cache=True, nogil=True)
def add_rows(
    f: Vector, rows: Tile, at: Indices, weights: Tile, sums: Tile, first: int, last: int
) -> None:
    """Add weighted rows in float32, a multiple of eight, to f[first:last].

    Memory is read once for eight rows, and so many columns at a time stay in the cache meanwhile, in
    `sums`, that f is touched once for 32 rows.
    """
    for left in range(first, last, sums.size):
        size = sums.size if left + sums.size < last else last - left
        for start in range(0, at.size, _SUMMED):
            for t in range(size):
                sums[t] = 0.0
            for k in range(start, start + _SUMMED if start + _SUMMED < at.size else at.size, 8):
                r0, r1 = rows[at[k], left:], rows[at[k + 1], left:]
                r2, r3 = rows[at[k + 2], left:], rows[at[k + 3], left:]
                r4, r5 = rows[at[k + 4], left:], rows[at[k + 5], left:]
                r6, r7 = rows[at[k + 6], left:], rows[at[k + 7], left:]
                w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                w4, w5, w6, w7 = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
                for t in range(size):
                    below = (w0 * r0[t] + w1 * r1[t]) + (w2 * r2[t] + w3 * r3[t])
                    above = (w4 * r4[t] + w5 * r5[t]) + (w6 * r6[t] + w7 * r7[t])
                    sums[t] += below + above
            for t in range(size):
                f[left + t] += sums[t]


def compile_rows(gram: Gram, n: int, on_demand: bool) -> None:
    """Compile what n variables call but small problems of the same kind may not.

    Where one working set has rows on demand, that is nothing.
    """
    one = np.zeros((1, 1), np.float32)
    at, tile = np.zeros(8, np.int64), np.empty((HEIGHT, WIDTH), np.float32)
    if n > ONE_SET:
        largest(np.zeros(1), 1)
        add_rows(np.zeros(1), one, at, one.repeat(8), one[0], 0, 1)
    of_few = isinstance(gram.kernel, RBF) and gram.X.shape[1] + 2 <= _MOST_FEATURES
    if n > ONE_SET or not (on_demand and of_few):
        fill(pack(one, at, HEIGHT), pack(one, at, WIDTH), tile, one, 0, one[0, 0], one[0, 0], 1)
