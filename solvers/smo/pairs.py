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

from problems.dataset import Indices, Vector
from problems.gram.tiles import Tile
from solvers.smo.cache import Source, add_row
from solvers.smo.variables import ONE_SET

_BARRED = np.float32(1e30)  # added to the score of what may not move: more than any score
_TINY_CURVATURE = 1e-12  # LIBSVM's: in place of a curvature that is zero or negative


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
        lo, hi = np.append(lo, -np.inf), np.append(hi, np.inf)
        target *= 0.5  # a violation counts twice there, as either end of a pair
    # in a larger set than that steps take longer than on working sets, once most variables are settled
    most = min(most, 20_000 if n <= ONE_SET else 2 * n)
    u, several = u.astype(K.dtype), groups if groups.max() > 0 else None
    steps, unbounded = pair_steps(K, z, u, lo, hi, target, most, several, source)
    return z[:n], steps, unbounded


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def pair_steps(
    K: Tile, z: Vector, u: Tile, lo: Vector, hi: Vector, target: float, max_steps: int,
    groups: Indices | None, source: Source | None,
) -> tuple[int, bool]:  # fmt: skip
    """Take steps in place until the violation is at most `target`.

    Shapes: `K` (q, q), the others (q,); `K` and `u` of one type. `groups` is None for one equality,
    which has a version of its own, compiled without the branch for several. With a `source`, for one
    equality, `K` holds the rows that were needed so far. Returns what `minimise_by_pairs` does.
    """
    n = z.size
    diagonal, gain, below = np.ones(n, K.dtype), np.empty(n, np.float32), np.empty(n, np.float32)
    count = 1 if groups is None else groups.max() + 1
    rise, fall = np.full((count, n), -_BARRED), np.full((count, n), _BARRED)
    key = np.empty((count, n), np.float32)
    for t in range(n):
        if source is None:  # those that have one are RBF kernels
            diagonal[t] = K[t, t]
        own = 0 if groups is None else groups[t]
        rise[own, t] = 0.0 if z[t] < hi[t] else -_BARRED
        fall[own, t] = 0.0 if z[t] > lo[t] else _BARRED
        for group in range(count):
            key[group, t] = u[t] + rise[group, t]
    for step in range(max_steps):
        if groups is None:
            i = _highest(key[0])
            at = i if source is None else source.place[i]
            if at < 0 and source is not None:
                at = add_row(K, source, i)
            j, _ = _partner(K[at], i, u, rise[0], fall[0], diagonal, gain, below, target)
        else:
            i, j = _pair_in_a_group(K, u, rise, fall, diagonal, key, gain, below, target)
            at = i
        if j < 0:
            return step, False
        to = j if source is None else source.place[j]
        if to < 0 and source is not None:
            to = add_row(K, source, j)
        Ki, Kj = K[at], K[to]
        curvature = diagonal[i] + diagonal[j] - 2 * Ki[j]
        room = min(hi[i] - z[i], z[j] - lo[j])
        # less is rounding in float64, which all problems without bounds are solved in
        if room == np.inf and curvature <= 1e-15 * (diagonal[i] + diagonal[j]):
            return step, True
        step_size = min((u[i] - u[j]) / max(curvature, _TINY_CURVATURE), room)
        # a variable that reaches its bound is put there exactly
        zi = hi[i] if step_size == hi[i] - z[i] else z[i] + step_size
        zj = lo[j] if step_size == z[j] - lo[j] else z[j] - step_size
        if zi == z[i] and zj == z[j]:
            return step, False
        z[i], z[j] = zi, zj
        own = 0 if groups is None else groups[i]
        rise[own, i], fall[own, i] = 0.0 if zi < hi[i] else -_BARRED, 0.0
        rise[own, j], fall[own, j] = 0.0, 0.0 if zj > lo[j] else _BARRED
        change = K.dtype.type(step_size)
        for t in range(n):
            u[t] -= change * (Ki[t] - Kj[t])
            key[0, t] = u[t] + rise[0, t]
        for group in range(1, count):
            for t in range(n):
                key[group, t] = u[t] + rise[group, t]
    return max_steps, False


@numba.njit(inline="always")
def _partner(
    Ki: Tile, i: int, u: Tile, rise: Tile, fall: Tile, diagonal: Tile, gain: Tile, below: Tile,
    target: float,
) -> tuple[int, float]:  # fmt: skip
    """Return the j that gains most with i, and how much; −1 if the violation is at most `target`.

    `Ki` is the row of i; `gain` and `below` are overwritten.
    """
    tiny, two, zero = Ki.dtype.type(_TINY_CURVATURE), Ki.dtype.type(2), Ki.dtype.type(0)
    gain_bits, below_bits = gain.view(np.int32), below.view(np.int32)
    highest, Kii = u[i], diagonal[i]
    for t in range(u.size):
        distance = highest - u[t] - fall[t]
        distance = distance if distance > zero else zero
        curvature = Kii + diagonal[t] - two * Ki[t]
        curvature = curvature if curvature > tiny else tiny
        below[t] = distance
        gain[t] = distance * distance / curvature
    best, largest = np.int32(0), np.int32(0)
    for t in range(u.size):
        best = max(best, gain_bits[t])
        largest = max(largest, below_bits[t])
    j = _first(gain_bits, best)
    if rise[i] < 0.0 or best <= 0 or below[_first(below_bits, largest)] <= target:
        j = -1
    return j, gain[j]


@numba.njit(inline="always")
def _pair_in_a_group(
    K: Tile, u: Tile, rise: Tile, fall: Tile, diagonal: Tile, key: Tile, gain: Tile, below: Tile,
    target: float,
) -> tuple[int, int]:  # fmt: skip
    """Return the pair of one group that gains most; j = −1 if no group's violation is above `target`.

    Each j is paired with the i of highest score in its group (Chang & Lin 2001, for ν-SVC). A row of
    `rise`, `fall` and `key` for each group bars the variables of all others.
    """
    i, j, best = -1, -1, 0.0
    for group in range(rise.shape[0]):
        first = _highest(key[group])
        second, gained = _partner(
            K[first], first, u, rise[group], fall[group], diagonal, gain, below, target
        )
        if second >= 0 and gained > best:
            i, j, best = first, second, gained
    return i, j


@numba.njit(inline="always")
def _highest(key: Tile) -> int:
    """Return where `key` is largest; bits of negative floats order backwards until flipped."""
    bits = key.view(np.int32)
    best = np.int32(-2147483648)
    for t in range(key.size):
        best = max(best, bits[t] ^ ((bits[t] >> 31) & np.int32(0x7FFFFFFF)))
    return _first(bits, best ^ ((best >> 31) & np.int32(0x7FFFFFFF)))


@numba.njit(inline="always")
def _first(values: Tile, value: Any) -> int:
    """Return the first index at which `value` stands."""
    found = values.size
    for t in range(values.size):
        found = min(found, t if values[t] == value else values.size)
    return found
