"""Pair steps and Newton steps in one compiled call, for problems whose matrix K is at hand.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta in each group (or none), lo ≤ z ≤ hi

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


def solve_small(
    K: Block, q: Vector, tube: float, limits: tuple[Vector, Vector], groups: Indices,
    sums: tuple[float, ...], start: Vector | None, tol: float, fine: float, max_steps: int,
) -> tuple[Vector, Vector, int, float]:  # fmt: skip
    """Minimise with each group's Σz in `sums` (zeros if there is a start), within the limits (lo, hi).

    With 2n groups z is the sum of two variables, one from 0 up and one from 0 down. Returns z, and what
    `minimise_small` does.
    """
    n, (lo, hi) = q.size, limits
    if groups.size > n:
        K, q, nothing = np.tile(K, (2, 2)), np.tile(q, 2), np.zeros(n)
        lo, hi = np.concatenate([nothing, lo]), np.concatenate([hi, nothing])
    z = np.zeros(groups.size) if start is None else start.copy()
    for group, total in enumerate(sums):
        if total != 0.0:  # the first variables at the end away from 0
            own = np.flatnonzero(groups == group)
            room = hi[own] if total > 0 else -lo[own]
            z[own] = np.sign(total) * np.clip(abs(total) - (np.cumsum(room) - room), 0.0, room)
    K = K if groups[0] >= 0 else np.pad(K, (0, 1))
    of_each = np.full(z.size, float(tube))
    b, steps, violation = minimise_small(K, z, q, of_each, lo, hi, groups, tol, fine, max_steps)
    return z if z.size == n else z[:n] + z[n:], b, steps, violation


@numba.njit(cache=True, nogil=True)
def minimise_small(
    K: Block, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    groups: Indices, tol: float, fine: float, max_steps: int,
) -> tuple[Vector, int, float]:  # fmt: skip
    """Minimise from a feasible `z`, which is overwritten.

    Shapes: (n,), and (n, n) for `K`. `groups` has the number of each variable's equality, from 0; or −1
    throughout for none, and K has one more row and column, of zeros. Returns the multipliers of the
    equalities, the number of steps and the violation.
    """
    n = z.size
    f = np.zeros(n)
    for t in np.flatnonzero(z):
        f += z[t] * K[t, :n]
    steps, taken, best, slow = 0, 0, np.inf, 0
    while True:
        b, violation = violation_of(f, z, q, tube, lo, hi, groups)
        slow = 0 if violation < 0.5 * best else slow + 1
        best = min(best, violation)
        last = best <= tol  # what is left is to `fine`
        if violation <= (fine if last else tol) or steps >= max_steps or slow > _PATIENCE:
            return b, steps, violation
        if last or taken > 0:
            seconds = np.inf if last else taken * (_STEP + _STEP_OF_EACH * n)
            _newton(K, f, z, q, tube, lo, hi, groups, seconds)
            b, violation = violation_of(f, z, q, tube, lo, hi, groups)
        most = min(max_steps - steps, _TURN if last else max(_TURN, n // 2))
        target = fine if violation <= tol else tol
        taken = _pair_turn(K, f, z, q, tube, lo, hi, groups, b, target, most)
        steps += taken


@numba.njit(cache=True, nogil=True)
def violation_of(
    f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector, groups: Indices
) -> tuple[Vector, float]:
    """Return the multipliers of the equalities, and the maximal violating pair."""
    up, down = slopes(f, z, q, tube, lo, hi)
    count = groups.max() + 1
    if count == 0:
        return np.zeros(0), 2.0 * max(up.max(), -down.min(), 0.0)
    most, least = np.full(count, -np.inf), np.full(count, np.inf)
    for t in range(z.size):
        most[groups[t]] = max(most[groups[t]], up[t])
        least[groups[t]] = min(least[groups[t]], down[t])
    b = 0.5 * (most + least)
    return np.where(np.isfinite(b), b, 0.0), max(0.0, (most - least).max())


@numba.njit(cache=True, nogil=True)
def _pair_turn(
    K: Block, f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    groups: Indices, b: Vector, target: float, most: int,
) -> int:  # fmt: skip
    """Take pair steps on the side of its tube where each variable is, or to which it is drawn."""
    n = z.size
    size = K.shape[0]  # one more than n without the equality: a free variable to pair with
    x, u = np.zeros(size), np.zeros(size)
    low, high = np.full(size, -np.inf), np.full(size, np.inf)
    side = np.empty(n)
    multiplier = b[groups] if b.size else np.zeros(n)
    for t in range(n):
        slope = -(f[t] + q[t]) - multiplier[t]
        above = z[t] > 0.0 or (z[t] == 0.0 and slope > 0.0)
        side[t] = tube[t] if above else -tube[t]
        x[t], u[t] = z[t], slope - side[t]
        low[t] = 0.0 if tube[t] > 0.0 and above else lo[t]
        high[t] = 0.0 if tube[t] > 0.0 and not above else hi[t]
    # without the equality a violation counts twice, as either end of a pair
    target = target if b.size else 0.5 * target
    if b.size > 1:
        taken, _ = pair_steps(K, x, u, low, high, target, most, groups, None)
    else:
        taken, _ = pair_steps(K, x, u, low, high, target, most, None, None)
    for t in range(n):
        z[t] = x[t]
        f[t] = -(u[t] + side[t] + multiplier[t]) - q[t]
    return taken


@numba.njit(cache=True, nogil=True)
def _newton(
    K: Block, f: Vector, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    groups: Indices, seconds: float,
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
    move_on_faces(A, r, moved, low, high, groups[free], seconds)
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
