"""Pair steps and Newton steps in turn, for problems whose matrix K is at hand.

    min ½zᵀKz + qᵀz + Σ tubeᵢ|zᵢ|  s.t. Σz = delta in each group (or none), lo ≤ z ≤ hi

Pair steps (`pairs`) find which variables are free; Newton's step then moves all of them to their minimum
(`dualgap.solvers.numerics.subspace`). They take turns: at first as long as either pays, and once the
violation is at most `tol` until it is at most `fine`. Some hundred variables are solved before larger
problems have set up their first product: no threads, no rounds, no choice of what is in memory.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP, FormPoint
from dualgap.problems.gram.gram import MOST_KNOWN
from dualgap.problems.kernels import Block
from dualgap.solvers.numerics.claims import FAR, NO_MARGIN, may_claim
from dualgap.solvers.numerics.subspace import MOST_FREE, minimise_on_subspaces
from dualgap.solvers.smo.conditions import free_variables, on_one_side, relative_gap, violation_of
from dualgap.solvers.smo.pairs import pair_steps
from dualgap.solvers.smo.variables import Terms, from_form

MOST = 500  # variables: of more, rows in float32 and on demand are quicker than all of K in float64
_COARSE = 1e-3  # violation from which Newton steps may take longer than pair steps
_TURN = 100  # pair steps between two Newton steps; at first half as many as variables, if more
_SLOW_TURNS = 40  # without halving the violation, after which rounding is what is left
_PAUSE = 10_000  # pair steps between two points, a millisecond or more
_LOOK = 1000  # pair steps between two looks at the gap, where it may end: ten times as long


def is_small(form: BoxQP, cache_size: float | None) -> bool:
    """Whether a problem is solved by all of K, in float64, and there is room for it in megabytes.

    Where somebody has computed all of K already, larger ones are too.
    """
    # of regression's two variables for a sample SMO makes one
    n = form.n if form.groups is not None else max(form.gram.n, form.n // 2)
    most = MOST_KNOWN if form.gram.is_known else MOST
    room = form.gram.is_known or form.gram.fits
    return n <= most and room and (cache_size is None or 8e-6 * n**2 <= cache_size)


def minimise_by_matrix(
    form: BoxQP, tol: float, gap: float | None, max_iter: int
) -> Iterator[FormPoint]:
    """Yield every few thousand steps, and where the violation or the gap is what is wanted."""
    v = from_form(form)
    q, _, lo, hi, _ = terms = v.terms
    K = v.form.gram.dense()
    if not np.array_equal(v.sample, np.arange(len(K))):
        K = K[np.ix_(v.sample, v.sample)]
    if v.scale is not None:
        K = K * (v.scale[:, None] * v.scale)
    K = np.require(K, requirements=["C", "W"])  # as compiled code takes it
    bordered = _bordered(K, terms.groups)
    z, steps, fine = v.start.copy(), 0, tol if gap is None else max(tol, _COARSE)
    best = np.inf
    support = np.flatnonzero(z)
    f = K @ z if 4 * support.size > v.n else z[support] @ K[support]  # the rows are copied
    count = int(terms.groups.max()) + 1
    counters = {"active": v.n, "bits": 64, "cache_size": 8e-6 * v.n**2}
    while True:
        most = min(max_iter - steps, _PAUSE if gap is None else _LOOK)
        _, taken, _, unbounded = minimise_small(
            bordered, z, f, terms, max(fine, _COARSE), fine, most
        )
        steps += taken
        if v.n <= MOST:  # of more it takes as long as the steps
            f = K @ z  # afresh, without the rounding errors of each step
        violation = violation_of(f, z, terms, count)[1]
        gap_now = np.inf if gap is None else relative_gap(v, z, f)
        by_gap = gap is not None and gap_now <= gap
        solved = violation <= tol or by_gap
        # where bounds are far apart, a violation of `tol` is no small gap; for an optimum of 0, none is
        enough = by_gap or (solved and (gap_now > FAR or violation > 0.5 * best))
        if enough or unbounded or steps >= max_iter or (taken == 0 and violation > fine):
            break
        best = min(best, violation)
        if violation <= fine:
            fine = 0.01 * violation if solved else max(tol, 0.01 * violation)
        yield FormPoint(v.to_form(z), iterations=steps, counters=counters)
    # targets that differ in their last digits alone leave f, and with it the gap, unknown
    rounding = np.finfo(float).eps * float((np.abs(f) + np.abs(q)).max() * (hi - lo).sum())
    certain = relative_gap(v, z, f, rounding=rounding)
    x = v.to_form(z)
    solved &= not unbounded
    claim = "optimal" if solved and may_claim(form, x, certain, gap) else "stopped"
    note = NO_MARGIN if unbounded else ""
    yield FormPoint(x, iterations=steps, claim=claim, counters=counters, note=note)


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
    terms = Terms(q, np.full(z.size, float(tube)), lo, hi, groups)
    bordered = _bordered(K, groups)
    b, steps, violation, _ = minimise_small(bordered, z, K @ z, terms, tol, fine, max_steps)
    return z if z.size == n else z[:n] + z[n:], b, steps, violation


def minimise_small(
    K: Block, z: Vector, f: Vector, terms: Terms, tol: float, fine: float, max_steps: int
) -> tuple[Vector, int, float, bool]:
    """Minimise from a feasible `z` (n,) with f = Kz, which are overwritten; `K` is from `_bordered`.

    Returns the multipliers of the equalities, the number of steps, the violation, and whether the last
    pair can move for ever.
    """
    n, count = z.size, int(terms.groups.max()) + 1
    steps, taken, best, slow, unbounded = 0, 0, np.inf, 0, False
    b, violation = violation_of(f, z, terms, count)
    while True:
        slow = 0 if violation < 0.5 * best else slow + 1
        best = min(best, violation)
        last = best <= tol  # what is left is to `fine`
        done = violation <= (fine if last else tol) or steps >= max_steps or unbounded
        if done or slow > _SLOW_TURNS:
            return b, steps, violation, unbounded
        if last or taken > 0:
            seconds = np.inf if last else taken * (1e-7 + 1e-9 * n)  # as long as the pair steps
            _newton(K, f, z, terms, b, seconds)
            b, violation = violation_of(f, z, terms, count)
        taken, target = 0, fine if violation <= tol else tol
        if violation > target:
            most = min(max_steps - steps, _TURN if last else max(_TURN, n // 2))
            taken, unbounded = _pair_turn(K, f, z, terms, b, target, most)
            steps += taken
            b, violation = violation_of(f, z, terms, count)


def _pair_turn(
    K: Block, f: Vector, z: Vector, terms: Terms, b: Vector, target: float, most: int
) -> tuple[int, bool]:
    """Take pair steps on one side of each tube.

    Returns the number of steps, and whether the last pair can move for ever.
    """
    n, groups = z.size, terms.groups
    before, low, high = on_one_side(f, z, terms, b)
    x, u = z.copy(), before.copy()
    if len(K) > n:
        x, u, groups = np.append(x, 0.0), np.append(u, 0.0), np.zeros(n + 1, np.int64)
        low, high = np.append(low, -np.inf), np.append(high, np.inf)
        target *= 0.5  # a violation counts twice there, as either end of a pair
    taken, unbounded = pair_steps(K, x, u, low, high, target, most, groups, None)
    z[:] = x[:n]
    f += before - u[:n]
    return taken, unbounded


def _newton(K: Block, f: Vector, z: Vector, terms: Terms, b: Vector, seconds: float) -> None:
    """Move the free variables to the minimum on their face."""
    free = free_variables(z, terms)
    if not 0 < free.size <= MOST_FREE:
        return
    u, low, high = on_one_side(f, z, terms, b)
    rows, before = K.take(free, 0), z[free]
    A, moved, groups = rows.take(free, 1), before.copy(), terms.groups[free]
    minimise_on_subspaces(A, u[free], moved, low[free], high[free], groups, seconds)
    z[free] = moved
    f += ((moved - before) @ rows)[: f.size]


def compile_newton() -> None:
    """Compile or load a Newton step, which a problem may need or not, whatever its kind."""
    middle, zero, ones = np.full(2, 0.5), np.zeros(2), np.ones(2)
    terms = Terms(zero, zero, zero, ones, np.zeros(2, np.int64))
    _newton(np.eye(2), zero.copy(), middle, terms, np.zeros(1), np.inf)


def _bordered(K: Block, groups: Indices) -> Block:
    """Return K; without an equality with a row of zeros more, of a free variable that all pair with."""
    if groups[0] >= 0:
        return K
    with_zeros = np.zeros((len(K) + 1, len(K) + 1))
    with_zeros[:-1, :-1] = K
    return with_zeros
