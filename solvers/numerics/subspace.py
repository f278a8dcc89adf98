"""Newton's method on the faces of a box: for small dual problems whose last digits it gives at once.

    min ½zᵀAz − rᵀz  s.t. Σz = const in each group (or none), low ≤ z ≤ high
On the face of the variables between their bounds the minimum solves one system; where the way to it
leaves the box, the variable that gets to its bound first is held there, and the system is solved for the
others (Nocedal & Wright 2006, section 16.5).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.kernels import Block

MOST_FREE = 1000  # variables above which a factor takes longer than many steps
_MOST_FACES = 20  # met on the way
_RIDGE = 1e-10  # relative to the largest curvature: A is singular where samples are dependent
_LEAST_RIDGE = 1e-300  # below it, steps overflow
# Seconds of a step on k variables: for its calls, for each entry of the matrix, and for each of k³
_CALLS, _OF_ENTRY, _OF_CUBE = 1e-5, 2e-9, 1e-10


@numba.njit(cache=True, nogil=True)
def minimise_on_subspaces(
    A: Block, r: Vector, z: Vector, low: Vector, high: Vector, groups: Indices, seconds: float
) -> None:
    """Move `z` (k,) in place to the minimum on its face, or as far as about `seconds` lead.

    Shapes: `A` (k, k), the others (k,). `r` is the negative gradient at `z`. `groups` has the number of
    each variable's equality, from 0; −1 for none.
    """
    start, free, count = z.copy(), np.arange(z.size), groups.max() + 1 if z.size else 0
    for _ in range(_MOST_FACES):
        k = free.size
        seconds -= _CALLS + _OF_ENTRY * k**2 + _OF_CUBE * k**3
        if seconds < 0 or k < 1 + count:
            return
        step = _to_minimum(A, r - A @ (z - start), free, groups, count)
        share, blocking, bound = 1.0, -1, 0.0
        for s in range(k):
            t = free[s]
            end = high[t] if step[s] > 0.0 else low[t]
            if step[s] != 0.0 and (end - z[t]) / step[s] < share:
                share, blocking, bound = (end - z[t]) / step[s], t, end
        for s in range(k):
            z[free[s]] += share * step[s]
        if blocking < 0:
            return
        z[blocking] = bound
        free = np.flatnonzero((z > low) & (z < high))


@numba.njit(cache=True, nogil=True)
def _to_minimum(A: Block, r: Vector, free: Indices, groups: Indices, count: int) -> Vector:
    """Return the step of the free variables to the minimum on their face; zeros if none leads down."""
    k = free.size
    H, g = np.zeros((k + count, k + count)), np.zeros(k + count)
    for s in range(k):
        g[s] = r[free[s]]
        for t in range(k):
            H[s, t] = A[free[s], free[t]]
    K = H[:k, :k].copy()
    ridge = _RIDGE * np.diag(K).max()
    if not ridge > _LEAST_RIDGE:  # only bounds would end a step, and H would be singular
        return np.zeros(k)
    for s in range(k):
        H[s, s] += ridge
    for group in range(count):
        row = k + group
        for s in range(k):
            H[row, s] = 1.0 if groups[free[s]] == group else 0.0
            H[s, row] = H[row, s]
        H[row, row] = 0.0 if H[row, :k].any() else 1.0
    step: Any = np.linalg.solve(H, g)[:k].copy()
    slope, curvature = g[:k] @ step, step @ (K @ step)
    if not slope > 0.0:
        return np.zeros(k)
    if curvature > 0.0:
        step *= min(1.0, slope / curvature)
    return step
