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

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.kernels import Precomputed
from dualgap.problems.kernels.samples import distinct
from dualgap.solvers.smo.variables import ONE_SET, Terms, Variables


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
        v, joined, low, high = self.apart.terms, self.together.terms, self.low, self.high
        result, pair = np.empty(self.apart.n), np.searchsorted(self.kept, low)
        result[self.kept] = z
        at = z[pair]
        result[low] = np.where(at == joined.lo[pair], v.lo[low], v.hi[low] + np.minimum(at, 0.0))
        result[high] = np.where(at == joined.hi[pair], v.hi[high], v.lo[high] + np.maximum(at, 0.0))
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
        v, terms, base, group = self.variables, self.original.terms, self._base, self.group
        if self.contradictions is not None:
            v, z = self.contradictions.apart, self.contradictions.split(z)
        travelled = (z - np.bincount(group, base))[group]
        before_above, before_below = self._room_before
        above = np.clip(travelled - before_above, 0.0, terms.hi - base)
        below = np.clip(-travelled - before_below, 0.0, base - terms.lo)
        x = base + above - below
        for at, end in ((v.terms.lo, terms.lo), (v.terms.hi, terms.hi)):
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
        return np.clip(0.0, self.original.terms.lo, self.original.terms.hi)

    @cached_property
    def _room_before(self) -> tuple[Vector, Vector]:
        """The room, above and below, of the members of its group that come before each variable."""
        assert self.group is not None
        order = np.argsort(self.group, kind="stable")
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        leading = np.zeros(order.size, np.bool_)
        leading[order[first]] = True
        terms, found = self.original.terms, list[Vector]()
        for room in (terms.hi - self._base, self._base - terms.lo):
            finite = np.where(np.isfinite(room), room, 0.0)[order]
            total = np.cumsum(finite) - finite
            before = np.empty(room.size)
            before[order] = total - np.repeat(total[first], np.diff(first, append=room.size))
            # the first one takes all that has no end
            found.append(np.where(np.isinf(room) & ~leading, np.inf, before))
        return found[0], found[1]


def merge(v: Variables) -> Merged:
    """Merge variables that have equal samples and costs, and put them in a random order."""
    gram, terms = v.form.gram, v.terms
    open_ended = bool((np.isinf(terms.lo) & np.isinf(terms.hi)).any())
    plain = v.scale is None and not terms.several and not isinstance(gram.kernel, Precomputed)
    if v.n <= ONE_SET or open_ended or not plain:
        return Merged(v, v, None)
    rng = np.random.default_rng(0)
    kind = gram.remembered("kinds", lambda: distinct(gram.X)[1])[v.sample]
    # equals are neighbours in this order; each group of them has a number, drawn at random
    order = np.lexsort((terms.tube, terms.q, kind))
    keys = np.column_stack([kind, terms.q, terms.tube])[order]
    number = np.cumsum((keys[1:] != keys[:-1]).any(axis=1))
    number = np.concatenate([[0], number])
    group = np.empty(v.n, np.int64)
    group[order] = rng.permutation(number[-1] + 1)[number]
    first = np.unique(group, return_index=True)[1]
    sums = (np.bincount(group, values) for values in (terms.lo, terms.hi, v.start))
    lo, hi, start = (values.astype(np.float64) for values in sums)
    together = terms.of(first)._replace(lo=lo, hi=hi)
    merged = Variables(v.form, v.sample[first], None, together, start, v.multiplier, False)
    low, high = contradictory_pairs(kind[first], together)
    if not low.size:
        return Merged(v, merged, group)
    joined = join(merged, low, high)
    return Merged(v, joined.together, group, joined)


def contradictory_pairs(kind: Indices, terms: Terms) -> tuple[Indices, Indices]:
    """Return pairs of variables of one `kind` (n,), the lower cost first; each is in one at most."""
    q, order = terms.q, np.argsort(kind)
    before, after = order[:-1], order[1:]
    bounded = np.isfinite(terms.lo) & np.isfinite(terms.hi) & (terms.tube == 0)
    like = (kind[before] == kind[after]) & (q[before] != q[after])
    at = np.flatnonzero(like & bounded[before] & bounded[after])
    at = at[np.diff(at, prepend=-2) > 1]  # the others may have a pair already
    first, second = before[at], after[at]
    lower = q[first] < q[second]
    return np.where(lower, first, second), np.where(lower, second, first)


def join(v: Variables, low: Indices, high: Indices) -> Contradictions:
    """Join pairs of variables with equal rows of K, costs q[low] < q[high], no tubes, finite boxes."""
    lo1, hi1, lo2, hi2 = v.terms.lo[low], v.terms.hi[low], v.terms.lo[high], v.terms.hi[high]
    kept = np.setdiff1d(np.arange(v.n), high)
    pair, terms = np.searchsorted(kept, low), v.terms.of(kept)
    terms.lo[pair], terms.hi[pair] = lo1 - hi1, hi2 - lo2
    terms.q[pair] = 0.5 * (v.terms.q[low] + v.terms.q[high])
    terms.tube[pair] = 0.5 * (v.terms.q[high] - v.terms.q[low])
    start, centre = v.start[kept], np.zeros(kept.size)
    start[pair] = (v.start[low] - hi1) + (v.start[high] - lo2)
    centre[pair] = hi1 + lo2
    constant = float(terms.q[pair] @ centre[pair] - terms.tube[pair] @ (hi1 - lo2))
    together = replace(v, sample=v.sample[kept], terms=terms, start=start)
    return Contradictions(v, together, kept, low, high, centre, constant)
