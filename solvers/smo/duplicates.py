"""Equal samples share one variable; and the order is random.

The optimum depends on the sum of their variables alone, whose box is the sum of theirs; separate
variables make K singular, and their rows are computed twice. A third of w8a and a fifth of a9a are
repetitions.

Contradictory labels are two variables z₁, z₂ with the same row of K and costs q₁ < q₂: only their sum s
counts in the quadratic part. For boxes [l₁, h₁] and [l₂, h₂] its best split leaves z₂ at l₂ until z₁ is
at h₁, so that

    q₁z₁ + q₂z₂ = ½(q₁ + q₂)s + ½(q₂ − q₁)(|s − c| − (h₁ − l₂)),   c = h₁ + l₂

which is a tube's cost in z = s − c. Apart, the two settle only in working sets that have both.

The order decides between variables that violate by the same amount, as all do at the start. If like
samples are neighbours, working sets are full of them: an order by content takes four times the rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from problems.dataset import Indices, Matrix, Vector
from problems.kernels import Precomputed
from problems.kernels.samples import equal_rows, numbered
from solvers.smo.variables import ONE_SET, Variables


@dataclass(frozen=True, eq=False)
class Contradictions:
    """Variables of which some stand for two of `apart`.

    Attributes
    ----------
    together : the variables; those of `apart` at `kept`, less `centre`; their costs q lack K·centre.
    low, high : which of `apart` are paired, with the lower and the higher cost; low are all kept.
    centre : c of each variable, 0 for those that stand for themselves.
    constant : what the objective has less, besides ½cᵀKc.
    """

    apart: Variables
    together: Variables
    kept: Indices
    low: Indices
    high: Indices
    centre: Vector
    constant: float

    def split(self, z: Vector) -> Vector:
        """Return the variables apart: those at a bound, or at 0 with their tube, exactly at theirs."""
        v, low, high = self.apart, self.low, self.high
        result, pair = np.empty(v.n), np.searchsorted(self.kept, low)
        result[self.kept] = z
        at, least, most = z[pair], self.together.lo[pair], self.together.hi[pair]
        result[low] = np.where(at == least, v.lo[low], v.hi[low] + np.minimum(at, 0.0))
        result[high] = np.where(at == most, v.hi[high], v.lo[high] + np.maximum(at, 0.0))
        return result


@dataclass(frozen=True, eq=False)
class Merged:
    """Variables with one for each group of equals, and how they make up the original ones."""

    original: Variables
    variables: Variables
    group: Indices | None
    contradictions: Contradictions | None = None

    def spread(self, z: Vector) -> Vector:
        """Return the form's variables x: in each group one member after the other leaves 0.

        So no more than one of them is between 0 and its bound, and none has the opposite sign.
        """
        if self.group is None:
            return self.original.to_form(z)
        v, base, group = self.variables, self._base, self.group
        if self.contradictions is not None:
            v, z = self.contradictions.apart, self.contradictions.split(z)
        travelled = (z - np.bincount(group, base))[group]
        before_above, before_below = self._room_before
        above = np.clip(travelled - before_above, 0.0, self.original.hi - base)
        below = np.clip(-travelled - before_below, 0.0, base - self.original.lo)
        x = base + above - below
        for at, end in ((v.lo, self.original.lo), (v.hi, self.original.hi)):
            x = np.where((z == at)[group], end, x)  # the sum of three bounds is rounded
        return self.original.to_form(x)

    @property
    def centre(self) -> Vector:
        """What the variables are relative to, (n,): not 0 where one stands for two labels."""
        pairs = self.contradictions
        return np.zeros(self.variables.n) if pairs is None else pairs.centre

    def scores(self, f: Vector) -> Vector:
        """Return the scores of the form's samples, given those of the variables."""
        if self.group is None:
            return f
        pairs = self.contradictions
        if pairs is not None:
            together, f = f, np.empty(pairs.apart.n)
            f[pairs.kept] = together
            f[pairs.high] = f[pairs.low]
        return f[self.group]

    @cached_property
    def _base(self) -> Vector:
        """The point of each variable's box that is nearest to 0."""
        return np.clip(0.0, self.original.lo, self.original.hi)

    @cached_property
    def _room_before(self) -> tuple[Vector, Vector]:
        """The room, above and below, of the members of its group that come before each variable."""
        assert self.group is not None
        order = np.argsort(self.group, kind="stable")
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        leading = np.zeros(order.size, np.bool_)
        leading[order[first]] = True
        found: list[Vector] = []
        for room in (self.original.hi - self._base, self._base - self.original.lo):
            finite = np.where(np.isfinite(room), room, 0.0)[order]
            total = np.cumsum(finite) - finite
            before = np.empty(room.size)
            before[order] = total - np.repeat(total[first], np.diff(first, append=room.size))
            # the first one takes all that has no end
            found.append(np.where(np.isinf(room) & ~leading, np.inf, before))
        return found[0], found[1]


def merge(v: Variables) -> Merged:
    """Merge variables that have equal samples and costs, and put them in a random order."""
    gram = v.form.gram
    open_ended = bool((np.isinf(v.lo) & np.isinf(v.hi)).any())
    plain = v.scale is None and v.groups is None and not isinstance(gram.kernel, Precomputed)
    if v.n <= ONE_SET or open_ended or not plain:
        return Merged(v, v, None)
    rng = np.random.default_rng(0)
    hashed = gram.X @ rng.standard_normal(gram.X.shape[1])  # equals are neighbours in its order
    group = group_equals(gram.X, hashed, v, rng)
    first = np.unique(group, return_index=True)[1]
    lo, hi, start = (
        np.bincount(group, values).astype(np.float64) for values in (v.lo, v.hi, v.start)
    )
    merged = Variables(
        v.form, v.sample[first], None, v.q[first], v.tube[first], lo, hi, start, v.multiplier, False
    )
    low, high = contradictory_pairs(gram.X, hashed, merged)
    if not low.size:
        return Merged(v, merged, group)
    joined = join(merged, low, high)
    return Merged(v, joined.together, group, joined)


def group_equals(X: Matrix, of_sample: Vector, v: Variables, rng: np.random.Generator) -> Indices:
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


def contradictory_pairs(X: Matrix, of_sample: Vector, v: Variables) -> tuple[Indices, Indices]:
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


def join(v: Variables, low: Indices, high: Indices) -> Contradictions:
    """Join pairs of variables with equal rows of K, costs q[low] < q[high], no tubes, finite boxes."""
    stays = np.ones(v.n, np.bool_)
    stays[high] = False
    lo, hi, start, q, tube, centre = (
        values.copy() for values in (v.lo, v.hi, v.start, v.q, v.tube, np.zeros(v.n))
    )
    centre[low] = v.hi[low] + v.lo[high]
    lo[low], hi[low] = v.lo[low] - v.hi[low], v.hi[high] - v.lo[high]
    start[low] = (v.start[low] - v.hi[low]) + (v.start[high] - v.lo[high])
    q[low], tube[low] = 0.5 * (v.q[low] + v.q[high]), 0.5 * (v.q[high] - v.q[low])
    constant = float(q[low] @ centre[low] - tube[low] @ (v.hi[low] - v.lo[high]))
    kept = np.flatnonzero(stays)
    lo, hi, start, q, tube, centre = (x[kept] for x in (lo, hi, start, q, tube, centre))
    together = replace(v, sample=v.sample[kept], q=q, tube=tube, lo=lo, hi=hi, start=start)
    return Contradictions(v, together, kept, low, high, centre, constant)
