"""When a Newton step on all free variables is taken in place of a round of pair steps.

One in float64 computes K among the free variables, some fifteen times if they are many. One from kept
rows costs no kernel values, but a factor. Costs are counted in kept values read from memory, 0.2 ns each
on one core: whatever the machine, the same problem takes the same steps.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from problems.dataset import Indices
from solvers.smo.newton import MOST_FACTORED

_PATIENCE = 20  # rounds without halving the violation, before a step is thought of
_SETTLED = 4  # rounds in which the same variables are free, once scores are refined
_LEAST_FREE = 600  # variables: rounds on fewer take no time
_MOST_FREE = 4096  # variables whose factor is 64 MiB


class NewtonPolicy:
    """What was seen of the rounds so far, and of the Newton steps among them.

    Attributes
    ----------
    futile : steps in float64 since the violation was halved: from some on, float32 is to blame.
    refine_in : rounds until a step in float64 is thought of, as scores were refined; inf for never.
    """

    def __init__(self) -> None:
        self.refine_in, self.free_before = np.inf, np.empty(0, np.int64)
        self.rounds, self.first_violation = 0, np.inf  # since the last step from rows
        self.reluctance = 1.0  # to the next one, twice as large after each that led nowhere
        self.begin()

    def begin(self) -> None:
        """Forget the progress of the violation, as the active variables are others."""
        self.best, self.slow, self.futile, self.refining = np.inf, 0, 0, False

    def due(
        self, violation: float, left: float, free: Indices, n: int, kept: int
    ) -> Literal["no", "in float64", "from rows"]:
        """Return which step is to be taken now; if none is, a round is.

        Parameters
        ----------
        violation : of the n active variables. left : by what factor it is still too large.
        free : variables that are free. kept : how many rows may be kept, 0 if none of use here.
        """
        if violation <= 0.5 * self.best:
            self.best, self.slow, self.futile = violation, 0, 0
        self.slow += 1
        if self.slow > _PATIENCE + int(12 * (free.size / 1000) ** 2):  # as long as K takes
            self.slow, self.futile, self.refining = 0, self.futile + 1, False
            return "in float64"
        if self.refine_in <= 0:
            same = np.array_equal(free, self.free_before)
            self.refine_in, self.free_before = _SETTLED, free
            # for less than a fifth, a few rounds do
            self.refining = same and left >= 5.0 and free.size <= MOST_FACTORED
            if self.refining:
                return "in float64"
        if self._is_due_from_rows(violation, left, free.size, n, kept):
            return "from rows"
        self.rounds += kept > 0
        self.refine_in -= 1
        return "no"

    def _is_due_from_rows(self, violation: float, left: float, k: int, n: int, kept: int) -> bool:
        """Whether a step takes less time than rounds alone are likely to take to the end.

        As it may fail, it also waits for half of its time, or for `reluctance` times that.
        """
        if self.rounds == 0:
            self.first_violation = violation
        if self.rounds < _PATIENCE or not _LEAST_FREE <= k <= min(_MOST_FREE, kept):
            return False
        # a factor, the entries of K, products with it; and rows of a working set, and 1 ms besides
        step = 0.02 * k**3 + 10.0 * k**2 + 20.0 * k * n
        cost = step / (5e6 + 512.0 * n)  # in rounds
        halvings = max(1.0, float(np.log2(self.first_violation / violation)))
        rounds_left = self.rounds / halvings * float(np.log2(max(1.0, left)))
        # it has to save 1.5 times its own time: w8a with C = 5 needs none to 1e-3
        worth = rounds_left >= 1.5 * cost
        return worth and self.rounds >= _PATIENCE + 0.5 * self.reluctance * cost

    def note_step_in_float64(self, free: Indices) -> None:
        """Take note of which variables are free after a step: where none has changed, no other pays."""
        if self.refining and np.array_equal(free, self.free_before):
            self.refine_in = np.inf

    def note_step_from_rows(self, led_down: bool) -> None:
        """Take note of a step: where it led nowhere, the next one waits for twice as long."""
        self.rounds, self.reluctance = 0, 1.0 if led_down else 2.0 * self.reluctance
