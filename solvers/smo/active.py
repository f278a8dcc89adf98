"""Minimisation over the active variables, all others fixed.

Rounds of pair steps on working sets: the worst violators, and free variables of the last set. A round
costs the rows of K, among the active variables, of those that moved; rows are cached, so each is
computed once. When pair steps converge slowly, a Newton step moves all free variables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tile
from dualgap.solvers.smo.conditions import (
    free_variables,
    gap_and_dual,
    largest,
    on_one_side,
    slopes,
)
from dualgap.solvers.smo.matrix import RowCache
from dualgap.solvers.smo.newton import (
    NewtonSearch,
    NewtonStep,
    Situation,
    exact_system,
    newton_step,
)
from dualgap.solvers.smo.pairs import pair_steps
from dualgap.solvers.smo.triangle import PackedTriangle
from dualgap.solvers.smo.tuning import TUNING
from dualgap.solvers.smo.variables import Scores


class WorkingSet(NamedTuple):
    """The problem of some variables, all others fixed: shapes (q,), and (q, q) for K.

        min ½zᵀKz − uᵀz  s.t. Σz = const in each group, lo ≤ z ≤ hi

    Attributes
    ----------
    K : in float32 or float64; its block of 512 variables stays in the processor's cache.
    z, lo, hi : values of the variables, and their bounds on the current side of their tube.
    u : their scores relative to the multiplier of the equality: minus the gradient.
    groups : index of each variable's equality; −1 throughout for none.
    """

    K: Tile
    z: Vector
    u: Vector
    lo: Vector
    hi: Vector
    groups: Indices


# A function (problem, target violation, max_steps) -> (z, number of steps, whether the objective is
# unbounded below) that minimises over a working set.
Inner = Callable[[WorkingSet, float, int], tuple[Vector, int, bool]]


def minimise_by_pairs(
    problem: WorkingSet, target: float, max_steps: int
) -> tuple[Vector, int, bool]:
    """Return z, the number of steps, and whether the last pair can move without limit.

    Stops at a violation of `target`, or after a few thousand steps, at most `max_steps`.
    """
    K, z, u, lo, hi, groups = problem
    n = z.size
    if groups[0] < 0:  # each can be paired with a free variable whose row of K is 0
        K, z, u = np.pad(K, (0, 1)), np.append(z, 0.0), np.append(u, 0.0)
        lo, hi, groups = np.append(lo, -np.inf), np.append(hi, np.inf), np.zeros(n + 1, np.int64)
        target *= 0.5  # a violation counts twice there, at either end of a pair
    # in a larger set steps take longer than on working sets, once most variables are at their bounds
    max_steps = min(max_steps, 20_000 if n <= TUNING.max_one_set else 2 * n)
    steps, unbounded = pair_steps(K, z, u.astype(K.dtype), lo, hi, target, max_steps, groups)
    return z[:n], steps, unbounded


class Active:
    """The active variables: rows of K among them, and their terms, z, f and b.

    Attributes
    ----------
    inner : minimises over a working set.
    max_steps, steps, newton_steps : the limit of steps, and counts so far.
    stuck, unbounded : no further progress is possible.
    target_gap : the relative gap at which to stop; None to stop by the violation alone.
    is_settled : whether the violation has met its tolerance, but the gap not its target.
    size, capacity : number of variables that may be active, and of values of K that may be cached.
    """

    size = capacity = 0

    def __init__(
        self, scores: Scores, inner: Inner, max_steps: int, target_gap: float | None
    ) -> None:
        self.scores, self.inner = scores, inner
        self.max_steps, self.target_gap = max_steps, target_gap
        self.steps = self.newton_steps = 0
        self.stuck = self.unbounded = self.is_settled = False
        start = scores.variables.original.start
        self.search = NewtonSearch(free_known=start is not None and bool(start.any()))
        self.triangle_memory: Tile | None = None
        self.rows = RowCache(scores.matrix, np.empty(0, np.int64), 0)
        self.z = np.empty(0)

    @cached_property
    def rng(self) -> np.random.Generator:
        """Draws violators, with a fixed seed; a problem that fits in one working set needs none."""
        return np.random.default_rng(0)

    def start_with(self, members: Indices) -> None:
        """Make `members` active, with no rows except those that an earlier problem left."""
        scores = self.scores
        if members.size == scores.n and scores.earlier_rows is not None:
            self.rows = scores.earlier_rows
        else:
            self.rows = RowCache(scores.matrix, members, self.capacity, self.rows.memory)
        self.last_set = np.empty(0, np.int64)
        self.single_set = 0 < members.size <= TUNING.max_one_set and self.rows.complete
        if self.single_set:
            self.rows.fetch(np.arange(members.size))
        # rows that an earlier problem left are not in member order
        in_order = np.array_equal(self.rows.row_index, np.arange(members.size))
        self.reads_rows = in_order and self.rows.twin is None

    def leave_rows(self) -> None:
        """Leave rows of all variables to the next problem: the earlier ones if not all are active."""
        scores = self.scores
        rows = self.rows if self.members.size == scores.n else scores.earlier_rows
        if rows is not None:
            scores.matrix.leave_rows(rows)

    @property
    def at_limit(self) -> bool:
        """Whether no further step is allowed or possible."""
        return self.stuck or self.unbounded or self.steps >= self.max_steps

    @property
    def members(self) -> Indices:
        """The active variables."""
        return self.rows.members

    @property
    def complete(self) -> bool:
        """Whether all variables are active, in one working set."""
        return self.single_set and self.members.size == self.scores.n

    def relative_gap(self, threshold: float = np.inf) -> float:
        """Return the relative gap of the active variables; only roughly if it exceeds `threshold`."""
        sums, constant = self.scores.form.sums, self.scores.constant
        gap, dual = gap_and_dual(self.f, self.z, self.terms, sums, constant, threshold)
        return gap / dual

    def take(self, members: Indices) -> None:
        """Make `members` active; keep the rows if most of them were active before."""
        if members is not self.members:
            arriving = np.setdiff1d(members, self.members, assume_unique=True)
            grown = members.size != self.members.size or self.scores.matrix.repeats
            if grown or arriving.size > members.size // 4:
                self.start_with(members)
            else:
                leaving = ~np.isin(self.members, members, assume_unique=True)
                positions = np.flatnonzero(leaving)
                self.rows.replace(positions, arriving)
                if self.single_set:  # the block of all members is read by position
                    self.rows.fetch(positions)
                self.last_set = np.setdiff1d(self.last_set, positions)
        self.terms = self.scores.terms.of(self.members)
        self.z, self.f = self.scores.z[self.members], self.scores.f[self.members]

    def reduce(self, fraction: float, tolerance: float) -> Iterator[None]:
        """Run rounds until the violation is at most `fraction` of the first, or `tolerance`.

        Yields before each round.
        """
        accuracy = 0.1  # fraction of the violation at which a round ends
        if self.complete and not self.terms.eps.any():  # a round moves no variable across its tube
            if (self.target_gap or 0.0) < 1e-4:
                accuracy = 1e4 * float(np.finfo(self.rows.values.dtype).eps)
            elif not self.steps:  # often enough: fourclass to 1e-3 takes a third of the steps
                accuracy = 5e-3
        search, target = self.search, -np.inf
        search.init()
        while not self.at_limit:
            up, down, self.b, violation = slopes(self.f, self.z, self.terms, self.scores.equalities)
            if target < 0:
                target = max(tolerance, fraction * violation)
            if violation <= target:
                return
            yield
            free = free_variables(self.z, self.terms)
            all_active = self.z.size == self.scores.n
            gap = self.relative_gap if all_active and not self.single_set else None
            target_gap = self.target_gap if free.size and all_active else None
            factor = violation / (tolerance if all_active else target)
            now = Situation(violation, factor, free, self.z.size, gap, target_gap)
            if step := search.step(now):
                self._newton_step(free, step)
                search.accept(step, free_variables(self.z, self.terms), self.relative_gap)
                self.stuck = self.scores.matrix.in_single and search.is_futile
            else:
                self._round(self._choose(up, down), max(tolerance, accuracy * violation))
            self.stuck |= self.is_settled and search.is_exhausted

    def _choose(self, up: Vector, down: Vector) -> Indices:
        """Return the worst and random violators, and free variables of the last set.

        The worst violators alone are often similar: once a few have moved, the others no longer violate.
        """
        size = TUNING.working_set
        if self.single_set or self.z.size <= size:
            return np.arange(self.z.size)
        b = self.b[self.terms.groups]
        up, down = up - b, down - b
        margin = 0.02 * (float(up.max()) - float(down.min()))  # smaller violations can wait
        violators = np.flatnonzero((up > margin) | (down < -margin))
        self._foresee_rows(violators)
        max_violators = 7 * size // 8
        if violators.size > max_violators:
            violators = self.rng.choice(violators, max_violators, replace=False)
        moving = self.last_set
        free = (self.z > self.terms.lo) & (self.z < self.terms.hi)
        moving = moving[free[moving]]
        chosen = np.zeros(self.z.size, np.bool_)
        worst = largest(up, size // 32), largest(-down, size // 32)
        for indices in (*worst, violators, moving[: size // 16]):
            chosen[indices] = True
        return np.flatnonzero(chosen)

    def _foresee_rows(self, violators: Indices) -> None:
        """Compute all rows at once, which is half of the work, if nearly all will be needed.

        They are expected to be if nearly all variables without a row still violate their conditions
        when an eighth of all has moved.
        """
        missing = ~self.rows.has_row(np.arange(self.z.size))
        count = np.count_nonzero(missing)
        violate = np.count_nonzero(missing[violators]) >= TUNING.foreseen_share * count
        if violate and self.rows.complete and TUNING.max_one_set < count <= 7 * self.z.size // 8:
            self.rows.fetch_all()

    def _round(self, chosen: Indices, target: float) -> None:
        """Minimise over a working set to a violation of `target`."""
        tiles = self.scores.matrix.tiles
        if tiles.slow_columns:
            self.rows.fetch(chosen)
        if not tiles.is_cheap:
            chosen = self.rows.rows_first(chosen)
        terms, z = self.terms.of(chosen), self.z[chosen]
        if self.single_set and self.reads_rows:
            K = self.rows.values
        elif not tiles.is_cheap:
            K = self.rows.block(chosen)
        else:
            K = self.scores.matrix.symmetric_block(self.members[chosen])
        u, lo, hi = on_one_side(self.f[chosen], z, terms, self.b)
        problem = WorkingSet(K, z, u, lo, hi, terms.groups)
        z, steps, self.unbounded = self.inner(problem, target, self.max_steps - self.steps)
        self.steps, self.stuck = self.steps + steps, steps == 0
        self.last_set = chosen
        self._move(chosen, z)

    def _newton_step(self, free: Indices, step: NewtonStep) -> None:
        """Move the free variables to their minimum, if the step decreases the objective."""
        members = self.members[free]
        if free.size < 2:
            return
        try:
            if step.exact:
                product, invert = exact_system(self.scores.matrix, members)
            else:
                triangle = PackedTriangle(self.rows, free, self.triangle_memory)
                self.triangle_memory, product = triangle.memory, triangle.product
                invert = triangle.approximate_inverse()
        except LinAlgError:
            return
        if step.exact:
            everywhere = self.scores.z.copy()
            everywhere[self.members] = self.z
            self.f[free] = self.scores.matrix.exact_scores(members, everywhere)
        z, terms = self.z[free], self.terms.of(free)
        u, lo, hi = on_one_side(self.f[free], z, terms, np.zeros_like(self.b))
        end = newton_step(product, invert, -u, z, lo, hi, terms.groups, step.residual)
        if end is not None:
            self.newton_steps += 1
            self._move(free, end)

    def _move(self, chosen: Indices, z: Vector) -> None:
        """Set the chosen variables to `z`, and update f, from cached rows where possible."""
        change = z - self.z[chosen]
        self.z[chosen] = z
        self.scores.note_change(self.members[chosen], change)
        moved, change = chosen[change != 0], change[change != 0]
        cached = self.rows.add_to(self.f, moved, change)
        uncached = self.members[moved[~cached]]
        if uncached.size:
            self.f += self.scores.matrix.products(self.members, uncached, change[~cached])
