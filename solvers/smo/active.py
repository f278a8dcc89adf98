"""Minimisation over the active variables, all others held where they are.

Rounds of pair steps on working sets: the worst violators, and what is still free of the last set. A
round costs the rows of K, among the active variables, of those that moved; rows are kept, so each is
computed once. Where pair steps converge slowly, a Newton step moves all free variables at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
from scipy.linalg import LinAlgError

from problems.dataset import Indices, Vector
from solvers.smo.kept import KeptRows, compile_gather
from solvers.smo.matrix import FreeBlock
from solvers.smo.newton import FreeFactor, newton_in_box, newton_step
from solvers.smo.pairs import pair_steps
from solvers.smo.state import State, free_variables, slopes
from solvers.smo.variables import ONE_SET

_WORKING_SET = 512  # a float32 block takes 1 MiB: it stays in the second-level cache
# Where rows come on demand, all of more variables are one set for a round, if the violation has no more
# than this far to fall: with many free, the last digits take fewer steps where it falls slowly.
MOST_ON_DEMAND, _LEFT_ON_DEMAND = 2048, 1e5
_WORST, _RANDOM, _KEPT = 16, 448, 32  # of either kind, of both, of the last set
_WORTHWHILE = 0.02  # share of the violation, below which a violator can wait
_STEPS_PER_ROUND = 20_000
_STEPS_OF_EACH = 2  # in a round on more than ONE_SET
_INNER_ACCURACY = 0.1  # a round ends when its set's violation has fallen to this share ...
_DIGITS_LOST = 1e4  # ... or, with all variables in the set, to so many times their rounding error
_MOST_REPLACED = 0.25  # share of the members, above which all rows are computed anew
_PATIENCE = 20  # rounds without halving the violation, after which a Newton step is tried ...
_NEWTON_ROUNDS = 12  # ... and as many more for a Newton step on k² = 1000² kernel values
# Seconds, on one core of the kind used here, of a Newton step on k free of n active variables: for its
# factor k³, for the entries of that k², for a product kn; and of a round, besides reading its rows.
_SECONDS_FACTORED, _SECONDS_GATHERED, _SECONDS_READ = 4e-12, 2e-9, 2e-10
_PRODUCTS, _SECONDS_ROUND = 20, 1e-3
_WORTH = (
    1.5  # times its own, the time that a Newton step must save: w8a with C = 5 needs none to 1e-3
)
_LEAST_FREE, _MOST_FREE = 600, 4096  # below it rounds take no time; a factor of 4096 has 64 MiB
_FUTILE = 5  # Newton steps without halving it, after which float32 is to blame
# Once scores are refined: rounds in which the same variables were free, before a Newton step in float64;
# by what factor the violation has to fall yet, and up to how many are free, so that it spares more
# rounds than K and its factor take.
_SETTLED, _LEFT_TO_REFINE, _MOST_REFINED = 4, 5.0, 3000


class Active:
    """The active variables `members` of a state, and rows of K among them."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.factor: FreeFactor | None = None
        self.rounds, self.wait = 0, 1.0  # since the last Newton step; see `_newton_is_due`
        self.first_violation = np.inf
        self.refine_in, self.free_before = np.inf, np.empty(0, np.int64)
        self.start_with(np.empty(0, np.int64))

    def start_with(self, members: Indices) -> None:
        """Make `members` active, without any rows."""
        state, v = self.state, self.state.variables
        every = members.size == v.n
        rows = state.earlier_rows if every else None
        self.rows = KeptRows(state.matrix, members, state.memory) if rows is None else rows
        self.last_set = np.empty(0, np.int64)
        one_set = members.size > 0 and self.rows.complete
        self.whole = one_set and members.size <= ONE_SET
        near = state.left <= _LEFT_ON_DEMAND and members.size <= MOST_ON_DEMAND
        on_demand = every and state.equality and v.groups is None
        on_demand = on_demand and (self.whole or (one_set and near))
        self.source = self.rows.source() if on_demand else None
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
            if grown or arriving.size > _MOST_REPLACED * members.size:
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
        accuracy = _INNER_ACCURACY
        if self.complete and not self.tube.any():  # a round takes no variable across its tube
            accuracy = _DIGITS_LOST * float(np.finfo(self.rows.values.dtype).eps)
        target, best, slow, futile = -np.inf, np.inf, 0, 0
        while not self.state.at_limit:
            up, down, violation = self.violation()
            if target < 0:
                target = max(least, share * violation)
            if violation <= target:
                return
            yield
            if violation <= 0.5 * best:
                best, slow, futile = violation, 0, 0
            slow += 1
            if slow > _PATIENCE and slow > self._patience():
                slow, futile = 0, futile + 1
                self._newton_step()
                self.state.stuck = self.state.matrix.in_single and futile > _FUTILE
            elif self.refine_in <= 0 and self._is_settled():
                self._newton_step()
                if np.array_equal(self._free(), self.free_before):
                    self.refine_in = np.inf
            elif self._newton_is_due(violation):
                self._newton_step_from_rows()
            else:
                self.rounds, self.refine_in = self.rounds + 1, self.refine_in - 1
                self._round(up, down, max(least, accuracy * violation))

    def violation(self) -> tuple[Vector, Vector, float]:
        """Return the slopes of rising and falling, and by how much they are out of order."""
        up, down = slopes(self.f, self.z, self.q, self.tube, self.lo, self.hi)
        self.b, violation = self.state.order(up, down, self.groups)
        return up, down, violation

    def _patience(self) -> int:
        """Return how many slow rounds are worth a Newton step, which computes K some 15 times."""
        return _PATIENCE + int(_NEWTON_ROUNDS * (self._free().size / 1000) ** 2)

    def _free(self) -> Indices:
        return free_variables(self.z, self.lo, self.hi, self.tube)

    def _is_settled(self) -> bool:
        """Whether the same variables are free as at the last call, and a factor of K is worth it."""
        free, before = self._free(), self.free_before
        self.refine_in, self.free_before = _SETTLED, free
        worth = self.state.left >= _LEFT_TO_REFINE and free.size <= _MOST_REFINED
        return worth and np.array_equal(free, before)

    def _round(self, up: Vector, down: Vector, target: float) -> None:
        """Solve on a working set to a violation of `target`."""
        state = self.state
        chosen = self._choose(up, down)
        z, lo, hi, u = self._on_one_side(chosen)
        members = self.members[chosen]
        if self.whole and self.rows.twin is None:
            K = self.rows.values
        elif self.rows.known(chosen).all():
            K = self.rows.block(chosen)
        else:
            K = state.matrix.block(members, members, state.matrix.columns(members))
        groups = None if self.groups is None else self.groups[chosen]
        if not state.equality:  # each can be paired with a free variable that has no row
            K, z, u = np.pad(K, (0, 1)), np.append(z, 0.0), np.append(u, 0.0)
            lo, hi = np.append(lo, -np.inf), np.append(hi, np.inf)
        most = _STEPS_PER_ROUND if chosen.size <= ONE_SET else _STEPS_OF_EACH * chosen.size
        steps = min(most, state.max_steps - state.steps)
        u, source, before = u.astype(K.dtype), self.source, self.rows.count
        taken, state.unbounded = pair_steps(K, z, u, lo, hi, target, steps, groups, source)
        state.tiles.gram.evaluations += (self.rows.count - before) * self.members.size
        state.steps += taken
        state.stuck = taken == 0
        self.last_set = chosen
        self._move(chosen, z[: chosen.size])
        if chosen.size > ONE_SET:  # steps on fewer variables take less time, once most are settled
            self.whole, self.source, self.rounds = False, None, 0

    def _choose(self, up: Vector, down: Vector) -> Indices:
        """Return some violators, worst or at random, and what is free of the last set.

        The worst ones alone are often like each other: when a few have moved, the others no longer
        violate. With a random choice cpusmall took a quarter of the rounds, abalone half.
        """
        if self.whole or self.z.size <= _WORKING_SET:
            return np.arange(self.z.size)
        up, down = self.state.relative(up, down, self.b, self.groups)
        b = self.b if self.groups is None else 0.0
        margin = _WORTHWHILE * (float(up.max()) - float(down.min()))
        violators = np.flatnonzero((up > b + margin) | (down < b - margin))
        if violators.size > _RANDOM:
            violators = self.state.rng.choice(violators, _RANDOM, replace=False)
        last = self.last_set
        moving = last[(self.z[last] > self.lo[last]) & (self.z[last] < self.hi[last])]
        chosen = np.zeros(self.z.size, np.bool_)
        for some in (
            few_largest(up, _WORST),
            few_largest(-down, _WORST),
            violators,
            moving[:_KEPT],
        ):
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

    def _newton_step(self) -> None:
        free = self._free()
        if free.size < 2:
            return
        state, members = self.state, self.members[free]
        everywhere = state.z.copy()
        everywhere[self.members] = self.z
        self.f[free] = state.matrix.exact_scores(members, everywhere)
        z, lo, hi, u = self._on_one_side(free)
        groups = None if self.groups is None else self.groups[free]
        g = -u - state.of_each(self.b, groups)
        moved = newton_step(FreeBlock(state.matrix, members), g, z, lo, hi, state.equality, groups)
        if moved is not None:
            state.newton_steps += 1
            self._move(free, moved)

    def _newton_is_due(self, violation: float) -> bool:
        """Whether a Newton step takes less time than rounds alone are likely to take to the end.

        As it may fail, it also waits for half of its time, or for `wait` times that.
        """
        if self.rounds == 0:
            self.first_violation = violation
        if self.rounds < _PATIENCE or self.whole or self.groups is not None:
            return False
        k = self._free().size
        if not _LEAST_FREE <= k <= min(_MOST_FREE, self.rows.owner.size):
            return False
        cost = self._cost_in_rounds(k)
        halvings = max(1.0, float(np.log2(self.first_violation / violation)))
        left = self.rounds / halvings * float(np.log2(max(1.0, self.state.left)))
        return left >= _WORTH * cost and self.rounds >= _PATIENCE + 0.5 * self.wait * cost

    def _cost_in_rounds(self, k: int) -> float:
        """Return how many rounds take as long as a Newton step on k free variables."""
        n = self.z.size
        newton = (
            _SECONDS_FACTORED * k**3 + _SECONDS_GATHERED * k**2 + _SECONDS_READ * _PRODUCTS * k * n
        )
        return newton / (_SECONDS_ROUND + _SECONDS_READ * _WORKING_SET * n)

    def _newton_step_from_rows(self) -> None:
        """Take a Newton step on kept rows; where none leads down, wait twice as long for the next."""
        free, self.rounds = self._free(), 0
        end = self._newton_end(free) if self.rows.fetch(free).all() else None
        self.wait = 1.0 if end is not None else 2.0 * self.wait
        if end is not None:
            self.state.newton_steps += 1
            self._move(free, end)

    def _newton_end(self, free: Indices) -> Vector | None:
        members = self.members[free]
        if self.factor is None or not self.factor.serves(members):
            try:
                self.factor = FreeFactor(members, self.rows.among(free))
            except LinAlgError:
                self.factor = None
                return None

        def product(v: Vector) -> Vector:
            result = np.zeros(self.z.size)
            self.rows.add_to(result, free, v)
            return result[free]

        z, lo, hi, u = self._on_one_side(free)
        g, invert = -u - self.state.of_each(self.b, None), self.factor.inverse(members)
        return newton_in_box(product, invert, g, z, lo, hi, self.state.equality)

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
