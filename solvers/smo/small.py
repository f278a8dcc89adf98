"""Pair steps and Newton steps in one compiled call, for problems whose matrix K is at hand.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta in each group (or none), lo ≤ z ≤ hi

Pair steps (`pairs`) find which variables are free; Newton's step then moves all of them to their minimum
(`solvers.numerics.subspace`). They take turns: at first as long as either pays, and once the violation
is at most `tol` until it is at most `fine`. Some hundred variables are solved before larger problems
have set up their first product: no threads, no rounds, no choice of what is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.forms import BoxQP, FormPoint
from problems.kernels import Block
from solvers.numerics.claims import FAR
from solvers.numerics.subspace import MOST_FREE, minimise_on_subspaces
from solvers.smo.pairs import pair_steps
from solvers.smo.state import relative_gap, slopes
from solvers.smo.variables import Variables, from_form

MOST = 500  # variables: of more, rows in float32 and on demand are quicker than all of K in float64
_COARSE = 1e-3  # violation from which Newton steps may take longer than pair steps
_TURN = (
    100  # pair steps between two Newton steps; at first also half as many as there are variables
)
_PAUSE = 10_000  # pair steps between two points, a millisecond or more


def is_small(form: BoxQP, cache_size: float | None) -> bool:
    """Whether a problem is solved by all of K, in float64, and there is room for it in megabytes."""
    # of regression's two variables for a sample SMO makes one
    n = form.n if form.groups is not None else max(form.gram.n, form.n // 2)
    return n <= MOST and (cache_size is None or 8e-6 * n**2 <= cache_size)


def minimise_by_matrix(
    form: BoxQP, tol: float, gap: float | None, max_iter: int
) -> Iterator[FormPoint]:
    """Yield every few thousand steps, and where the violation or the gap is what is wanted."""
    v = from_form(form)
    K, groups = matrix_of(v), np.full(v.n, -1) if form.a is None else np.zeros(v.n, np.int64)
    groups = groups if v.groups is None else v.groups.astype(np.int64)
    bordered = K if groups[0] >= 0 else np.pad(K, (0, 1))
    problem = v.q, v.tube, v.lo, v.hi, groups
    z, steps, fine = v.start.copy(), 0, tol if gap is None else max(tol, _COARSE)
    counters = {"active": v.n, "bits": 64, "cache_size": 8e-6 * v.n**2}
    while True:
        most = min(max_iter - steps, _PAUSE)
        coarse = max(fine, _COARSE)
        _, taken, _, unbounded = minimise_small(bordered, z, *problem, coarse, fine, most)
        steps += taken
        f = K @ z  # afresh, without the rounding errors of each step
        b, violation = violation_of(f, z, *problem)
        relative = relative_gap(v, z, f, b[groups] if b.size else 0.0)
        solved = violation <= tol or (gap is not None and relative <= gap)
        if solved or unbounded or steps >= max_iter or (taken == 0 and violation > fine):
            break
        fine = max(tol, 0.01 * violation) if violation <= fine else fine
        yield FormPoint(v.to_form(z), iterations=steps, counters=counters)
    # targets that differ in their last digits alone leave f, and with it the gap, unknown
    rounding = np.finfo(float).eps * float((np.abs(f) + np.abs(v.q)).max() * (v.hi - v.lo).sum())
    certain = relative_gap(v, z, f, b[groups] if b.size else 0.0, rounding=rounding)
    claim = "optimal" if solved and not FAR < certain < np.inf else "stopped"
    claim = "infeasible" if unbounded else claim
    yield FormPoint(v.to_form(z), iterations=steps, claim=claim, counters=counters)


def matrix_of(v: Variables) -> Block:
    """Return K between variables, as compiled code takes it."""
    K = v.form.gram.dense()
    if not np.array_equal(v.sample, np.arange(len(K))):
        K = K[np.ix_(v.sample, v.sample)]
    if v.scale is not None:
        K = K * (v.scale[:, None] * v.scale)
    return np.require(K, requirements=["C", "W"])


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
    b, steps, violation, _ = minimise_small(K, z, q, of_each, lo, hi, groups, tol, fine, max_steps)
    return z if z.size == n else z[:n] + z[n:], b, steps, violation


@numba.njit(cache=True, nogil=True)
def minimise_small(
    K: Block, z: Vector, q: Vector, tube: Vector, lo: Vector, hi: Vector,
    groups: Indices, tol: float, fine: float, max_steps: int,
) -> tuple[Vector, int, float, bool]:  # fmt: skip
    """Minimise from a feasible `z`, which is overwritten.

    Shapes: (n,), and (n, n) for `K`. `groups` has the number of each variable's equality, from 0; or −1
    throughout for none, and K has one more row and column, of zeros. Returns the multipliers of the
    equalities, the number of steps, the violation, and whether the last pair can move for ever.
    """
    n = z.size
    f = np.zeros(n)
    for t in np.flatnonzero(z):
        f += z[t] * K[t, :n]
    steps, taken, best, slow, unbounded = 0, 0, np.inf, 0, False
    while True:
        b, violation = violation_of(f, z, q, tube, lo, hi, groups)
        slow = 0 if violation < 0.5 * best else slow + 1
        best = min(best, violation)
        last = best <= tol  # what is left is to `fine`
        done = violation <= (fine if last else tol) or steps >= max_steps or unbounded
        if done or slow > 40:  # turns without halving the violation
            return b, steps, violation, unbounded
        if last or taken > 0:
            seconds = np.inf if last else taken * (1e-7 + 1e-9 * n)  # as long as the pair steps
            _newton(K, f, z, q, tube, lo, hi, groups, seconds)
            b, violation = violation_of(f, z, q, tube, lo, hi, groups)
        most = min(max_steps - steps, _TURN if last else max(_TURN, n // 2))
        target = fine if violation <= tol else tol
        taken, unbounded = _pair_turn(K, f, z, q, tube, lo, hi, groups, b, target, most)
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
) -> tuple[int, bool]:  # fmt: skip
    """Take pair steps on the side of its tube where each variable is, or to which it is drawn.

    Returns the number of steps, and whether the last pair can move for ever.
    """
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
        taken, unbounded = pair_steps(K, x, u, low, high, target, most, groups, None)
    else:
        taken, unbounded = pair_steps(K, x, u, low, high, target, most, None, None)
    for t in range(n):
        z[t] = x[t]
        f[t] = -(u[t] + side[t] + multiplier[t]) - q[t]
    return taken, unbounded


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
    minimise_on_subspaces(A, r, moved, low, high, groups[free], seconds)
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
