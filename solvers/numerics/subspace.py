"""Newton's method on the faces of a box, which gives small dual problems their last digits.

    min ½zᵀAz − rᵀz  s.t. Σz = const in each group (or none), low ≤ z ≤ high
On the face of the variables between their bounds, the minimum solves one linear system; if the step to
it leaves the box, the first variable to reach its bound is fixed there, and the system is solved for the
others (Nocedal & Wright 2006, section 16.5).
"""

from __future__ import annotations

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.kernels import Block
from dualgap.problems.kernels.compiled import FASTMATH

MAX_FREE = 1000  # variables; above, a factor takes longer than many steps
_FIXED = -2  # replaces the equality index of a variable at a bound


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath=FASTMATH)
def minimise_on_subspaces(
    A: Block, r: Vector, z: Vector, low: Vector, high: Vector, groups: Indices, seconds: float
) -> None:
    """Move `z` (k,) in place to the minimum on its face, or as far as about `seconds` allow.

    Shapes: `A` (k, k), the others (k,). `r` is the negative gradient at `z`. `groups` is the index of
    each variable's equality, −1 for none.
    """
    k, count = z.size, groups[0] + 1
    for group in groups:
        count = group + 1 if group >= count else count
    H, step, equality = np.empty((k + count, k + count)), np.empty(k + count), np.empty(k, np.int64)
    slopes, change = np.empty(k), np.empty(k)
    for t in range(k):
        slopes[t] = r[t]
    for _ in range(20):  # faces
        seconds -= 1e-5 + 2e-9 * k**2 + 1e-10 * k**3  # as measured
        if seconds < 0.0:
            return
        for t in range(k):
            equality[t] = groups[t] if low[t] < z[t] < high[t] else _FIXED
        _set_system(A, slopes, equality, H, step)
        _solve(H, step)
        slope, curvature = 0.0, 0.0
        for s in range(k):
            change[s] = 0.0
            for t in range(k):
                change[s] += A[s, t] * step[t]
            slope += slopes[s] * step[s]
            curvature += change[s] * step[s]
        if not 0.0 < slope < np.inf:  # no descent step
            return
        step_length, blocking, bound = slope / curvature if curvature > slope else 1.0, -1, 0.0
        for t in range(k):
            end = high[t] if step[t] > 0.0 else low[t]
            if step[t] != 0.0 and (end - z[t]) / step[t] < step_length:
                step_length, blocking, bound = (end - z[t]) / step[t], t, end
        for t in range(k):
            z[t] += step_length * step[t]
            slopes[t] -= step_length * change[t]
        if blocking < 0:
            return
        z[blocking] = bound


@numba.njit(cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)  # pyright: ignore[reportCallIssue]
def _set_system(A: Block, r: Vector, equality: Indices, H: Block, x: Vector) -> None:
    """Write the system of a step to the minimum on a face; of `H` only the lower triangle.

    Within each group the largest curvature is added to all entries of A, which has no effect if Σ step
    = 0 but keeps H well conditioned while it is factored in this order.
    """
    k, largest = equality.size, 0.0
    for t in range(k):
        largest = A[t, t] if A[t, t] > largest else largest
    for s in range(x.size):
        x[s], H[s, s] = 0.0, 1.0
        for t in range(s):
            H[s, t] = 0.0
    # steps would overflow, so that only bounds would end them
    if largest < 1e-290:
        return
    for s in range(k):
        if equality[s] != _FIXED:
            x[s] = r[s]
            for t in range(s + 1):
                if equality[t] != _FIXED:
                    H[s, t] = A[s, t] + (largest if equality[t] == equality[s] >= 0 else 0.0)
            # a ridge, as A is singular if samples are dependent
            H[s, s] += 1e-10 * largest
            if equality[s] >= 0:
                row = k + equality[s]
                H[row, s], H[row, row] = 1.0, 0.0


@numba.njit(  # pyright: ignore[reportCallIssue]
    cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True,
    error_model="numpy", fastmath=FASTMATH,
)  # fmt: skip
def _solve(H: Block, x: Vector) -> None:
    """Solve Hx = b by LDLᵀ, overwriting b, passed as x, and the lower triangle of H."""
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
