"""Sequential minimal optimisation, in three nested levels.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = sums in each group (or none), lo ≤ z ≤ hi

Up to 500 variables, all of K is computed and compiled code solves the problem (`small`). Above, there
are three levels. All variables: their scores f = Kz show which may still have to move. Active
variables, a few thousand: the problem is solved on these, with their rows of K in memory, before the
other scores are updated (Joachims 1999). Working set, 512 active variables: pairs move along the
equality to the exact minimum in the box (Platt 1998), the pair with the largest second-order gain first
(Fan, Chen & Lin 2005), on a block of K that stays in the processor's cache.

Each level saves work for the one above it, since kernel values dominate the time. They are in float32.
When the violation approaches their rounding errors, and before optimality is claimed, the scores near
the margin are recomputed in float64, and the remaining problem is solved with the same rows. Once the
free variables are few and no longer change, Newton steps in float64 finish; once refreshes stop
helping, all rows are recomputed in float64. The documentation says what each optimisation gains, and on
which data.

Reading order: this file (the outermost loop), `variables` (z and f, and their errors), `active`
(rounds), `matrix` (K and its rows), `newton` (steps on all free variables); compiled are `conditions`
(optimality and the gap) and `pairs` (the innermost loop).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import Claim, FormPoint, KernelQP
from dualgap.problems.gram.threads import Threads
from dualgap.problems.gram.tiles import Tiles
from dualgap.problems.gram.tuning import TUNING as GRAM_TUNING
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import ALL_IN_EQUALITIES
from dualgap.solvers.numerics.claims import NO_MARGIN, may_claim
from dualgap.solvers.numerics.memory import available
from dualgap.solvers.smo.active import Active, Inner, minimise_by_pairs
from dualgap.solvers.smo.conditions import free_variables
from dualgap.solvers.smo.small import compile_newton, minimise_by_matrix
from dualgap.solvers.smo.triangle import compile_triangle
from dualgap.solvers.smo.tuning import TUNING
from dualgap.solvers.smo.variables import Scores, joined


@dataclass(frozen=True)
class SMO(Solver):
    """Second-order SMO for the dual of any piecewise linear loss, with or without equalities.

    Attributes
    ----------
    tol : stop when the violation of the maximal violating pair is at most `tol` (as in LIBSVM); nothing
        is claimed if the relative duality gap still exceeds `gap`, or 1e-2, as it may if C is huge.
    gap : stop also when the relative duality gap is at most `gap`; None disables this. A box with
        infinite bounds has no gap.
    max_iter : number of steps after which to stop without a claim.
    cache_size : megabytes for kernel rows; None for all rows, or half of the available memory. The
        counter of the same name reports the size used.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 10_000_000
    cache_size: float | None = None

    form: ClassVar = KernelQP
    needs: ClassVar = (ALL_IN_EQUALITIES,)
    finest_tol: ClassVar = 0.0  # the gap stops it
    warm_up_size: ClassVar = TUNING.max_one_set + 1
    warm_up_settings: ClassVar = {"tol": 0.1, "gap": 0.1}  # a smaller gap, or None, takes too long
    source: ClassVar[str] = "Platt 1998; Fan, Chen & Lin 2005; Joachims 1999"

    def prepare(self, form: KernelQP) -> KernelQP:
        """Compile the functions that only some problems of a kind need."""
        if is_small(form, self.cache_size):
            compile_newton()
        else:
            compile_triangle()
        return form

    def iterates(self, form: KernelQP) -> Iterator[FormPoint]:
        """Yield a point every few rounds."""
        limits = RunLimits(self.tolerance, self.gap, int(self.max_iter), self.cache_size)
        if is_small(form, self.cache_size):
            yield from Threads().with_one_blas_thread(minimise_by_matrix(form, *limits[:3]))
        else:
            yield from minimise(form, minimise_by_pairs, limits)


def is_small(form: KernelQP, cache_size: float | None) -> bool:
    """Whether all of K, in float64, is to be used and fits in `cache_size` megabytes.

    The size limit is larger if K has already been computed.
    """
    n, is_stored = form.n, form.gram.is_stored
    max_n = GRAM_TUNING.max_dense_samples if is_stored else TUNING.max_small
    fits = cache_size is None or 8e-6 * n**2 <= cache_size
    return n <= max_n and fits and (is_stored or form.gram.fits)


class RunLimits(NamedTuple):
    """When to stop, and the megabytes for kernel rows, see `SMO`."""

    tol: float
    gap: float | None
    max_steps: int
    cache_size: float | None


def minimise(form: KernelQP, inner: Inner, limits: RunLimits) -> Iterator[FormPoint]:
    """Yield every few rounds; `inner` minimises over a working set."""
    threads = Threads()
    with Tiles(form.gram, threads.count) as tiles:
        with threads.limited(1):
            run = Decomposition(form, inner, tiles, limits)
        yield from threads.with_one_blas_thread(run.points())


class Decomposition:
    """The outermost loop, with a record of its progress.

    Until the violation is at most tol, and the gap, if there is one, at most its target: choose active
    variables; minimise over them; update all scores.

    Attributes
    ----------
    scores, active : all variables, and those that may move at present.
    violation, relative_gap : of all variables; the gap is infinite unless it decides when to stop.
    smallest, stalled : the smallest violation since a refresh; iterations that did not halve it.
    refreshed, futile : the smallest violation after a refresh; refreshes that did not halve it.
    settled : the violation when it was last at most `tol` although the gap missed its target.
    """

    def __init__(self, form: KernelQP, inner: Inner, tiles: Tiles, limits: RunLimits) -> None:
        self.form, (self.tol, self.gap, max_steps, self.cache_size) = form, limits
        self.scores = Scores(joined(form), tiles)
        self.active = Active(self.scores, inner, max_steps, self.gap)
        self.violation = self.relative_gap = self.smallest = self.refreshed = np.inf
        self.settled, self.stalled, self.futile = np.inf, 0, 0
        self.solved = False
        self._start()

    def _start(self) -> None:
        """Choose the number of cached values and of active variables, none of which are yet active."""
        n, each, active = self.scores.n, self.scores.matrix.dtype.itemsize, self.active
        max_values = n**2
        if self.cache_size is not None:
            max_values = int(self.cache_size * 1e6 / each)
        elif each * n**2 > TUNING.max_unchecked_bytes:
            max_values = available() // 2 // each
        active.capacity = capacity = max(1, min(n**2, max_values))
        # more become active only when that turns out to be necessary
        active.size = max(2, min(n, TUNING.max_first_active, int(capacity**0.5)))
        if n**2 <= min(TUNING.max_all_active_bytes // each, capacity):
            active.size = n
        active.start_with(np.empty(0, np.int64))

    def points(self) -> Iterator[FormPoint]:
        """Yield points; the last one comes with a claim."""
        scores, active = self.scores, self.active
        try:
            for _ in self._improvements():
                if not active.at_limit:
                    z = scores.z.copy()
                    z[active.members] = active.z
                    yield self._point(z, "none")
            # if C is huge, the gap may be large although the violation is small
            x, gap = scores.variables.to_original(scores.z), scores.relative_gap()
            solved = self.solved and not active.unbounded
            solved = solved and may_claim(self.form, x, gap, self.gap)
            note = NO_MARGIN if active.unbounded else ""
            if self.gap is not None and active.stuck and np.isfinite(self.settled):
                note = note or (
                    f"the violation is at most tol, but the relative gap of {gap:.2g} exceeds its "
                    f"target of {self.gap:.2g}, and rounding permits no further progress"
                )
            yield self._point(scores.z, "optimal" if solved else "stopped", note)
        finally:
            active.leave_rows()

    def _point(self, z: Vector, claim: Claim, note: str = "") -> FormPoint:
        active, each = self.active, self.scores.matrix.dtype.itemsize
        counters = {
            "newton_steps": active.newton_steps,
            "refreshes": self.scores.refreshes,
            "active": active.size,
            "bits": 8 * each,
            "cache_size": 1e-6 * active.capacity * each,
        }
        x = self.scores.variables.to_original(z)
        return FormPoint(x, iterations=active.steps, claim=claim, counters=counters, note=note)

    def _improvements(self) -> Iterator[None]:
        """Run the algorithm to its end, pausing now and then."""
        scores, active, pausing = self.scores, self.active, False
        while True:
            reached = self._is_reached()
            # below its noise, steps would only fit rounding errors
            if reached or self.violation <= 10.0 * scores.noise:
                doubtful = self._doubtful(reached)
                if reached and not doubtful.size:
                    self.solved = True
                    return
                yield from self._refresh(doubtful)
            elif scores.matrix.in_single and (active.stuck or self.futile > TUNING.max_futile):
                active.leave_rows()
                scores.switch_to_float64()
                self._start()
                active.stuck = pausing = False
            elif active.at_limit:
                return
            else:
                if pausing:  # not before the first pass: small problems are solved without a pause
                    yield
                self._set_size()
                active.take(self._next_members())
                yield from self._reduce()
                yield from scores.absorb(active.members, active.z, active.f, active.b)
                pausing = True

    def _is_reached(self) -> bool:
        """Whether the gap, or else the violation, is small enough; a missed gap lowers the tolerance.

        Small violations do not bound the gap if boxes are wide: then it decides, as long as the
        violation still falls.
        """
        active, gap = self.active, self.gap
        self.violation = self.scores.violation()
        if gap is None:
            return self.violation <= self.tol
        self.relative_gap = self.scores.relative_gap()
        by_gap = self.relative_gap <= gap and not self._lower_target(gap)
        is_small = self.violation <= self.tol
        if is_small and self.violation > 0 and not by_gap and np.isfinite(self.relative_gap):
            active.is_settled = True
            active.stuck |= not self.scores.matrix.in_single and self.violation > 0.5 * self.settled
            self.settled = min(self.settled, self.violation)
            self.tol, is_small = 0.1 * self.violation, False
        return by_gap or is_small

    def _lower_target(self, gap: float) -> bool:
        """Lower the gap at which rounds stop by its rounding error, if that is small; whether it was.

        A few more rounds cost less than a refresh.
        """
        bound = self.scores.relative_gap(self.scores.error_of_gap())
        error = bound - self.relative_gap
        final = self.active.at_limit or self.violation <= self.tol
        if final or bound <= 1.1 * gap or error >= 0.5 * gap:
            return False
        self.active.target_gap = 1.05 * gap - error
        return True

    def _doubtful(self, reached: bool) -> Indices:
        """Return the variables whose scores may be too inexact at the current accuracy."""
        if self.gap and self.relative_gap <= self.gap:
            return self.scores.doubtful_for_gap(self.gap)
        return self.scores.doubtful(max(self.violation, self.tol) if reached else self.violation)

    def _refresh(self, doubtful: Indices) -> Iterator[None]:
        yield from self.scores.refresh(doubtful)
        exact = self.scores.violation()
        self.futile += exact > 0.5 * self.refreshed
        self.refreshed = min(self.refreshed, exact)
        self.smallest, self.stalled = np.inf, 0
        self.active.target_gap = self.gap
        self.active.search.exact.rounds_left = 0

    def _set_size(self) -> None:
        """Let more variables become active if most active ones are free, or progress is slow."""
        active, n = self.active, self.scores.n
        self.stalled = self.stalled + 1 if self.violation > 0.5 * self.smallest else 0
        self.smallest = min(self.smallest, self.violation)
        free = free_variables(self.scores.z, self.scores.terms).size
        if free > 0.6 * active.size and n**2 <= active.capacity:  # soon all: compute no row twice
            active.size = n
        elif self.stalled > 3 or 2 * free > active.size:  # more variables, fewer rows in the cache
            self.stalled, active.size = 0, min(n, 2 * active.size)

    def _next_members(self) -> Indices:
        """Return the next active variables: the same, if no other variable violates its condition.

        A few violators replace the members farthest from violating. If there are many, all members are
        chosen again: the worst on either side, random violators, then those closest to violating.
        """
        active, scores = self.active, self.scores
        members, n, size = active.members, scores.n, active.size
        if size >= n:
            return members if members.size == n else np.arange(n)
        nearness = scores.nearness()
        outside = np.ones(n, np.bool_)
        outside[members] = False
        violating = np.flatnonzero(outside & (nearness > 0))
        if members.size == size and violating.size <= size // 4:
            if not violating.size:
                return members
            stay = np.argpartition(nearness[members], violating.size)[violating.size :]
            return np.concatenate([members[stay], violating])
        chosen = np.zeros(n, np.bool_)
        b = scores.b[scores.terms.groups]
        for slope in (scores.up - b, b - scores.down):
            chosen[np.argpartition(slope, n - size // 32 - 1)[n - size // 32 :]] = True
        violating = np.flatnonzero(nearness > 0)
        if violating.size > size // 2:
            violating = active.rng.choice(violating, size // 2, replace=False)
        chosen[violating] = True
        nearness[chosen] = -np.inf
        excluded = n - size + int(chosen.sum())
        chosen[np.argpartition(nearness, excluded)[excluded:]] = True
        return np.flatnonzero(chosen)

    def _reduce(self) -> Iterator[None]:
        """Minimise over the active variables, to a fraction of their violation.

        That is larger if only the gap has to be evaluated afterwards, and 0 if not even that.
        """
        active, gap = self.active, self.active.target_gap
        all_active = active.members.size == self.scores.n
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
