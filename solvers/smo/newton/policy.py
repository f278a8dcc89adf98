"""When to take a Newton step on all free variables instead of a round of pair steps.

An approximate step, on the lower triangle of K, replaces the rounds in which the free variables are
known and the gap falls by a constant factor. An exact step computes all of K in float64 and factors it:
for the last digits, or if rounds make no progress. Costs are counted in values read from memory, 0.2 ns
each on one core, not measured: with the same number of threads a problem takes the same steps on any
machine, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dualgap.problems.dataset import Indices
from dualgap.solvers.smo.newton import MAX_FACTORED

_PATIENCE = 20  # rounds without halving the violation, before an exact step is considered
_SETTLED_ROUNDS = 4  # rounds with the same free variables, after a refresh, before an exact step
_LEAST_FREE = 600  # free variables; with fewer, rounds take almost no time
_MIN_ROUNDS = 6  # between approximate steps: in them variables become free
_MAX_START_GAP = 0.1  # relative gap; above, the free variables are not those of the optimum
_MIN_GAP = 1e-16  # relative gap; below, nothing can be gained


class NewtonPolicy:
    """Chooses between rounds and Newton steps by their progress so far.

    Attributes
    ----------
    free_known : whether the free variables are known well enough for approximate steps.
    gap_factor, step_cost, speed : when an approximate step was last due, the factor by which the gap was
        too large; the step's cost; and the decrease of log(gap) per unit of cost in rounds.
    backoff : cost of rounds required before the next approximate step, relative to its cost.
    rounds, cost, gap : rounds and their cost since `gap` was recorded, at a step or a rejected one.
    wait : cost at which the gap is evaluated again.
    futile : exact steps since the violation was halved; after several, float32 rows limit progress.
    refine_in : rounds after a refresh until an exact step is considered; inf for never.
    """

    def __init__(self, free_known: bool) -> None:
        """Expect most free variables to be known if the start is another answer."""
        self.refine_in, self.free_before = np.inf, np.empty(0, np.int64)
        self.free_known, self.gap_factor, self.step_cost, self.speed = free_known, 1.0, 1.0, 0.0
        self.backoff = 0.0 if free_known else 1.0
        self._count_from(np.inf)
        if free_known:
            self.rounds = _MIN_ROUNDS
        self.reset_progress()

    def _count_from(self, gap: float) -> None:
        self.rounds, self.cost, self.wait, self.gap = 0, 0.0, 0.0, gap

    def reset_progress(self) -> None:
        """Forget the progress of the violation, as the active variables have changed."""
        self.best, self.stalled, self.futile, self.refining = np.inf, 0, 0, False

    def due(
        self, violation: float, gap_factor: float, free: Indices, n: int,
        gap: Callable[[], float] | None, target_gap: float | None,
    ) -> Literal["no", "exact", "approximate"]:  # fmt: skip
        """Return which Newton step to take now; "no" calls for a round.

        Parameters
        ----------
        violation : of the n active variables. gap_factor : the factor by which it is still too large.
        free : the free variables. gap : evaluates the relative gap; None if rounds are exact.
        target_gap : the gap at which to stop; None to stop by the violation alone.
        """
        # approximate inverse + triangle of K and products with it + update of all scores
        self.step_cost = 50.0 * free.size**1.5 + 10.0 * free.size**2 + 0.75 * free.size * n
        if violation <= 0.5 * self.best:
            self.best, self.stalled, self.futile = violation, 0, 0
        self.stalled += 1
        # computing K takes as long as the rounds added for many free variables
        if self.stalled > _PATIENCE + int(12 * (free.size / 1000) ** 2):
            self.stalled, self.refining = 0, False
            if free.size <= MAX_FACTORED:
                self.futile += 1
                return "exact"
            now = np.inf if gap is None else gap()
            if gap is None or self._is_free_set_known(now):
                self.gap = now
                return "approximate"
        if self.refine_in <= 0:
            same = np.array_equal(free, self.free_before)
            self.refine_in, self.free_before = _SETTLED_ROUNDS, free
            # for a factor below five, a few rounds suffice
            self.refining = same and gap_factor >= 5.0 and free.size <= MAX_FACTORED
            if self.refining:
                return "exact"
        if gap is not None and self._is_approximate_due(gap_factor, free.size, n, gap, target_gap):
            return "approximate"
        self.rounds, self.refine_in = self.rounds + 1, self.refine_in - 1
        self.cost += 5e6 + 512.0 * n  # rows of a working set, plus 1 ms
        return "no"

    def _is_approximate_due(
        self, gap_factor: float, k: int, n: int, gap: Callable[[], float], target_gap: float | None
    ) -> bool:
        """Whether rounds have cost as much as a step, and would cost more until the end."""
        early = self.cost < max(self.wait, self.backoff * self.step_cost)
        if early or self.rounds < _MIN_ROUNDS or k < _LEAST_FREE:
            return False
        now, self.wait = max(gap(), _MIN_GAP), 1.2 * self.cost
        if not self._is_free_set_known(now):
            self._count_from(now)
            return False
        speed = max(0.0, np.log(self.gap / now)) / self.cost if np.isfinite(self.gap) else 0.0
        self.gap_factor = max(1.0, gap_factor if target_gap is None else now / target_gap)
        due = speed * self.step_cost < np.log(self.gap_factor)
        if due:
            self.speed, self.gap = speed, now
        return due

    def _is_free_set_known(self, gap: float) -> bool:
        """Whether the current free variables are roughly those of the optimum."""
        return np.isfinite(gap) if self.free_known else gap <= _MAX_START_GAP

    def note_exact_step(self, free: Indices) -> None:
        """Record the free variables after an exact step: if unchanged, no further one is worthwhile."""
        if self.refining and np.array_equal(free, self.free_before):
            self.refine_in = np.inf

    def note_approximate_step(self, gap: float) -> None:
        """Record the gap after an approximate step; if rounds were faster, wait longer for the next."""
        speed = np.log(max(1.0, self.gap / max(gap, _MIN_GAP))) / self.step_cost
        if speed < 0.7 * self.speed or gap >= self.gap:
            self.backoff = max(1.0, (4.0 if gap >= self.gap else 2.0) * self.backoff)
        else:
            self.backoff = 0.0 if speed > self.speed else max(0.5, 0.5 * self.backoff)
        self.free_known |= gap <= _MAX_START_GAP
        self._count_from(gap)
