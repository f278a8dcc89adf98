"""The innermost loop of SMO: steps on pairs of a working set, all in the processor's cache.

    min ½zᵀKz − uᵀz  s.t. Σz = const, lo ≤ z ≤ hi,   u the scores, minus the gradient

i has the highest score among those that can rise; j, among those that can fall, gains most by a
second-order estimate (Fan, Chen & Lin 2005, WSS 2); both move by the exact minimiser in the box. Where
the variables are in groups, each with an equality Σz = const of its own, i and j are of one group.

Written for vector instructions: what may not move is excluded by a number added to its score, not by
branches, and the largest of float32 values that are not negative is found by comparing their bits as
integers, which compilers can do in parallel.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tile
from dualgap.solvers.smo.cache import Source, add_row
from dualgap.solvers.smo.variables import ONE_SET

_BARRED = np.float32(1e30)  # added to the score of what may not move: more than any score
_TINY_CURVATURE = 1e-12  # LIBSVM's: in place of a curvature that is zero or negative
_GAIN, _BELOW, _KEYS = (
    0,
    1,
    2,
)  # rows of memory: of pairs with i, and from there on scores of each group


class WorkingSet(NamedTuple):
    """The problem of some variables, all others being held: shapes (q,), and (q, q) for K.

    Attributes
    ----------
    K : in float32 or float64; with a `source` the rows that were needed so far.
    z, lo, hi : where the variables are, and their bounds on the side of their tube where they are.
    u : their scores relative to the multiplier of the equality: minus the gradient.
    groups : the equality Σz = const that each is in; −1 throughout for none.
    source : what rows are computed from on demand, None where all are there.
    """

    K: Tile
    z: Vector
    u: Vector
    lo: Vector
    hi: Vector
    groups: Indices
    source: Source | None


def minimise_by_pairs(given: WorkingSet, target: float, most: int) -> tuple[Vector, int, bool]:
    """Return z at a violation of `target`, or after some thousands of steps, `most` at most.

    Also the number of steps, and whether the last pair can move for ever.
    """
    K, z, u, lo, hi, groups, source = given
    n = z.size
    if groups[0] < 0:  # each can be paired with a free variable that has no row
        K, z, u = np.pad(K, (0, 1)), np.append(z, 0.0), np.append(u, 0.0)
        lo, hi, groups = np.append(lo, -np.inf), np.append(hi, np.inf), np.zeros(n + 1, np.int64)
        target *= 0.5  # a violation counts twice there, as either end of a pair
    # in a larger set than that steps take longer than on working sets, once most variables are settled
    most = min(most, 20_000 if n <= ONE_SET else 2 * n)
    steps, unbounded = pair_steps(K, z, u.astype(K.dtype), lo, hi, target, most, groups, source)
    return z[:n], steps, unbounded


def pair_steps(
    K: Tile, z: Vector, u: Tile, lo: Vector, hi: Vector, target: float, max_steps: int,
    groups: Indices, source: Source | None,
) -> tuple[int, bool]:  # fmt: skip
    """Take steps in place until the violation is at most `target`.

    Shapes: `K` (q, q), the others (q,); `K` and `u` of one type. `groups` has each variable's equality,
    from 0. With a `source`, for one equality, `K` holds the rows that were needed so far. Returns what
    `minimise_by_pairs` does.
    """
    count = int(groups.max()) + 1
    diagonal = (
        np.ones_like(u) if source is not None else K.diagonal().copy()
    )  # RBF kernels have one
    rise, fall = np.empty((2, count, z.size), np.float32)
    memory = np.empty((_KEYS + count, z.size), np.float32)
    enough = int(np.float32(target).view(np.int32))
    return _steps(
        K, diagonal, z, u, lo, hi, enough, max_steps, groups, source,
        rise, fall, memory, memory.view(np.int32),
    )  # fmt: skip


def compile_steps_on_demand() -> None:
    """Compile or load steps with rows of K on demand, which some problems of a kind never take."""
    rows, indices = np.zeros((2, 2), np.float32), np.zeros(2, np.int64)
    source = Source(rows, rows, np.float32(-1.0), indices - 1, indices, np.zeros(1, np.int64))
    K, z, u = np.zeros((2, 2), np.float32), np.zeros(2), np.zeros(2, np.float32)
    pair_steps(K, z, u, np.zeros(2), np.ones(2), 1.0, 1, np.zeros(2, np.int64), source)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _steps(
    K: Tile, diagonal: Tile, z: Vector, u: Tile, lo: Vector, hi: Vector, enough: int, max_steps: int,
    groups: Indices, source: Source | None, rise: Tile, fall: Tile, memory: Tile, bits: Tile,
) -> tuple[int, bool]:  # fmt: skip
    """Take the steps of `pair_steps`; `enough` are the bits of the target in float32.

    Each j is paired with the i of highest score in its group (Chang & Lin 2001, for ν-SVC). A row of
    `rise`, of `fall` and of keys for each group bars the variables of all others.
    """
    n, count = z.size, len(rise)
    for group in range(count):
        for t in range(n):
            own = groups[t] == group
            rise[group, t] = 0.0 if own and z[t] < hi[t] else -_BARRED
            fall[group, t] = 0.0 if own and z[t] > lo[t] else _BARRED
            memory[_KEYS + group, t] = u[t] + rise[group, t]
    for step in range(max_steps):
        i = j = at = np.int64(-1)  # of a literal's type, `add_row` would be compiled once more
        best = np.float32(0.0)
        for group in range(count):
            first = _highest(bits[_KEYS + group])
            place = first if source is None else source.place[first]
            if place < 0 and source is not None:
                place = add_row(K, source, first)
            second = _partner(K[place], first, u, fall[group], diagonal, memory, bits, enough)
            gain = memory[_GAIN, second]
            if second >= 0 and rise[group, first] == 0.0 and gain > best:
                i, j, at, best = first, second, place, gain
        if j < 0:
            return step, False
        to = j if source is None else source.place[j]
        if to < 0 and source is not None:
            to = add_row(K, source, j)  # type: ignore[arg-type]
        Ki, Kj = K[at], K[to]
        curvature = diagonal[i] + diagonal[j] - 2 * Ki[j]
        above, below = hi[i] - z[i], z[j] - lo[j]
        room = above if above < below else below
        # less is rounding in float64, which all problems without bounds are solved in
        if room == np.inf and curvature <= 1e-15 * (diagonal[i] + diagonal[j]):
            return step, True
        wanted = (u[i] - u[j]) / (curvature if curvature > _TINY_CURVATURE else _TINY_CURVATURE)
        step_size = wanted if wanted < room else room
        # a variable that reaches its bound is put there exactly
        zi = hi[i] if step_size == above else z[i] + step_size
        zj = lo[j] if step_size == below else z[j] - step_size
        if zi == z[i] and zj == z[j]:
            return step, False
        z[i], z[j] = zi, zj
        own = groups[i]
        rise[own, i], fall[own, i] = 0.0 if zi < hi[i] else -_BARRED, 0.0
        rise[own, j], fall[own, j] = 0.0, 0.0 if zj > lo[j] else _BARRED
        change = K.dtype.type(step_size)
        for t in range(n):
            u[t] -= change * (Ki[t] - Kj[t])
            memory[_KEYS, t] = u[t] + rise[0, t]
        for group in range(1, count):
            for t in range(n):
                memory[_KEYS + group, t] = u[t] + rise[group, t]
    return max_steps, False


@numba.njit(inline="always")
def _partner(
    Ki: Tile, i: int, u: Tile, fall: Tile, diagonal: Tile, memory: Tile, bits: Tile, enough: int
) -> int:
    """Return the j that gains most with i; −1 if the violation is at most the target.

    `Ki` is the row of i. What each would gain, and how far it is below i, is written to memory.
    """
    tiny, two, zero = Ki.dtype.type(_TINY_CURVATURE), Ki.dtype.type(2), Ki.dtype.type(0)
    highest, Kii = u[i], diagonal[i]
    for t in range(u.size):
        distance = highest - u[t] - fall[t]
        distance = distance if distance > zero else zero
        curvature = Kii + diagonal[t] - two * Ki[t]
        curvature = curvature if curvature > tiny else tiny
        memory[_GAIN, t] = distance * distance / curvature
        memory[_BELOW, t] = distance
    best, largest = np.int32(0), np.int32(0)
    for t in range(u.size):
        gain, below = bits[_GAIN, t], bits[_BELOW, t]
        best, largest = gain if gain > best else best, below if below > largest else largest
    return _first(bits[_GAIN], best) if best > 0 and largest >= enough else -1


@numba.njit(inline="always")
def _highest(bits: Tile) -> int:
    """Return where the number of some bits is largest; of negative ones they order backwards."""
    best = np.int32(-2147483648)
    for t in range(bits.size):
        key = bits[t] ^ ((bits[t] >> 31) & np.int32(0x7FFFFFFF))
        best = key if key > best else best
    return _first(bits, best ^ ((best >> 31) & np.int32(0x7FFFFFFF)))


@numba.njit(inline="always")
def _first(values: Tile, value: Any) -> int:
    """Return the first index at which `value` stands."""
    found = values.size
    for t in range(values.size):
        found = min(found, t if values[t] == value else values.size)
    return found
