"""Minimisation over the active variables, all others held where they are.

Rounds of pair steps on working sets: the worst violators, and what is still free of the last set. A
round costs the rows of K, among the active variables, of those that moved; rows are kept, so each is
computed once. Where pair steps converge slowly, a Newton step moves all free variables at once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.gram.tiles import Tile
from solvers.smo.newton import newton_step
from solvers.smo.pairs import pair_steps
from solvers.smo.state import FreeBlock, State, free_variables, largest, slopes
from solvers.smo.variables import ONE_SET

_WORKING_SET = 512  # a float32 block takes 1 MiB: it stays in the second-level cache
_WORST, _RANDOM, _KEPT = 16, 320, 160  # of either kind, of both, of the last set
_WORTHWHILE = 0.02  # share of the violation, below which a violator can wait
_STEPS_PER_ROUND = 20_000
_INNER_ACCURACY = 0.1  # a round ends when its set's violation has fallen to this share ...
_DIGITS_LOST = 1e4  # ... or, with all variables in the set, to so many times their rounding error
_MOST_REPLACED = 0.25  # share of the members, above which all rows are computed anew
_PATIENCE = 20  # rounds without halving the violation, after which a Newton step is tried ...
_NEWTON_ROUNDS = 12  # ... and as many more for a Newton step on k² = 1000² kernel values
_FUTILE = 5  # Newton steps without halving it, after which float32 is to blame
_LEAST_COLUMNS = 2048  # of kept rows, that are worth a second thread


class Active:
    """The active variables `members` of a state, and rows of K among them."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.start_with(np.empty(0, np.int64))

    def start_with(self, members: Indices) -> None:
        """Make `members` active, without any rows."""
        self.members = members
        self.columns = self.state.columns(members)
        self.cache = self.state.row_cache()
        self.cache_row = np.full(members.size, -1)  # of each member, in the cache
        self.cached = np.full(self.cache.shape[0], -1)  # the variable of each cache row
        self.last_set = np.empty(0, np.int64)
        self.whole = 0 < members.size <= min(ONE_SET, self.cache.shape[0])
        if self.whole:
            self._keep(np.arange(members.size), np.arange(members.size))

    @property
    def complete(self) -> bool:
        """Whether all variables are active, in one working set."""
        return self.whole and self.members.size == self.state.variables.n

    def take(self, members: Indices) -> None:
        """Make `members` active; where most of them were before, their rows stay."""
        if members is not self.members:
            arriving = np.setdiff1d(members, self.members, assume_unique=True)
            grown = members.size != self.members.size
            if grown or arriving.size > _MOST_REPLACED * members.size:
                self.start_with(members)
            else:
                leaving = ~np.isin(self.members, members, assume_unique=True)
                self._replace(np.flatnonzero(leaving), arriving)
        v, chosen = self.state.variables, self.members
        self.lo, self.hi, self.q, self.tube = (
            v.lo[chosen],
            v.hi[chosen],
            v.q[chosen],
            v.tube[chosen],
        )
        self.groups = None if v.groups is None else v.groups[chosen]
        self.z, self.f = self.state.z[chosen], self.state.f[chosen]

    def _replace(self, places: Indices, arriving: Indices) -> None:
        """Put `arriving` where other members stood: new columns for the rows that stay."""
        given_up = self.cache_row[places]
        self.cached[given_up[given_up >= 0]] = -1
        self.cache_row[places] = -1
        self.members = self.members.copy()
        self.members[places] = arriving
        used = np.flatnonzero(self.cached >= 0)
        columns = self.state.columns(arriving)
        self.cache[np.ix_(used, places)] = self.state.block(self.cached[used], arriving, columns)
        self.columns = self.state.columns(self.members)
        self.last_set = np.setdiff1d(self.last_set, places)

    def reduce(self, share: float, least: float) -> Iterator[None]:
        """Run rounds until the violation is at most `share` of the first, or `least`.

        Pauses before each.
        """
        accuracy = _INNER_ACCURACY
        if self.complete and not self.tube.any():  # a round takes no variable across its tube
            accuracy = _DIGITS_LOST * float(np.finfo(self.cache.dtype).eps)
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
                self.state.stuck = self.state.in_single and futile > _FUTILE
            else:
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

    def _round(self, up: Vector, down: Vector, target: float) -> None:
        """Solve on a working set to a violation of `target`."""
        state = self.state
        chosen = self._choose(up, down)
        z, lo, hi, u = self._on_one_side(chosen)
        members = self.members[chosen]
        K = self.cache if self.whole else state.block(members, members, state.columns(members))
        groups = None if self.groups is None else self.groups[chosen]
        if not state.equality:  # each can be paired with a free variable that has no row
            K, z, u = np.pad(K, (0, 1)), np.append(z, 0.0), np.append(u, 0.0)
            lo, hi = np.append(lo, -np.inf), np.append(hi, np.inf)
        steps = min(_STEPS_PER_ROUND, state.max_steps - state.steps)
        taken, state.unbounded = pair_steps(K, z, u.astype(K.dtype), lo, hi, target, steps, groups)
        state.steps += taken
        state.stuck = taken == 0
        self.last_set = chosen
        self._move(chosen, z[: chosen.size])

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
        chosen = largest(up, _WORST), largest(-down, _WORST), violators, moving[:_KEPT]
        return np.unique(np.concatenate(chosen))

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
        self.f[free] = state.exact_scores(members, everywhere)
        z, lo, hi, u = self._on_one_side(free)
        groups = None if self.groups is None else self.groups[free]
        g = -u - state.of_each(self.b, groups)
        moved = newton_step(FreeBlock(state, members), g, z, lo, hi, state.equality, groups)
        if moved is not None:
            state.newton_steps += 1
            self._move(free, moved)

    def _move(self, chosen: Indices, z: Vector) -> None:
        """Move variables, and bring f up to date from rows that are kept while there is room."""
        change = z - self.z[chosen]
        self.z[chosen] = z
        self.state.note_change(change)
        moved, change = chosen[change != 0], change[change != 0]
        missing = moved[self.cache_row[moved] < 0]
        places = np.flatnonzero(self.cached < 0)[: missing.size] if missing.size else missing
        if places.size:
            self._keep(missing[: places.size], places)
        known = self.cache_row[moved] >= 0
        self._add_kept_rows(self.cache_row[moved[known]], change[known].astype(self.cache.dtype))
        uncached = self.members[moved[~known]]
        if uncached.size:
            self.f += self.state.products(self.members, uncached, change[~known])

    def _add_kept_rows(self, at: Indices, weights: Tile) -> None:
        def add(first: int, last: int) -> None:
            add_rows(self.f, self.cache, at, weights, first, last)

        self.state.tiles.run(add, self.f.size, _LEAST_COLUMNS)

    def _keep(self, missing: Indices, places: Indices) -> None:
        rows = self.members[missing]
        first, last = places[0], places[-1] + 1
        if last - first == places.size:
            self.state.block(rows, self.members, self.columns, self.cache[first:last])
        else:
            self.cache[places] = self.state.block(rows, self.members, self.columns)
        self.cache_row[missing], self.cached[places] = places, rows


@numba.njit(cache=True, nogil=True)
def add_rows(f: Vector, cache: Tile, at: Indices, weights: Tile, first: int, last: int) -> None:
    """Add weighted rows of the cache to f[first:last], four at a time: f is read and written less."""
    k = 0
    while k + 3 < at.size:
        r0, r1, r2, r3 = (
            cache[at[k]],
            cache[at[k + 1]],
            cache[at[k + 2]],
            cache[at[k + 3]],
        )
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for t in range(first, last):
            f[t] += (w0 * r0[t] + w1 * r1[t]) + (w2 * r2[t] + w3 * r3[t])
        k += 4
    while k < at.size:
        row, weight = cache[at[k]], weights[k]
        for t in range(first, last):
            f[t] += weight * row[t]
        k += 1
