"""Newton's method on the faces of a box: for small dual problems whose last digits it gives at once.

    min ½zᵀAz − rᵀz  s.t. Σz = const in each group (or none), low ≤ z ≤ high
On the face of the variables between their bounds the minimum solves one system; where the way to it
leaves the box, the variable that gets to its bound first is held there, and the system is solved for the
others (Nocedal & Wright 2006, section 16.5).
"""

from __future__ import annotations

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.kernels import Block

MOST_FREE = 1000  # variables above which a factor takes longer than many steps
_MOST_FACES = 20  # met on the way
_RIDGE = 1e-10  # relative to the largest curvature: A is singular where samples are dependent
_LEAST_CURVATURE = 1e-290  # below it, steps overflow: only bounds would end one
_HELD = -2  # in place of the equality of a variable at a bound
# Seconds of a step on k variables: for its calls, for each entry of the matrix, and for each of k³
_CALLS, _OF_ENTRY, _OF_CUBE = 1e-5, 2e-9, 1e-10


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def minimise_on_subspaces(
    A: Block, r: Vector, z: Vector, low: Vector, high: Vector, groups: Indices, seconds: float
) -> None:
    """Move `z` (k,) in place to the minimum on its face, or as far as about `seconds` lead.

    Shapes: `A` (k, k), the others (k,). `r` is the negative gradient at `z`. `groups` has the number
    of each variable's equality, from 0; −1 for none.
    """
    k, count = z.size, groups[0] + 1
    for group in groups:
        count = group + 1 if group >= count else count
    H, step, own = np.empty((k + count, k + count)), np.empty(k + count), np.empty(k, np.int64)
    slopes, change = np.empty(k), np.empty(k)
    for t in range(k):
        slopes[t] = r[t]
    for _ in range(_MOST_FACES):
        seconds -= _CALLS + _OF_ENTRY * k**2 + _OF_CUBE * k**3
        if seconds < 0.0:
            return
        for t in range(k):
            own[t] = groups[t] if low[t] < z[t] < high[t] else _HELD
        _set_system(A, slopes, own, H, step)
        _solve(H, step)
        slope, curvature = 0.0, 0.0
        for s in range(k):
            change[s] = 0.0
            for t in range(k):
                change[s] += A[s, t] * step[t]
            slope += slopes[s] * step[s]
            curvature += change[s] * step[s]
        if not 0.0 < slope < np.inf:  # the step does not lead down, or there is none
            return
        share, blocking, bound = slope / curvature if curvature > slope else 1.0, -1, 0.0
        for t in range(k):
            end = high[t] if step[t] > 0.0 else low[t]
            if step[t] != 0.0 and (end - z[t]) / step[t] < share:
                share, blocking, bound = (end - z[t]) / step[t], t, end
        for t in range(k):
            z[t] += share * step[t]
            slopes[t] -= share * change[t]
        if blocking < 0:
            return
        z[blocking] = bound


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # pyright: ignore[reportCallIssue]
def _set_system(A: Block, r: Vector, own: Indices, H: Block, x: Vector) -> None:
    """Write the system of a step to the minimum on a face, of `H` the lower triangle.

    Within each group the largest curvature is added to all of A, which changes nothing where Σ step = 0:
    so H stays well conditioned while it is factored in this order.
    """
    k, largest = own.size, 0.0
    for t in range(k):
        largest = A[t, t] if A[t, t] > largest else largest
    for s in range(x.size):
        x[s], H[s, s] = 0.0, 1.0
        for t in range(s):
            H[s, t] = 0.0
    if largest < _LEAST_CURVATURE:
        return
    for s in range(k):
        if own[s] != _HELD:
            x[s] = r[s]
            for t in range(s + 1):
                if own[t] != _HELD:
                    H[s, t] = A[s, t] + (largest if own[t] == own[s] >= 0 else 0.0)
            H[s, s] += _RIDGE * largest
            if own[s] >= 0:
                row = k + own[s]
                H[row, s], H[row, row] = 1.0, 0.0


@numba.njit(  # pyright: ignore[reportCallIssue]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True,
    error_model="numpy", fastmath={"reassoc", "contract", "nsz"},
)  # fmt: skip
def _solve(H: Block, x: Vector) -> None:
    """Solve Hx = b in place of b, by LDLᵀ in place of the lower triangle of H."""
    for s in range(x.size):
        for t in range(s):
            entry = H[s, t]
            for c in range(t):
                entry -= H[s, c] * H[t, c]
            H[s, t] = entry
        for t in range(s):
            entry = H[s, t] / H[t, t]
            H[s, s] -= entry * H[s, t]
            x[s] -= entry * x[t]
            H[s, t] = entry
    for s in range(x.size - 1, -1, -1):
        x[s] /= H[s, s]
        for t in range(s + 1, x.size):
            x[s] -= H[t, s] * x[t]
