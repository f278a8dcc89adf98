"""Pair steps and Newton steps in one compiled call, for problems whose matrix K is at hand.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

Pair steps (`pairs`) find which variables are free, to a violation of `tol`. Newton's step then moves all
free variables to the minimum on their face, and where it leads out of the box, to the face that it meets
first; pair steps and Newton steps take turns until the violation is at most `fine`. For a few hundred
variables this takes as long as SMO's first product takes to set up: no threads, no rounds, no choice of
what is in memory.
"""

from __future__ import annotations

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.kernels import Block
from solvers.smo.pairs import pair_steps
from solvers.smo.state import slopes

_RIDGE = 1e-10  # relative to the largest curvature: K is singular where samples are dependent
_MOST_FREE = 1000  # variables above which a factor takes longer than pair steps
_MOST_FACES = 20  # met on the way of one Newton step
_TURN = 100  # pair steps between two Newton steps; at first also half as many as there are variables
# Seconds of a pair step, and for each variable; of a Newton step on k free, for each entry, each of k³
_STEP, _STEP_OF_EACH = 1e-7, 1e-9
_NEWTON, _NEWTON_OF_ENTRY, _NEWTON_OF_CUBE = 1e-5, 2e-9, 1e-10
_PATIENCE = 40  # turns without halving the violation


@numba.njit(cache=True, nogil=True)
def minimise_small(
    K: Block, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    equality: bool, tol: float, fine: float, max_steps: int,
) -> tuple[float, int, float]:  # fmt: skip
    """Minimise from a feasible `z`, which is overwritten.

    Shapes: (n,), and (n, n) for `K`; without the equality K has one more row and column, of zeros.
    Returns the multiplier of the equality, the number of steps and the violation.
    """
    n = z.size
    f = np.zeros(n)
    for t in np.flatnonzero(z):
        f += z[t] * K[t, :n]
    steps, taken, best, slow = 0, 0, np.inf, 0
    while True:
        b, violation = _violation(f, z, q, tube, lo, hi, equality)
        slow = 0 if violation < 0.5 * best else slow + 1
        best = min(best, violation)
        last = best <= tol  # what is left is to `fine`
        if violation <= (fine if last else tol) or steps >= max_steps or slow > _PATIENCE:
            return b, steps, violation
        if last or taken > 0:
            budget = np.inf if last else taken * (_STEP + _STEP_OF_EACH * n)
            _newton(K, f, z, q, tube, lo, hi, equality, budget)
            b, violation = _violation(f, z, q, tube, lo, hi, equality)
        most = min(max_steps - steps, _TURN if last else max(_TURN, n // 2))
        target = fine if violation <= tol else tol
        taken = _pair_turn(K, f, z, q, tube, lo, hi, equality, b, target, most)
        steps += taken


@numba.njit(cache=True, nogil=True)
def _violation(
    f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector, equality: bool
) -> tuple[float, float]:
    up, down = slopes(f, z, q, tube, lo, hi)
    m, M = up.max(), down.min()
    if not equality:
        return 0.0, 2.0 * max(m, -M, 0.0)
    b = 0.5 * (m + M)
    return (b if np.isfinite(b) else 0.0), max(0.0, m - M)


@numba.njit(cache=True, nogil=True)
def _pair_turn(
    K: Block, f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    equality: bool, b: float, target: float, most: int,
) -> int:  # fmt: skip
    """Take pair steps on the side of its tube where each variable is, or to which it is drawn."""
    n = z.size
    size = K.shape[0]  # one more than n without the equality: a free variable to pair with
    x, u = np.zeros(size), np.zeros(size)
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    side = np.empty(n)
    for t in range(n):
        slope = -(f[t] + q[t]) - b
        above = z[t] > 0.0 or (z[t] == 0.0 and slope > 0.0)
        side[t] = tube[t] if above else -tube[t]
        x[t], u[t] = z[t], slope - side[t]
        low[t] = 0.0 if tube[t] > 0.0 and above else lo[t]
        high[t] = 0.0 if tube[t] > 0.0 and not above else hi[t]
    taken, _ = pair_steps(K, x, u, low, high, target, most, None)
    for t in range(n):
        z[t] = x[t]
        f[t] = -(u[t] + side[t] + b) - q[t]
    return taken


@numba.njit(cache=True, nogil=True)
def _newton(
    K: Block, f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector, equality: bool, budget: float
) -> None:
    """Move the free variables to the minimum on their face, by way of the faces met on the way."""
    start = z.copy()
    for _ in range(_MOST_FACES):
        free = np.flatnonzero((z > lo) & (z < hi) & ((tube == 0.0) | (z != 0.0)))
        k = free.size
        budget -= _NEWTON + _NEWTON_OF_ENTRY * k**2 + _NEWTON_OF_CUBE * k**3
        if budget < 0 or not 1 + equality <= k <= _MOST_FREE:
            break
        # the slope at z itself: f is brought up to date at the end
        step = _face_step(K, f, z, start, q, tube, free, equality)
        share, blocking = 1.0, -1
        for s in range(k):
            t = free[s]
            low = 0.0 if tube[t] > 0.0 and z[t] > 0.0 else lo[t]
            high = 0.0 if tube[t] > 0.0 and z[t] < 0.0 else hi[t]
            end = high if step[s] > 0.0 else low
            if step[s] != 0.0 and (end - z[t]) / step[s] < share:
                share, blocking = (end - z[t]) / step[s], t
                bound = end
        for s in range(k):
            z[free[s]] += share * step[s]
        if blocking < 0:
            break
        z[blocking] = bound
    for t in np.flatnonzero(z != start):
        f += (z[t] - start[t]) * K[t, : z.size]


@numba.njit(cache=True, nogil=True)
def _face_step(
    K: Block, f: Vector, z: Vector, start: Vector, q: Vector, tube: Vector, free: Indices,
    equality: bool,
) -> Vector:  # fmt: skip
    """Return the step to the minimum on the face of the free variables; zeros where there is none."""
    k = free.size
    size = k + 1 if equality else k
    A, r = np.zeros((size, size)), np.zeros(size)
    moved = np.flatnonzero(z != start)
    for s in range(k):
        t = free[s]
        for other in range(k):
            A[s, other] = K[t, free[other]]
        r[s] = -(f[t] + q[t]) - (tube[t] if z[t] > 0.0 else -tube[t])
        for other in moved:
            r[s] -= K[t, other] * (z[other] - start[other])
    diagonal = np.diag(A)[:k].copy()
    for s in range(k):
        A[s, s] += _RIDGE * diagonal.max()
    if equality:
        A[k, :k], A[:k, k] = 1.0, 1.0
    step = np.linalg.solve(A, r)[:k]
    slope, curvature = 0.0, 0.0
    for s in range(k):
        slope += r[s] * step[s]
        row = 0.0
        for other in range(k):
            row += K[free[s], free[other]] * step[other]
        curvature += row * step[s]
    if not slope > 0.0:
        return np.zeros(k)
    return step * min(1.0, slope / curvature) if curvature > 0.0 else step
