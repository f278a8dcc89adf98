"""What a run of SMO has done, and what it may do: its steps, limits, and memory for rows of K."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dualgap.problems.forms import KernelQP
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.numerics.memory import available
from dualgap.solvers.smo.contradictions import joined
from dualgap.solvers.smo.matrix import RowCache
from dualgap.solvers.smo.scores import Scores
from dualgap.solvers.smo.tuning import TUNING


class SMOState:
    """A run on a kernel QP, and the scores of all its variables.

    Attributes
    ----------
    joined : the form that is solved, and its relation to the given one.
    steps, newton_steps : counts so far.
    stuck, unbounded : no further progress is possible. solved : the target is reached.
    capacity : number of values of K that may be cached. size : number of active variables.
    row_store, key : the Gram matrix's store of rows for later problems, and this problem's key in it.
    earlier_rows : rows left by an earlier problem on the same variables, or None.
    target_gap : the relative gap at which to stop; None to stop by the violation alone.
    violation_factor : the factor by which the violation must still fall, judged by `tol` and the gap.
    is_settled : whether the violation has met its tolerance, but the gap not its target.
    """

    def __init__(
        self,
        form: KernelQP,
        tiles: Tiles,
        cache_size: float | None,
        max_steps: int,
        gap: float | None = None,
    ) -> None:
        self.tiles, self.cache_size, self.max_steps = tiles, cache_size, max_steps
        self.joined = joined(form)
        self.scores = Scores(self.joined, tiles)
        self.steps = self.newton_steps = 0
        self.stuck = self.unbounded = self.solved = False
        self.violation_factor, self.target_gap, self.is_settled = np.inf, gap, False
        self._initialise()

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.scores.form.n

    def _initialise(self) -> None:
        """Choose the number of cached values and of active variables; compute all scores."""
        n, matrix = self.n, self.scores.matrix
        max_values, each = n**2, matrix.dtype.itemsize
        if self.cache_size is not None:
            max_values = int(self.cache_size * 1e6 / each)
        elif each * max_values > TUNING.max_unchecked_bytes:
            max_values = available() // 2 // each
        self.capacity = capacity = max(1, min(n**2, max_values))
        # more become active only when that turns out to be necessary
        self.size = max(2, min(n, TUNING.max_first_active, int(capacity**0.5)))
        if n**2 <= min(TUNING.max_all_active_bytes // each, capacity):
            self.size = n
        store = self.scores.form.gram.solver_cache
        self.row_store: dict[Any, RowCache] = {} if store is None else store
        self.key = matrix.dtype.name, matrix.sample.tobytes()
        # rows are added during the solve, so no other problem may use them meanwhile
        self.earlier_rows = self.row_store.pop(self.key, None)
        if self.earlier_rows is not None:
            self.earlier_rows.matrix = matrix
        self.scores.compute(self.earlier_rows)

    def leave_rows(self, rows: RowCache) -> None:
        """Store rows of all variables for the next problem: the earlier ones if `rows` has not all."""
        reusable = rows if rows.members.size == self.n else self.earlier_rows
        if reusable is not None:
            self.row_store[self.key] = reusable

    def switch_to_float64(self) -> None:
        """Continue in float64 once float32 stops making progress."""
        self.scores.switch_to_float64()
        self._initialise()
        self.stuck = False

    @cached_property
    def rng(self) -> np.random.Generator:
        """Generator for drawing violators, with a fixed seed."""
        return np.random.default_rng(0)

    @property
    def at_limit(self) -> bool:
        """Whether no further step is allowed or possible."""
        return self.stuck or self.unbounded or self.steps >= self.max_steps
