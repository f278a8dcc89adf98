"""The outermost of SMO's levels: which variables are active, and when enough is known to stop.

until the violation is at most tol:  choose active variables; minimise over them; update all scores
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from problems.dataset import Vector
from problems.forms import BoxQP, Claim, FormPoint
from problems.gram.threads import Threads
from problems.gram.tiles import Tiles
from solvers.numerics.claims import FAR
from solvers.smo.active import Active
from solvers.smo.state import State

_SHARE = 0.1  # of the active variables' violation, at which they are left ...
_SHARE_OF_ALL = 0.4  # ... if that is followed by no more than an evaluation of the gap
_FAINT = 10.0  # times the noise, at which scores are refined: below, noise is solved
_FUTILE = 5  # refreshes without halving the violation, after which it goes on in float64
_PATIENCE = 3  # turns without halving the violation, after which more may be active
_PAUSE = 16  # rounds between two pauses


def minimise(
    form: BoxQP,
    level: type[Active],
    tol: float,
    gap: float | None,
    max_iter: int,
    cache_size: float | None,
) -> Iterator[FormPoint]:
    """Yield every few rounds; `level` minimises over active variables."""

    def points(tiles: Tiles) -> Iterator[FormPoint]:
        state = State(form, tiles, cache_size, max_iter)
        active = level(state)
        try:
            yield from _points(state, active, tol, gap)
        finally:
            state.leave_rows(active.rows)

    threads = Threads()
    with Tiles(form.gram, threads.count) as tiles:
        yield from threads.one_at_a_time(points(tiles))


def _points(state: State, active: Active, tol: float, gap: float | None) -> Iterator[FormPoint]:
    for _ in _improvements(state, active, tol, gap):
        if not state.at_limit:  # the last point comes with a claim
            z = state.z.copy()
            z[active.members] = active.z
            yield _point(state, z, "none")
    # where C is huge, a small violation is no small gap (an infinite one says nothing)
    near = state.solved and not FAR < state.relative_gap() < np.inf
    claim: Claim = "optimal" if near else "stopped"
    yield _point(state, state.z, "infeasible" if state.unbounded else claim)


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
        reached = violation <= tol or (gap is not None and relative_gap <= gap)
        noise = state.noise
        if reached or violation <= _FAINT * noise:
            doubtful = state.doubtful(max(violation, tol) if reached else violation)
            if reached and not doubtful.size:
                state.solved = True
                return
            state.refresh(doubtful)
            exact = state.violation()
            futile += exact > 0.5 * least
            least, best, slow = min(least, exact), np.inf, 0
            active.refine_in = 0
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
        if slow > _PATIENCE or state.crowded():
            slow = 0
            state.grow()
        active.take(state.choose(active.members))
        share = _SHARE if active.members.size < state.variables.n else _SHARE_OF_ALL
        if active.complete and gap is None:
            share = 0.0  # nothing to evaluate before the end
        for count, _ in enumerate(active.reduce(share, max(0.5 * tol, noise))):
            if count and (active.complete or count % _PAUSE == 0):
                yield
        yield from state.absorb(active.members, active.z, active.f, active.b)
        pausing = True


def _point(state: State, z: Vector, claim: Claim) -> FormPoint:
    counters = {
        "newton_steps": state.newton_steps,
        "refreshes": state.refreshes,
        "active": state.size,
        "bits": 8 * state.matrix.dtype.itemsize,
        "cache_size": 1e-6 * state.room * state.matrix.dtype.itemsize,
    }
    x = state.merged.spread(z)
    return FormPoint(x, iterations=state.steps, claim=claim, counters=counters)
