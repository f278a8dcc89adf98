"""SMO's outermost level: choose the active variables, and decide when to stop.

Until the violation is at most tol, and the gap, if there is one, at most its target: choose active
variables; minimise over them; update all scores.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import Claim, FormPoint, KernelQP
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.numerics.claims import NO_MARGIN, may_claim
from dualgap.solvers.smo.active import Active, Inner
from dualgap.solvers.smo.conditions import free_variables
from dualgap.solvers.smo.state import SMOState
from dualgap.solvers.smo.tuning import TUNING


def minimise(
    form: KernelQP,
    inner: Inner,
    tol: float,
    gap: float | None,
    max_iter: int,
    cache_size: float | None,
) -> Iterator[FormPoint]:
    """Yield every few rounds; `inner` minimises over a working set."""
    threads = Threads()
    with Tiles(form.gram, threads.count) as tiles:
        run = Decomposition(form, inner, tiles, tol, gap, max_iter, cache_size)
        yield from threads.with_one_blas_thread(run.points())


class Decomposition:
    """The outermost loop, and what it remembers of its progress.

    Attributes
    ----------
    violation, relative_gap : of all variables; the gap is infinite unless it decides when to stop.
    smallest, stalled : the smallest violation since a refresh; iterations that did not halve it.
    refreshed, futile : the smallest violation after a refresh; refreshes that did not halve it.
    settled : the violation when it was last at most `tol` although the gap missed its target.
    """

    def __init__(
        self,
        form: KernelQP,
        inner: Inner,
        tiles: Tiles,
        tol: float,
        gap: float | None,
        max_iter: int,
        cache_size: float | None,
    ) -> None:
        self.form, self.inner, self.tiles, self.tol, self.gap = form, inner, tiles, tol, gap
        self.limits = cache_size, max_iter
        self.violation = self.relative_gap = self.smallest = self.refreshed = np.inf
        self.settled, self.stalled, self.futile = np.inf, 0, 0

    def points(self) -> Iterator[FormPoint]:
        """Yield points; the last one comes with a claim."""
        state = self.state = SMOState(self.form, self.tiles, *self.limits, self.gap)
        active, self.scores = Active(state, self.inner), state.scores
        self.active = active
        try:
            for _ in self._improvements():
                if not state.at_limit:
                    z = self.scores.z.copy()
                    z[active.members] = active.z
                    yield self._point(z, "none")
            # if C is huge, the gap may be large although the violation is small
            x, gap = state.joined.to_original(self.scores.z), self.scores.relative_gap()
            solved = state.solved and not state.unbounded
            solved = solved and may_claim(self.form, x, gap, self.gap)
            note = NO_MARGIN if state.unbounded else ""
            if self.gap is not None and state.stuck and np.isfinite(self.settled):
                note = note or (
                    f"the violation is at most tol, but the relative gap of {gap:.2g} exceeds its "
                    f"target of {self.gap:.2g}, and rounding permits no further progress"
                )
            yield self._point(self.scores.z, "optimal" if solved else "stopped", note)
        finally:
            state.leave_rows(active.rows)

    def _point(self, z: Vector, claim: Claim, note: str = "") -> FormPoint:
        state, each = self.state, self.scores.matrix.dtype.itemsize
        counters = {
            "newton_steps": state.newton_steps,
            "refreshes": self.scores.refreshes,
            "active": state.size,
            "bits": 8 * each,
            "cache_size": 1e-6 * state.capacity * each,
        }
        x = state.joined.to_original(z)
        return FormPoint(x, iterations=state.steps, claim=claim, counters=counters, note=note)

    def _improvements(self) -> Iterator[None]:
        """Run the algorithm to its end, pausing now and then."""
        state, active, pausing = self.state, self.active, False
        while True:
            reached = self._is_reached()
            # below its noise, steps would only fit rounding errors
            if reached or self.violation <= 10.0 * self.scores.noise:
                doubtful = self._doubtful(reached)
                if reached and not doubtful.size:
                    state.solved = True
                    return
                yield from self._refresh(doubtful)
            elif self.scores.matrix.in_single and (state.stuck or self.futile > TUNING.max_futile):
                state.leave_rows(active.rows)
                state.switch_to_float64()
                active.start_with(active.members[:0])
                pausing = False
            elif state.at_limit:
                return
            else:
                if pausing:  # not before the first pass: small problems are solved without a pause
                    yield
                self._set_size()
                active.take(active.next_members())
                yield from self._reduce()
                yield from self.scores.absorb(active.members, active.z, active.f, active.b)
                pausing = True

    def _is_reached(self) -> bool:
        """Whether the gap, or else the violation, is small enough; a missed gap lowers the tolerance.

        Small violations do not bound the gap if boxes are wide: then it decides, as long as the
        violation still falls.
        """
        state, gap = self.state, self.gap
        self.violation = self.scores.violation()
        if gap is None:
            state.violation_factor = self.violation / self.tol
            return self.violation <= self.tol
        self.relative_gap = self.scores.relative_gap()
        by_gap = self.relative_gap <= gap
        is_small = self.violation <= self.tol
        if is_small and not by_gap and np.isfinite(self.relative_gap):
            state.is_settled = True
            state.stuck |= not self.scores.matrix.in_single and self.violation > 0.5 * self.settled
            self.settled = min(self.settled, self.violation)
            self.tol, is_small = 0.1 * self.violation, False
        # the gap falls faster than the violation, at most like its square
        gap_factor = (max(0.0, self.relative_gap) / gap) ** 0.75
        state.violation_factor = min(self.violation / max(self.tol, 1e-300), gap_factor)
        return by_gap or is_small

    def _doubtful(self, reached: bool) -> Indices:
        """Return the variables whose scores may be too inexact for what has been reached."""
        if self.gap and self.relative_gap <= self.gap:
            return self.scores.doubtful_for_gap(self.gap)
        return self.scores.doubtful(max(self.violation, self.tol) if reached else self.violation)

    def _refresh(self, doubtful: Indices) -> Iterator[None]:
        yield from self.scores.refresh(doubtful)
        exact = self.scores.violation()
        self.futile += exact > 0.5 * self.refreshed
        self.refreshed = min(self.refreshed, exact)
        self.smallest, self.stalled = np.inf, 0
        self.active.search.exact.rounds_left = 0

    def _set_size(self) -> None:
        """Let more variables become active if most active ones are free, or progress is slow."""
        state, n = self.state, self.state.n
        self.stalled = self.stalled + 1 if self.violation > 0.5 * self.smallest else 0
        self.smallest = min(self.smallest, self.violation)
        free = free_variables(self.scores.z, self.scores.terms).size
        if free > 0.6 * state.size and n**2 <= state.capacity:  # soon all: compute no row twice
            state.size = n
        elif self.stalled > 3 or 2 * free > state.size:  # more variables, fewer rows in the cache
            self.stalled, state.size = 0, min(n, 2 * state.size)

    def _reduce(self) -> Iterator[None]:
        """Minimise over the active variables, to a fraction of their violation.

        That is larger if only the gap has to be evaluated afterwards, and 0 if not even that.
        """
        active, gap = self.active, self.gap
        all_active = active.members.size == self.state.n
        fraction = 0.4 if all_active else 0.1
        if active.complete and gap is None:
            fraction = 0.0
        target = max(0.5 * self.tol, self.scores.noise)
        for count, _ in enumerate(active.reduce(fraction, target)):
            look = all_active and count % 3 == 0  # the gap costs a tenth of a round
            if look and gap is not None and active.relative_gap(gap) <= gap:
                return
            if count and (active.complete or count % 16 == 0):
                yield
