"""Equal samples share one variable, whose box is the sum of theirs; and the order is random.

The optimum depends on the sum alone; separate variables of equal samples make K singular, and their rows
are computed twice.
A third of w8a and a fifth of a9a are repetitions: kernel values fall to three fifths and two thirds.

The order decides between variables that violate by the same amount, as all do at the start. If like
samples are neighbours, working sets are full of them: w8a took four times as many rounds in an order
by content as in a random one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from problems.dataset import Indices, Matrix, Vector
from problems.kernels import Precomputed
from problems.kernels.samples import equal_rows, numbered
from solvers.smo.opposites import Opposites, join
from solvers.smo.variables import ONE_SET, Variables


@dataclass(frozen=True, eq=False)
class Merged:
    """Variables with one for each group of equals, and how they make up the original ones."""

    original: Variables
    variables: Variables
    group: Indices | None
    opposites: Opposites | None = None

    def spread(self, z: Vector) -> Vector:
        """Return the form's variables x: in each group one member after the other leaves 0.

        So no more than one of them is between 0 and its bound, and none has the opposite sign.
        """
        if self.group is None:
            return self.original.to_form(z)
        v, base, group = self.variables, self._base, self.group
        if self.opposites is not None:
            v, z = self.opposites.apart, self.opposites.split(z)
        travelled = (z - np.bincount(group, base))[group]
        above = np.clip(travelled - self._before_above, 0.0, self.original.hi - base)
        below = np.clip(-travelled - self._before_below, 0.0, base - self.original.lo)
        x = base + above - below
        for at, end in ((v.lo, self.original.lo), (v.hi, self.original.hi)):
            x = np.where((z == at)[group], end, x)  # the sum of three bounds is rounded
        return self.original.to_form(x)

    @property
    def centre(self) -> Vector:
        """What the variables are relative to, (n,): not 0 where one stands for opposite labels."""
        return np.zeros(self.variables.n) if self.opposites is None else self.opposites.centre

    def scores(self, f: Vector) -> Vector:
        """Return the scores of the form's samples, given those of the variables."""
        if self.group is None:
            return f
        if self.opposites is not None:
            f = self.opposites.apart_from(f)
        return f[self.group]

    @cached_property
    def _base(self) -> Vector:
        """The point of each variable's box that is nearest to 0."""
        return np.clip(0.0, self.original.lo, self.original.hi)

    @cached_property
    def _before_above(self) -> Vector:
        return self._before(self.original.hi - self._base)

    @cached_property
    def _before_below(self) -> Vector:
        return self._before(self._base - self.original.lo)

    def _before(self, room: Vector) -> Vector:
        """Return the room of the members of its group that come before each variable."""
        assert self.group is not None
        order = np.argsort(self.group, kind="stable")
        finite = np.where(np.isfinite(room), room, 0.0)[order]
        total = np.cumsum(finite) - finite
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        before = np.empty(room.size)
        before[order] = total - np.repeat(total[first], np.diff(first, append=room.size))
        leading = np.zeros(room.size, np.bool_)
        leading[order[first]] = True
        return np.where(np.isinf(room) & ~leading, np.inf, before)  # the first one takes it all


def merge(v: Variables) -> Merged:
    """Merge variables that have equal samples and costs, and put them in a random order."""
    gram = v.form.gram
    open_ended = bool((np.isinf(v.lo) & np.isinf(v.hi)).any())
    plain = v.scale is None and v.groups is None and not isinstance(gram.kernel, Precomputed)
    if v.n <= ONE_SET or open_ended or not plain:
        return Merged(v, v, None)
    rng = np.random.default_rng(0)
    hashed = gram.X @ rng.standard_normal(gram.X.shape[1])  # equals are neighbours in its order
    group = _groups(gram.X, hashed, v, rng)
    first = np.unique(group, return_index=True)[1]
    lo, hi, start = (_sums(group, values) for values in (v.lo, v.hi, v.start))
    merged = Variables(
        v.form, v.sample[first], None, v.q[first], v.tube[first], lo, hi, start, v.multiplier, False
    )
    low, high = _opposite(gram.X, hashed, merged)
    if not low.size:
        return Merged(v, merged, group)
    opposites = join(merged, low, high)
    return Merged(v, opposites.together, group, opposites)


def _sums(group: Indices, values: Vector) -> Vector:
    return np.bincount(group, values).astype(np.float64)


def _opposite(X: Matrix, of_sample: Vector, v: Variables) -> tuple[Indices, Indices]:
    """Return pairs of variables with equal samples, the lower cost first; each is in one at most."""
    hashed = of_sample[v.sample]
    order = np.argsort(hashed)
    before, after = order[:-1], order[1:]
    bounded = np.isfinite(v.lo) & np.isfinite(v.hi) & (v.tube == 0)
    like = hashed[before] == hashed[after]
    like &= (v.q[before] != v.q[after]) & bounded[before] & bounded[after]
    at = np.flatnonzero(like)
    at = at[equal_rows(X, v.sample[before[at]], v.sample[after[at]])]
    at = at[np.diff(at, prepend=-2) > 1]  # the others may have a pair already
    first, second = before[at], after[at]
    lower = v.q[first] < v.q[second]
    return np.where(lower, first, second), np.where(lower, second, first)


def _groups(X: Matrix, of_sample: Vector, v: Variables, rng: np.random.Generator) -> Indices:
    """Return the number of each variable's group, from 0, in random order."""
    hashed = of_sample[v.sample]
    order = np.lexsort((v.tube, v.q, hashed))
    before, after = order[:-1], order[1:]
    like = np.flatnonzero(
        (hashed[before] == hashed[after])
        & (v.q[before] == v.q[after])
        & (v.tube[before] == v.tube[after])
    )
    number = numbered(X, v.sample[order], like)
    group = np.empty(v.n, np.int64)
    group[order] = rng.permutation(number[-1] + 1)[number]
    return group
