"""The innermost loop of SMO: steps on pairs of a working set, in compiled code.

    min ½zᵀKz − uᵀz  s.t. Σz = const, lo ≤ z ≤ hi,   u the scores, minus the gradient

i has the highest score among the variables that can rise; j, among those that can fall, has the largest
second-order gain (Fan, Chen & Lin 2005, WSS 2); both move to the exact minimiser in the box. If the
variables are in groups, each with its own equality Σz = const, i and j belong to one group.

Written for vector instructions: variables at a bound are excluded by a penalty added to their score, not
by branches, and the largest of nonnegative float32 values is found by comparing their bits as integers,
which compilers vectorise.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tile
from dualgap.problems.kernels.compiled import FASTMATH

_PENALTY = np.float32(1e30)  # excludes a variable at its bound: larger than any score
_MIN_CURVATURE = 1e-12  # LIBSVM's: replaces a curvature that is zero or negative


class Row(IntEnum):
    """Rows of `memory`."""

    GAIN = 0  # of the pairs with i
    BELOW = 1  # how far scores are below that of i
    KEYS = 2  # the first with scores, one row per group


def pair_steps(
    K: Tile, z: Vector, u: Tile, lo: Vector, hi: Vector, target: float, max_steps: int,
    groups: Indices,
) -> tuple[int, bool]:  # fmt: skip
    """Take steps in place until the violation is at most `target`.

    Shapes: `K` (q, q), the others (q,); `K` and `u` have the same dtype. `groups` has the index of each
    variable's equality. Returns the number of steps, and whether the last pair can move without limit.
    """
    count = int(groups.max()) + 1
    rise, fall = np.empty((2, count, z.size), np.float32)
    memory = np.empty((Row.KEYS + count, z.size), np.float32)
    target_bits = int(np.float32(target).view(np.int32))
    return _steps(
        K, K.diagonal().copy(), z, u, lo, hi, target_bits, max_steps, groups,
        rise, fall, memory, memory.view(np.int32),
    )  # fmt: skip


# arrays that it allocated itself would be compiled too, in another half a second
@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def _steps(
    K: Tile, diagonal: Tile, z: Vector, u: Tile, lo: Vector, hi: Vector, target_bits: int,
    max_steps: int, groups: Indices, rise: Tile, fall: Tile, memory: Tile, bits: Tile,
) -> tuple[int, bool]:  # fmt: skip
    """Take the steps of `pair_steps`; `target_bits` are the bits of the target in float32.

    Each j is paired with the i of highest score in its group (Chang & Lin 2001, for ν-SVC). Per group, a
    row of `rise`, of `fall` and of keys excludes the variables of all other groups.
    """
    n, count = z.size, len(rise)
    for group in range(count):
        for t in range(n):
            member = groups[t] == group
            rise[group, t] = 0.0 if member and z[t] < hi[t] else -_PENALTY
            fall[group, t] = 0.0 if member and z[t] > lo[t] else _PENALTY
            memory[Row.KEYS + group, t] = u[t] + rise[group, t]
    for step in range(max_steps):
        i = j = -1
        best = np.float32(0.0)
        for group in range(count):
            first = _highest(bits[Row.KEYS + group])
            second = _partner(K[first], first, u, fall[group], diagonal, memory, bits, target_bits)
            gain = memory[Row.GAIN, second]
            if second >= 0 and rise[group, first] == 0.0 and gain > best:
                i, j, best = first, second, gain
        if j < 0:
            return step, False
        Ki, Kj = K[i], K[j]
        curvature = diagonal[i] + diagonal[j] - 2 * Ki[j]
        above, below = hi[i] - z[i], z[j] - lo[j]
        max_length = above if above < below else below
        # a smaller curvature is rounding in float64, the precision of all problems without bounds
        if max_length == np.inf and curvature <= 1e-15 * (diagonal[i] + diagonal[j]):
            return step, True
        unclipped = (u[i] - u[j]) / (curvature if curvature > _MIN_CURVATURE else _MIN_CURVATURE)
        step_size = unclipped if unclipped < max_length else max_length
        # a variable that reaches its bound is set to it exactly
        zi = hi[i] if step_size == above else z[i] + step_size
        zj = lo[j] if step_size == below else z[j] - step_size
        if zi == z[i] and zj == z[j]:
            return step, False
        z[i], z[j] = zi, zj
        common = groups[i]
        rise[common, i], fall[common, i] = 0.0 if zi < hi[i] else -_PENALTY, 0.0
        rise[common, j], fall[common, j] = 0.0, 0.0 if zj > lo[j] else _PENALTY
        change = K.dtype.type(step_size)
        for t in range(n):
            u[t] -= change * (Ki[t] - Kj[t])
            memory[Row.KEYS, t] = u[t] + rise[0, t]
        for group in range(1, count):
            for t in range(n):
                memory[Row.KEYS + group, t] = u[t] + rise[group, t]
    return max_steps, False


@numba.njit(inline="always")
def _partner(
    Ki: Tile,
    i: int,
    u: Tile,
    fall: Tile,
    diagonal: Tile,
    memory: Tile,
    bits: Tile,
    target_bits: int,
) -> int:
    """Return the j with the largest gain with i; −1 if the violation is at most the target.

    `Ki` is the row of i. Writes each j's gain, and how far its score is below that of i, to `memory`.
    """
    minimum, two, zero = Ki.dtype.type(_MIN_CURVATURE), Ki.dtype.type(2), Ki.dtype.type(0)
    highest, Kii = u[i], diagonal[i]
    for t in range(u.size):
        distance = highest - u[t] - fall[t]
        distance = distance if distance > zero else zero
        curvature = Kii + diagonal[t] - two * Ki[t]
        curvature = curvature if curvature > minimum else minimum
        memory[Row.GAIN, t] = distance * distance / curvature
        memory[Row.BELOW, t] = distance
    best, largest = np.int32(0), np.int32(0)
    for t in range(u.size):
        gain, below = bits[Row.GAIN, t], bits[Row.BELOW, t]
        best, largest = gain if gain > best else best, below if below > largest else largest
    return _first(bits[Row.GAIN], best) if best > 0 and largest >= target_bits else -1


@numba.njit(inline="always")
def _highest(bits: Tile) -> int:
    """Return the index of the largest float32 given its bits, whose order is reversed if negative."""
    best = np.int32(-2147483648)
    for t in range(bits.size):
        key = bits[t] ^ ((bits[t] >> 31) & np.int32(0x7FFFFFFF))
        best = key if key > best else best
    return _first(bits, best ^ ((best >> 31) & np.int32(0x7FFFFFFF)))


@numba.njit(inline="always")
def _first(values: Tile, value: Any) -> int:
    """Return the index of the first entry equal to `value`."""
    index = values.size
    for t in range(values.size):
        index = min(index, t if values[t] == value else values.size)
    return index
