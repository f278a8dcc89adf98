"""Pair steps and Newton steps in one compiled call, for problems whose matrix K is at hand.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

Pair steps (`pairs`) find which variables are free; Newton's step then moves all of them to the minimum
on their face (`solvers.numerics.faces`). They take turns: at first as long as either pays, and once the
violation is at most `tol` until it is at most `fine`. A few hundred variables are solved before SMO has
set up its first product: no threads, no rounds, no choice of what is in memory.
"""

from __future__ import annotations

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.kernels import Block
from solvers.numerics.faces import MOST_FREE, move_on_faces
from solvers.smo.pairs import pair_steps
from solvers.smo.state import slopes

_PATIENCE = 40  # turns without halving the violation
_TURN = (
    100  # pair steps between two Newton steps; at first also half as many as there are variables
)
_STEP, _STEP_OF_EACH = 1e-7, 1e-9  # seconds of a pair step, and for each variable


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
        b, violation = violation_of(f, z, q, tube, lo, hi, equality)
        slow = 0 if violation < 0.5 * best else slow + 1
        best = min(best, violation)
        last = best <= tol  # what is left is to `fine`
        if violation <= (fine if last else tol) or steps >= max_steps or slow > _PATIENCE:
            return b, steps, violation
        if last or taken > 0:
            seconds = np.inf if last else taken * (_STEP + _STEP_OF_EACH * n)
            _newton(K, f, z, q, tube, lo, hi, equality, seconds)
            b, violation = violation_of(f, z, q, tube, lo, hi, equality)
        most = min(max_steps - steps, _TURN if last else max(_TURN, n // 2))
        target = fine if violation <= tol else tol
        taken = _pair_turn(K, f, z, q, tube, lo, hi, equality, b, target, most)
        steps += taken


@numba.njit(cache=True, nogil=True)
def violation_of(
    f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector, equality: bool
) -> tuple[float, float]:
    """Return the multiplier of the equality, and the maximal violating pair."""
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
    # without the equality a violation counts twice, as either end of a pair
    taken, _ = pair_steps(
        K, x, u, low, high, target if equality else 0.5 * target, most, None, None
    )
    for t in range(n):
        z[t] = x[t]
        f[t] = -(u[t] + side[t] + b) - q[t]
    return taken


@numba.njit(cache=True, nogil=True)
def _newton(
    K: Block, f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    equality: bool, seconds: float,
) -> None:  # fmt: skip
    """Move the free variables to the minimum on their face."""
    free, r, low, high = free_of(f, z, q, tube, lo, hi)
    k = free.size
    if k > MOST_FREE:
        return
    A = np.empty((k, k))
    for s in range(k):
        for t in range(k):
            A[s, t] = K[free[s], free[t]]
    moved = z[free]
    move_on_faces(A, r, moved, low, high, equality, seconds)
    for s in range(k):
        change = moved[s] - z[free[s]]
        if change != 0.0:
            f += change * K[free[s], : z.size]
            z[free[s]] = moved[s]


@numba.njit(cache=True, nogil=True)
def free_of(
    f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector
) -> tuple[Indices, Vector, Vector, Vector]:
    """Return which variables are free, with their negative gradients and bounds on their side."""
    free = np.flatnonzero((z > lo) & (z < hi) & ((tube == 0.0) | (z != 0.0)))
    side = np.where(z[free] > 0.0, tube[free], -tube[free])
    r = -(f[free] + q[free]) - side
    low = np.where(side > 0.0, 0.0, lo[free])
    high = np.where(side < 0.0, 0.0, hi[free])
    return free, r, low, high
