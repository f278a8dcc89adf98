"""The outermost of SMO's levels: which variables are active, and when enough is known to stop.

until the violation is at most tol:  choose active variables; minimise over them; update all scores
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
from dualgap.solvers.smo.state import State

_LOOK = 3  # rounds between two looks at the gap, where all variables are active: a tenth of a round each
_FUTILE = 5  # refreshes without halving the violation, after which it goes on in float64


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
        with threads.limited(1):
            state = State(form, tiles, cache_size, max_iter, gap)
            active = Active(state, inner)
        try:
            yield from threads.one_at_a_time(_points(form, state, active, tol, gap))
        finally:
            state.leave_rows(active.rows)


def _points(
    form: BoxQP, state: State, active: Active, tol: float, gap: float | None
) -> Iterator[FormPoint]:
    def point(z: Vector, claim: Claim) -> FormPoint:
        each = state.matrix.dtype.itemsize
        counters = {
            "newton_steps": state.newton_steps,
            "refreshes": state.refreshes,
            "active": state.size,
            "bits": 8 * each,
            "cache_size": 1e-6 * state.room * each,
        }
        x, note = state.merged.spread(z), NO_MARGIN if state.unbounded else ""
        return FormPoint(x, iterations=state.steps, claim=claim, counters=counters, note=note)

    for _ in _improvements(state, active, tol, gap):
        if not state.at_limit:  # the last point comes with a claim
            z = state.z.copy()
            z[active.members] = active.z
            yield point(z, "none")
    # where C is huge, a small violation is no small gap
    x = state.merged.spread(state.z)
    near = state.solved and not state.unbounded and may_claim(form, x, state.relative_gap(), gap)
    yield point(state.z, "optimal" if near else "stopped")


def _improvements(state: State, active: Active, tol: float, gap: float | None) -> Iterator[None]:
    """Run the algorithm until it has come to an end, pausing now and then."""
    best, slow, pausing = np.inf, 0, False
    least, futile = np.inf, 0  # violation that a refresh left; how many did not halve it
    while True:
        violation = state.violation()
        relative_gap = np.inf if gap is None else state.relative_gap()
        # the gap falls faster than the violation, up to as its square
        of_gap = np.inf if gap is None else (max(0.0, relative_gap) / gap) ** 0.75
        state.left = min(violation / tol, of_gap)
        by_gap = gap is not None and relative_gap <= gap
        reached = by_gap or violation <= tol
        noise = state.noise
        if reached or violation <= 10.0 * noise:  # below it, noise is solved
            seen = max(violation, tol) if reached else violation
            doubtful = state.doubtful_for_gap(gap) if gap and by_gap else state.doubtful(seen)
            if reached and not doubtful.size:
                state.solved = True
                return
            yield from state.refresh(doubtful)
            exact = state.violation()
            futile += exact > 0.5 * least
            least, best, slow = min(least, exact), np.inf, 0
            active.policy.refine_in = 0
            continue
        if state.matrix.in_single and (state.stuck or futile > _FUTILE):
            state.leave_rows(active.rows)
            state.work_in_double()
            active.start_with(active.members[:0])
            pausing = False
            continue
        if state.at_limit:
            return
        if pausing:  # not if that was the end: small problems are solved without a pause
            yield
        slow = slow + 1 if violation > 0.5 * best else 0
        best = min(best, violation)
        n, free = state.variables.n, free_variables(state.z, state.variables.terms).size
        if free > 0.6 * state.size and n**2 <= state.room:  # nearly all will be: no row twice
            state.size = n
        elif slow > 3 or 2 * free > state.size:  # fewer rows of more variables can be kept
            slow, state.size = 0, min(n, 2 * state.size)
        active.take(state.choose(active.members))
        # of their violation, at which the active variables are left; earlier, if no more follows than
        # an evaluation of the gap, and not before the end, if not even that
        share = 0.1 if active.members.size < state.variables.n else 0.4
        if active.complete and gap is None:
            share = 0.0
        every = active.members.size == n
        for count, _ in enumerate(active.reduce(share, max(0.5 * tol, noise))):
            if every and gap is not None and count % _LOOK == 0 and active.relative_gap(gap) <= gap:
                break
            if count and (active.complete or count % 16 == 0):
                yield
        yield from state.absorb(active.members, active.z, active.f, active.b)
        pausing = True
