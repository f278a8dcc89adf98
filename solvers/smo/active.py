"""Minimisation over the active variables, all others fixed.

Rounds of pair steps on working sets: the worst violators, and free variables of the last set. A round
costs the rows of K, among the active variables, of those that moved; rows are cached, so each is
computed once. When pair steps converge slowly, a Newton step moves all free variables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import LinAlgError

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tile
from dualgap.solvers.smo.conditions import (
    duality_gap,
    free_variables,
    largest,
    on_one_side,
    slopes,
)
from dualgap.solvers.smo.matrix import RowCache
from dualgap.solvers.smo.newton import exact_system, newton_step
from dualgap.solvers.smo.newton.search import NewtonSearch, NewtonStep, Situation
from dualgap.solvers.smo.newton.triangle import PackedTriangle
from dualgap.solvers.smo.pairs import WorkingSet
from dualgap.solvers.smo.state import SMOState
from dualgap.solvers.smo.tuning import TUNING

# A function (problem, target violation, max_steps) -> (z, number of steps, whether the objective is
# unbounded below) that minimises over a working set.
Inner = Callable[[WorkingSet, float, int], tuple[Vector, int, bool]]


class Active:
    """The active variables of a state: rows of K among them, and their terms, z, f and b.

    `inner` minimises over a working set.
    """

    def __init__(self, state: SMOState, inner: Inner) -> None:
        self.state, self.scores, self.inner = state, state.scores, inner
        start = state.joined.original.start
        self.search = NewtonSearch(free_known=start is not None and bool(start.any()))
        self.triangle_memory: Tile | None = None
        empty = np.empty(0, np.int64)
        self.rows = RowCache(self.scores.matrix, empty, state.capacity)
        self.start_with(empty)

    def start_with(self, members: Indices) -> None:
        """Make `members` active, with no rows except those that an earlier problem left."""
        state, all_active = self.state, members.size == self.state.n
        if all_active and state.earlier_rows is not None:
            self.rows = state.earlier_rows
        else:
            self.rows = RowCache(self.scores.matrix, members, state.capacity, self.rows.memory)
        self.last_set = np.empty(0, np.int64)
        self.single_set = 0 < members.size <= TUNING.max_one_set and self.rows.complete
        if self.single_set:
            self.rows.fetch(np.arange(members.size))
        # rows that an earlier problem left are not in member order
        in_order = np.array_equal(self.rows.row_index, np.arange(members.size))
        self.reads_rows = in_order and self.rows.twin is None

    @property
    def members(self) -> Indices:
        """The active variables."""
        return self.rows.members

    @property
    def complete(self) -> bool:
        """Whether all variables are active, in one working set."""
        return self.single_set and self.members.size == self.state.n

    def relative_gap(self, threshold: float = np.inf) -> float:
        """Return the relative gap of the active variables; only roughly if it exceeds `threshold`."""
        sums, constant = self.scores.form.sums, self.scores.constant
        return duality_gap(self.terms, sums, self.z, self.f, constant, threshold).relative()

    def next_members(self) -> Indices:
        """Return the next active variables: the same, if no other variable violates its condition.

        A few violators replace the members farthest from violating. If there are many, all members are
        chosen again: the worst on either side, random violators, then those closest to violating.
        """
        members, state, scores = self.members, self.state, self.scores
        n, size = state.n, state.size
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
            violating = state.rng.choice(violating, size // 2, replace=False)
        chosen[violating] = True
        nearness[chosen] = -np.inf
        excluded = n - size + int(chosen.sum())
        chosen[np.argpartition(nearness, excluded)[excluded:]] = True
        return np.flatnonzero(chosen)

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
            accuracy = 1e4 * float(np.finfo(self.rows.values.dtype).eps)
        state, search, target = self.state, self.search, -np.inf
        search.init()
        while not state.at_limit:
            up, down, self.b, violation = slopes(self.f, self.z, self.terms, self.scores.equalities)
            if target < 0:
                target = max(tolerance, fraction * violation)
            if violation <= target:
                return
            yield
            free = free_variables(self.z, self.terms)
            all_active = self.z.size == state.n
            gap = self.relative_gap if all_active and not self.single_set else None
            target_gap = state.target_gap if free.size and all_active else None
            factor = violation / (tolerance if all_active else target)
            now = Situation(violation, factor, free, self.z.size, gap, target_gap)
            if step := search.step(now):
                self._newton_step(free, step)
                search.accept(step, free_variables(self.z, self.terms), self.relative_gap)
                state.stuck = self.scores.matrix.in_single and search.is_futile
            else:
                self._round(self._choose(up, down), max(tolerance, accuracy * violation))
            state.stuck |= state.is_settled and search.is_exhausted

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
        max_violators = 7 * size // 8
        if violators.size > max_violators:
            violators = self.state.rng.choice(violators, max_violators, replace=False)
        moving = self.last_set
        free = (self.z > self.terms.lo) & (self.z < self.terms.hi)
        moving = moving[free[moving]]
        chosen = np.zeros(self.z.size, np.bool_)
        worst = largest(up, size // 32), largest(-down, size // 32)
        for indices in (*worst, violators, moving[: size // 16]):
            chosen[indices] = True
        return np.flatnonzero(chosen)

    def _round(self, chosen: Indices, target: float) -> None:
        """Minimise over a working set to a violation of `target`."""
        state, terms, z = self.state, self.terms.of(chosen), self.z[chosen]
        if self.single_set and self.reads_rows:
            K = self.rows.values
        elif not state.tiles.is_cheap and self.rows.has_row(chosen).all():
            K = self.rows.block(chosen)
        else:
            members = self.members[chosen]
            K = self.scores.matrix.block(members, members, self.scores.matrix.columns(members))
        u, lo, hi = on_one_side(self.f[chosen], z, terms, self.b)
        problem = WorkingSet(K, z, u, lo, hi, terms.groups)
        z, pair_steps, state.unbounded = self.inner(problem, target, state.max_steps - state.steps)
        state.steps += pair_steps
        state.stuck = pair_steps == 0
        self.last_set = chosen
        self._move(chosen, z)

    def _newton_step(self, free: Indices, step: NewtonStep) -> None:
        """Move the free variables to their minimum, if the step decreases the objective."""
        state, members = self.state, self.members[free]
        if free.size < 2:
            return
        try:
            if step.exact:
                product, invert = exact_system(self.scores.matrix, members)
            else:
                triangle = PackedTriangle(self.scores.matrix, members, self.triangle_memory)
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
            state.newton_steps += 1
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
