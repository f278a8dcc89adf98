"""Minimisation over the active variables, all others held where they are.

Rounds of pair steps on working sets: the worst violators, and what is still free of the last set. A
round costs the rows of K, among the active variables, of those that moved; rows are kept, so each is
computed once. Where pair steps converge slowly, a Newton step moves all free variables at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numba
import numpy as np
from scipy.linalg import LinAlgError

from problems.dataset import Indices, Vector
from solvers.numerics.projected_cg import Apply
from solvers.smo.cache import RowCache, compile_gather
from solvers.smo.newton import FreeFactor, exact_system, newton_step
from solvers.smo.newton_policy import NewtonPolicy
from solvers.smo.pairs import WorkingSet
from solvers.smo.state import State, free_variables, slopes
from solvers.smo.variables import ONE_SET

# What minimises over a working set to a violation, in so many steps at most: it returns z, the number of
# steps, and whether the objective falls for ever.
Inner = Callable[[WorkingSet, float, int], tuple[Vector, int, bool]]

_WORKING_SET = 512  # variables: their block of K in float32, 1 MiB, stays in the second-level cache
MOST_ON_DEMAND = 2048  # variables that are one set, for a round, where rows come on demand


class Active:
    """The active variables `members` of a state, and rows of K among them."""

    def __init__(self, state: State, inner: Inner, takes_source: bool) -> None:
        """Begin without any; `takes_source` says whether `inner` computes rows on demand."""
        self.state, self.inner, self.takes_source = state, inner, takes_source
        self.policy = NewtonPolicy()
        self.factor: FreeFactor | None = None
        self.start_with(np.empty(0, np.int64))

    def start_with(self, members: Indices) -> None:
        """Make `members` active, without any rows but those that an earlier problem left."""
        state, v = self.state, self.state.variables
        every = members.size == v.n
        rows = state.earlier_rows if every else None
        self.rows = RowCache(state.matrix, members, state.memory) if rows is None else rows
        self.last_set = np.empty(0, np.int64)
        one_set = members.size > 0 and self.rows.complete
        self.whole = one_set and members.size <= ONE_SET
        # The first round may be on more, if the violation has no more than five digits to fall: with
        # many free, the last digits take fewer steps where it falls slowly.
        near = one_set and members.size <= MOST_ON_DEMAND and state.left <= 1e5
        on_demand = self.takes_source and every and state.equality and v.groups is None
        self.source = self.rows.source() if on_demand and (self.whole or near) else None
        self.whole |= self.source is not None
        if self.whole and self.source is None:
            self.rows.fetch(np.arange(members.size))

    @property
    def members(self) -> Indices:
        """The active variables."""
        return self.rows.members

    @property
    def complete(self) -> bool:
        """Whether all variables are active, in one working set."""
        return self.whole and self.members.size == self.state.variables.n

    def take(self, members: Indices) -> None:
        """Make `members` active; where most of them were before, their rows stay."""
        if members is not self.members:
            arriving = np.setdiff1d(members, self.members, assume_unique=True)
            grown = members.size != self.members.size
            grown = grown or self.state.matrix.repeats
            if grown or arriving.size > members.size // 4:
                self.start_with(members)
            else:
                leaving = ~np.isin(self.members, members, assume_unique=True)
                positions = np.flatnonzero(leaving)
                self.rows.replace(positions, arriving)
                self.last_set = np.setdiff1d(self.last_set, positions)
        v, chosen = self.state.variables, self.members
        self.lo, self.hi, self.q, self.tube = (
            v.lo[chosen],
            v.hi[chosen],
            v.q[chosen],
            v.tube[chosen],
        )
        self.groups = None if v.groups is None else v.groups[chosen]
        self.z, self.f = self.state.z[chosen], self.state.f[chosen]

    def reduce(self, share: float, least: float) -> Iterator[None]:
        """Run rounds until the violation is at most `share` of the first, or `least`.

        Pauses before each.
        """
        accuracy = 0.1  # the share of the violation at which a round ends
        if self.complete and not self.tube.any():  # a round takes no variable across its tube
            accuracy = 1e4 * float(np.finfo(self.rows.values.dtype).eps)
        state, policy, target = self.state, self.policy, -np.inf
        policy.begin()
        while not state.at_limit:
            up, down, violation = self.violation()
            if target < 0:
                target = max(least, share * violation)
            if violation <= target:
                return
            yield
            free = free_variables(self.z, self.lo, self.hi, self.tube)
            kept = 0 if self.whole or self.groups is not None else self.rows.owner.size
            match policy.due(violation, state.left, free, self.z.size, kept):
                case "no":
                    self._round(up, down, max(least, accuracy * violation))
                case "in float64":
                    self._newton_step(free, from_rows=False)
                    free = free_variables(self.z, self.lo, self.hi, self.tube)
                    policy.note_step_in_float64(free)
                    # five that did not halve the violation: rows in float32 are to blame
                    state.stuck = state.matrix.in_single and policy.futile > 5
                case "from rows":
                    policy.note_step_from_rows(self._newton_step(free, from_rows=True))

    def violation(self) -> tuple[Vector, Vector, float]:
        """Return the slopes of rising and falling, and by how much they are out of order."""
        up, down = slopes(self.f, self.z, self.q, self.tube, self.lo, self.hi)
        self.b, violation = self.state.order(up, down, self.groups)
        return up, down, violation

    def _round(self, up: Vector, down: Vector, target: float) -> None:
        """Solve on a working set to a violation of `target`."""
        state = self.state
        chosen = self._choose(up, down)
        z, lo, hi, u = self._on_one_side(chosen)
        if self.whole and self.rows.twin is None:
            K = self.rows.values
        elif self.rows.known(chosen).all():
            K = self.rows.block(chosen)
        else:
            members = self.members[chosen]
            K = state.matrix.block(members, members, state.matrix.columns(members))
        groups, before = None if self.groups is None else self.groups[chosen], self.rows.count
        given = WorkingSet(K, z, u, lo, hi, state.equality, groups, self.source)
        z, taken, state.unbounded = self.inner(given, target, state.max_steps - state.steps)
        state.tiles.gram.evaluations += (self.rows.count - before) * self.members.size
        state.steps += taken
        state.stuck = taken == 0
        self.last_set = chosen
        self._move(chosen, z)
        if chosen.size > ONE_SET:  # steps on fewer variables take less time, once most are settled
            self.whole, self.source = False, None

    def _choose(self, up: Vector, down: Vector) -> Indices:
        """Return some violators, worst or at random, and what is free of the last set.

        The worst ones alone are often like each other: when a few have moved, the others no longer
        violate.
        """
        if self.whole or self.z.size <= _WORKING_SET:
            return np.arange(self.z.size)
        up, down = self.state.relative(up, down, self.b, self.groups)
        b = self.b if self.groups is None else 0.0
        margin = 0.02 * (float(up.max()) - float(down.min()))  # violators by less can wait
        violators, most = (
            np.flatnonzero((up > b + margin) | (down < b - margin)),
            7 * _WORKING_SET // 8,
        )
        if violators.size > most:
            violators = self.state.rng.choice(violators, most, replace=False)
        last = self.last_set
        moving = last[(self.z[last] > self.lo[last]) & (self.z[last] < self.hi[last])]
        chosen = np.zeros(self.z.size, np.bool_)
        worst = few_largest(up, _WORKING_SET // 32), few_largest(-down, _WORKING_SET // 32)
        for some in (*worst, violators, moving[: _WORKING_SET // 16]):
            chosen[some] = True
        return np.flatnonzero(chosen)

    def _on_one_side(self, chosen: Indices) -> tuple[Vector, Vector, Vector, Vector]:
        """Return z, bounds and scores relative to b, on the side of its tube where each one is.

        At 0, on the side to which it is drawn.
        """
        z, lo, hi, tube = (v[chosen] for v in (self.z, self.lo, self.hi, self.tube))
        groups = None if self.groups is None else self.groups[chosen]
        u = -(self.f[chosen] + self.q[chosen]) - self.state.of_each(self.b, groups)
        above = (z > 0) | ((z == 0) & (u > 0))
        lo = np.where((tube > 0) & above, 0.0, lo)
        hi = np.where((tube > 0) & ~above, 0.0, hi)
        return z, lo, hi, u - np.where(above, tube, -tube)

    def _newton_step(self, free: Indices, from_rows: bool) -> bool:
        """Move the free variables to their minimum, if a step leads down; return whether it did."""
        state, members = self.state, self.members[free]
        if free.size < 2 or (from_rows and not self.rows.fetch(free).all()):
            return False
        try:
            exact = None if from_rows else exact_system(state.matrix, members)
            product, invert = exact or self._kept_system(free)
        except LinAlgError:
            self.factor = None
            return False
        if not from_rows:
            everywhere = state.z.copy()
            everywhere[self.members] = self.z
            self.f[free] = state.matrix.exact_scores(members, everywhere)
        z, lo, hi, u = self._on_one_side(free)
        groups = None if self.groups is None else self.groups[free]
        g = -u - state.of_each(self.b, groups)
        end = newton_step(product, invert, g, z, lo, hi, state.equality, groups)
        if end is not None:
            state.newton_steps += 1
            self._move(free, end)
        return end is not None

    def _kept_system(self, free: Indices) -> tuple[Apply, Apply]:
        """Return products with K among free variables whose rows are kept, and with its inverse."""
        members = self.members[free]
        if self.factor is None or not self.factor.serves(members):
            self.factor = FreeFactor(members, self.rows.lower_half(free, np.float32))

        def product(v: Vector) -> Vector:
            result = np.zeros(self.z.size)
            self.rows.add_to(result, free, v)
            return result[free]

        return product, self.factor.inverse(members)

    def _move(self, chosen: Indices, z: Vector) -> None:
        """Move variables, and bring f up to date from rows that are kept while there is room."""
        change = z - self.z[chosen]
        self.z[chosen] = z
        self.state.note_change(change)
        moved, change = chosen[change != 0], change[change != 0]
        known = self.rows.fetch(moved)
        self.rows.add_to(self.f, moved[known], change[known])
        uncached = self.members[moved[~known]]
        if uncached.size:
            self.f += self.state.matrix.products(self.members, uncached, change[~known])


def compile_choice() -> None:
    """Compile what problems of one working set never call."""
    few_largest(np.zeros(1), 1)
    compile_gather()


@numba.njit(cache=True, nogil=True)
def few_largest(values: Vector, count: int) -> Indices:
    """Return the indices of the `count` largest values, of those that are not −∞, in one pass."""
    best, found = np.full(count, -np.inf), np.empty(count, np.int64)
    size = 0
    for t in range(values.size):
        if values[t] > best[count - 1]:
            k = min(size, count - 1)
            while k > 0 and best[k - 1] < values[t]:
                best[k], found[k] = best[k - 1], found[k - 1]
                k -= 1
            best[k], found[k] = values[t], t
            size = min(size + 1, count)
    return found[:size]
