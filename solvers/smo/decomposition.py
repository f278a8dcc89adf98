"""SMO's outermost level: choose the active variables, and decide when to stop.

Until the violation is at most tol: choose active variables; minimise over them; update all scores
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.numerics.claims import NO_MARGIN, may_claim
from dualgap.solvers.smo.active import Active, Inner
from dualgap.solvers.smo.conditions import free_variables
from dualgap.solvers.smo.state import SMOState

_ROUNDS_PER_GAP = 3  # rounds between evaluations of the gap, which cost a tenth of a round each
_FUTILE = 5  # refreshes without halving the violation, after which to continue in float64


def minimise(
    form: BoxQP,
    inner: Inner,
    tol: float,
    gap: float | None,
    max_iter: int,
    cache_size: float | None,
) -> Iterator[FormPoint]:
    """Yield every few rounds; `inner` minimises over a working set."""

    threads = Threads()
    with Tiles(form.gram, threads.count) as tiles:
        points = _points(form, inner, tiles, tol, gap, max_iter, cache_size)
        yield from threads.with_one_blas_thread(points)


def _points(
    form: BoxQP,
    inner: Inner,
    tiles: Tiles,
    tol: float,
    gap: float | None,
    max_iter: int,
    cache_size: float | None,
) -> Iterator[FormPoint]:
    state = SMOState(form, tiles, cache_size, max_iter, gap)
    active = Active(state, inner)

    def point(z: Vector, claim: Claim) -> FormPoint:
        each = state.matrix.dtype.itemsize
        counters = {
            "newton_steps": state.newton_steps,
            "refreshes": state.refreshes,
            "active": state.size,
            "bits": 8 * each,
            "cache_size": 1e-6 * state.capacity * each,
        }
        x, note = state.joined.to_form(z), NO_MARGIN if state.unbounded else ""
        return FormPoint(x, iterations=state.steps, claim=claim, counters=counters, note=note)

    for _ in _improvements(state, active, tol, gap):
        if not state.at_limit:  # the last point comes with a claim
            z = state.z.copy()
            z[active.members] = active.z
            yield point(z, "none")
    # if C is huge, the gap may be large although the violation is small
    x = state.joined.to_form(state.z)
    solved = state.solved and not state.unbounded and may_claim(form, x, state.relative_gap(), gap)
    yield point(state.z, "optimal" if solved else "stopped")


def _improvements(state: SMOState, active: Active, tol: float, gap: float | None) -> Iterator[None]:
    """Run the algorithm to its end, pausing now and then."""
    best, stalled, pausing = np.inf, 0, False
    refreshed, futile = np.inf, 0  # smallest violation after a refresh; refreshes not halving it
    while True:
        violation = state.violation()
        relative_gap = np.inf if gap is None else state.relative_gap()
        # the gap falls faster than the violation, at most like its square
        gap_factor = np.inf if gap is None else (max(0.0, relative_gap) / gap) ** 0.75
        state.violation_factor = min(violation / tol, gap_factor)
        by_gap = gap is not None and relative_gap <= gap
        reached = by_gap or violation <= tol
        noise = state.noise
        if reached or violation <= 10.0 * noise:  # below, steps would only fit the noise
            level = max(violation, tol) if reached else violation
            doubtful = state.doubtful_for_gap(gap) if gap and by_gap else state.doubtful(level)
            if reached and not doubtful.size:
                state.solved = True
                return
            yield from state.refresh(doubtful)
            exact = state.violation()
            futile += exact > 0.5 * refreshed
            refreshed, best, stalled = min(refreshed, exact), np.inf, 0
            active.search.exact.rounds_left = 0
            continue
        if state.matrix.in_single and (state.stuck or futile > _FUTILE):
            state.leave_rows(active.rows)
            state.switch_to_float64()
            active.start_with(active.members[:0])
            pausing = False
            continue
        if state.at_limit:
            return
        if pausing:  # not before the first pass: small problems are solved without a pause
            yield
        stalled = stalled + 1 if violation > 0.5 * best else 0
        best = min(best, violation)
        n, free = state.variables.n, free_variables(state.z, state.variables.terms).size
        if free > 0.6 * state.size and n**2 <= state.capacity:  # soon all: compute no row twice
            state.size = n
        elif stalled > 3 or 2 * free > state.size:  # more variables, fewer rows in the cache
            stalled, state.size = 0, min(n, 2 * state.size)
        active.take(state.choose(active.members))
        # Fraction of their violation at which to stop on the active variables: earlier if only the gap
        # has to be evaluated afterwards, and not before the target if not even that.
        fraction = 0.1 if active.members.size < state.variables.n else 0.4
        if active.complete and gap is None:
            fraction = 0.0
        all_active = active.members.size == n
        for count, _ in enumerate(active.reduce(fraction, max(0.5 * tol, noise))):
            look = all_active and count % _ROUNDS_PER_GAP == 0
            if look and gap is not None and active.relative_gap(gap) <= gap:
                break
            if count and (active.complete or count % 16 == 0):
                yield
        yield from state.absorb(active.members, active.z, active.f, active.b)
        pausing = True
