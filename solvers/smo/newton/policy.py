"""When a Newton step on all free variables is taken in place of a round of pair steps.

One on half of K takes the place of the rounds in which the free variables are known and the gap falls by
the same share again and again. One in float64 computes all of K and factors it: for the last digits, or
where rounds get nowhere. Costs are counted in values read from memory, 0.2 ns each on one core, and not
measured: with as many threads the same problem takes the same steps on any machine, but for last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from dualgap.problems.dataset import Indices
from dualgap.solvers.smo.newton import MOST_FACTORED

_PATIENCE = 20  # rounds without halving the violation, before a step in float64 is thought of
_SETTLED = 4  # rounds in which the same variables are free, once scores are refined
_LEAST_FREE = 600  # variables: rounds on fewer take no time
_LEAST_ROUNDS = 6  # between two steps on half of K: variables become free in them
_FIRST_GAP = 0.1  # relative, above which too many variables are not yet free, or no longer
_LEAST_GAP = 1e-16  # relative: below, there is nothing to be gained


class NewtonPolicy:
    """What was seen of the rounds so far, and of the Newton steps among them.

    Attributes
    ----------
    begun : whether the free variables are known well enough for steps on half of K.
    left, step, speed : when one was due, by what factor the gap was too large; the step's cost, and how
        many digits (to base e) a unit of it brought in rounds.
    reluctance : what rounds must have cost before the next one, in its own cost.
    rounds, cost, gap : since the last step or look that led to none, and the gap then.
    wait : the cost at which the gap is looked at again.
    futile : steps in float64 since the violation was halved: from some on, float32 is to blame.
    refine_in : rounds until a step in float64 is thought of, as scores were refined; inf for never.
    """

    def __init__(self, begun: bool) -> None:
        """`begun` where the first point is another problem's answer: most free variables are known."""
        self.refine_in, self.free_before = np.inf, np.empty(0, np.int64)
        self.begun, self.left, self.step, self.speed = begun, 1.0, 1.0, 0.0
        self.reluctance = 0.0 if begun else 1.0
        self._count_from(np.inf)
        if begun:
            self.rounds = _LEAST_ROUNDS
        self.begin()

    def _count_from(self, gap: float) -> None:
        self.rounds, self.cost, self.wait, self.gap = 0, 0.0, 0.0, gap

    def begin(self) -> None:
        """Forget the progress of the violation, as the active variables are others."""
        self.best, self.slow, self.futile, self.refining = np.inf, 0, 0, False

    def due(
        self, violation: float, left: float, free: Indices, n: int,
        gap: Callable[[], float] | None, wanted: float | None,
    ) -> Literal["no", "in float64", "on half"]:  # fmt: skip
        """Return which step is to be taken now; if none is, a round is.

        Parameters
        ----------
        violation : of the n active variables. left : by what factor it is still too large.
        free : variables that are free. gap : returns theirs; None where rounds are exact.
        wanted : the gap at which all ends; None where that goes by the violation alone.
        """
        # the approximate inverse; half of K and products with it; the scores of all
        self.step = 50.0 * free.size**1.5 + 10.0 * free.size**2 + 0.75 * free.size * n
        if violation <= 0.5 * self.best:
            self.best, self.slow, self.futile = violation, 0, 0
        self.slow += 1
        if self.slow > _PATIENCE + int(12 * (free.size / 1000) ** 2):  # as long as K takes
            self.slow, self.refining = 0, False
            if free.size <= MOST_FACTORED:
                self.futile += 1
                return "in float64"
            now = np.inf if gap is None else gap()
            if gap is None or self._is_known(now):
                self.gap = now
                return "on half"
        if self.refine_in <= 0:
            same = np.array_equal(free, self.free_before)
            self.refine_in, self.free_before = _SETTLED, free
            # for less than a fifth, a few rounds do
            self.refining = same and left >= 5.0 and free.size <= MOST_FACTORED
            if self.refining:
                return "in float64"
        if gap is not None and self._is_due_on_half(left, free.size, n, gap, wanted):
            return "on half"
        self.rounds, self.refine_in = self.rounds + 1, self.refine_in - 1
        self.cost += 5e6 + 512.0 * n  # rows of a working set, and 1 ms besides
        return "no"

    def _is_due_on_half(
        self, left: float, k: int, n: int, gap: Callable[[], float], wanted: float | None
    ) -> bool:
        """Whether rounds have cost as much as a step, and would cost more to the end."""
        early = self.cost < max(self.wait, self.reluctance * self.step)
        if early or self.rounds < _LEAST_ROUNDS or k < _LEAST_FREE:
            return False
        now, self.wait = max(gap(), _LEAST_GAP), 1.2 * self.cost
        if not self._is_known(now):
            self._count_from(now)
            return False
        speed = max(0.0, np.log(self.gap / now)) / self.cost if np.isfinite(self.gap) else 0.0
        self.left = max(1.0, left if wanted is None else now / wanted)
        due = speed * self.step < np.log(self.left)
        if due:
            self.speed, self.gap = speed, now
        return due

    def _is_known(self, gap: float) -> bool:
        """Whether the variables that are free now are roughly those that will be free at the end."""
        return np.isfinite(gap) if self.begun else gap <= _FIRST_GAP

    def note_step_in_float64(self, free: Indices) -> None:
        """Take note of which variables are free after a step: where none has changed, no other pays."""
        if self.refining and np.array_equal(free, self.free_before):
            self.refine_in = np.inf

    def note_step_on_half(self, gap: float) -> None:
        """Take note of the gap after a step: where rounds brought it down faster, the next one waits."""
        speed = np.log(max(1.0, self.gap / max(gap, _LEAST_GAP))) / self.step
        if speed < 0.7 * self.speed or gap >= self.gap:
            self.reluctance = max(1.0, (4.0 if gap >= self.gap else 2.0) * self.reluctance)
        else:
            self.reluctance = 0.0 if speed > self.speed else max(0.5, 0.5 * self.reluctance)
        self.begun |= gap <= _FIRST_GAP
        self._count_from(gap)
