"""Merge equal samples into one variable, and shuffle the variables.

The optimum depends only on the sum of the variables of equal samples, whose box is the sum of their
boxes; separate variables would make K singular, with equal rows. A third of w8a and a fifth of a9a are
duplicates.

Equal samples with contradictory labels are two variables z₁, z₂ with the same row of K and costs q₁ <
q₂: only their sum s enters the quadratic part. For boxes [l₁, h₁] and [l₂, h₂] its best split leaves z₂
at l₂ until z₁ is at h₁, so that

    q₁z₁ + q₂z₂ = ½(q₁ + q₂)s + ½(q₂ − q₁)(|s − c| − (h₁ − l₂)),   c = h₁ + l₂

which is a tube's cost in z = s − c. Unpaired, the two converge only in working sets that have both.

The order breaks ties between variables with equal violations, as at the start. If similar samples are
adjacent, they fill the working sets: sorted data takes four times as many rounds.
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
    """Variables some of which are the sum of a pair with contradictory labels.

    Attributes
    ----------
    unpaired, paired : the variables before and after pairing; costs q of `paired` still lack K·centre.
    remaining : indices in `unpaired` of the paired variables; these are z = s − centre.
    low, high : indices in `unpaired` of the pairs, the lower cost first; all of `low` remain.
    centre : c of each variable, 0 for single ones.
    constant : missing from the objective, along with ½cᵀKc.
    """

    unpaired: Variables
    paired: Variables
    remaining: Indices
    low: Indices
    high: Indices
    centre: Vector
    constant: float

    def split(self, z: Vector) -> Vector:
        """Return the unpaired variables, exactly at a bound if their sum is at a bound or at 0."""
        v, joined, low, high = self.unpaired.terms, self.paired.terms, self.low, self.high
        result, pair = np.empty(self.unpaired.n), np.searchsorted(self.remaining, low)
        result[self.remaining] = z
        at = z[pair]
        result[low] = np.where(at == joined.lo[pair], v.lo[low], v.hi[low] + np.minimum(at, 0.0))
        result[high] = np.where(at == joined.hi[pair], v.hi[high], v.lo[high] + np.maximum(at, 0.0))
        return result


@dataclass(frozen=True, eq=False)
class Merged:
    """Variables, one per group of duplicates, and their relation to the original ones."""

    original: Variables
    variables: Variables
    group: Indices | None
    contradictions: Contradictions | None = None

    def expand(self, z: Vector) -> Vector:
        """Return the form's variables x: the members of each group leave 0 one after the other.

        So at most one of them is between 0 and its bound, and none has the opposite sign.
        """
        if self.group is None:
            return self.original.to_form(z)
        v, terms, base, group = self.variables, self.original.terms, self._base, self.group
        if self.contradictions is not None:
            v, z = self.contradictions.unpaired, self.contradictions.split(z)
        distance = (z - np.bincount(group, base))[group]
        before_above, before_below = self._slack_before
        above = np.clip(distance - before_above, 0.0, terms.hi - base)
        below = np.clip(-distance - before_below, 0.0, base - terms.lo)
        x = base + above - below
        for at, end in ((v.terms.lo, terms.lo), (v.terms.hi, terms.hi)):
            x = np.where((z == at)[group], end, x)  # sums of three or more bounds are rounded
        return self.original.to_form(x)

    @property
    def centre(self) -> Vector:
        """The point that z is relative to, (n,): nonzero for pairs with contradictory labels."""
        pairs = self.contradictions
        return np.zeros(self.variables.n) if pairs is None else pairs.centre

    def scores(self, f: Vector) -> Vector:
        """Return the scores of the form's samples, given those of the variables."""
        if self.group is None:
            return f
        pairs = self.contradictions
        if pairs is not None:
            paired, f = f, np.empty(pairs.unpaired.n)
            f[pairs.remaining] = paired
            f[pairs.high] = f[pairs.low]
        return f[self.group]

    @cached_property
    def _base(self) -> Vector:
        """The point of each variable's box that is nearest to 0."""
        return np.clip(0.0, self.original.terms.lo, self.original.terms.hi)

    @cached_property
    def _slack_before(self) -> tuple[Vector, Vector]:
        """The total slack, above and below, of the group members that precede each variable."""
        assert self.group is not None
        order = np.argsort(self.group, kind="stable")
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        leading = np.zeros(order.size, np.bool_)
        leading[order[first]] = True
        terms, slacks = self.original.terms, list[Vector]()
        for slack in (terms.hi - self._base, self._base - terms.lo):
            finite = np.where(np.isfinite(slack), slack, 0.0)[order]
            total = np.cumsum(finite) - finite
            before = np.empty(slack.size)
            before[order] = total - np.repeat(total[first], np.diff(first, append=slack.size))
            # the first member takes all of an infinite slack
            slacks.append(np.where(np.isinf(slack) & ~leading, np.inf, before))
        return slacks[0], slacks[1]


def merge(v: Variables) -> Merged:
    """Merge variables that have equal samples and costs, and put them in a random order."""
    gram, terms = v.form.gram, v.terms
    open_ended = bool((np.isinf(terms.lo) & np.isinf(terms.hi)).any())
    plain = v.scale is None and not terms.several and not isinstance(gram.kernel, Precomputed)
    if v.n <= ONE_SET or open_ended or not plain:
        return Merged(v, v, None)
    rng = np.random.default_rng(0)
    kind = gram.get_or_compute("kinds", lambda: distinct(gram.X)[1])[v.sample]
    # duplicates are adjacent in this order; each group of them is given a random number
    order = np.lexsort((terms.tube, terms.q, kind))
    keys = np.column_stack([kind, terms.q, terms.tube])[order]
    number = np.cumsum((keys[1:] != keys[:-1]).any(axis=1))
    number = np.concatenate([[0], number])
    group = np.empty(v.n, np.int64)
    group[order] = rng.permutation(number[-1] + 1)[number]
    first = np.unique(group, return_index=True)[1]
    sums = (np.bincount(group, values) for values in (terms.lo, terms.hi, v.start))
    lo, hi, start = (values.astype(np.float64) for values in sums)
    merged_terms = terms.of(first)._replace(lo=lo, hi=hi)
    merged = Variables(v.form, v.sample[first], None, merged_terms, start, v.multiplier, False)
    low, high = contradictory_pairs(kind[first], merged_terms)
    if not low.size:
        return Merged(v, merged, group)
    joined = join(merged, low, high)
    return Merged(v, joined.paired, group, joined)


def contradictory_pairs(kind: Indices, terms: Terms) -> tuple[Indices, Indices]:
    """Return disjoint pairs of variables of the same `kind` (n,), the lower cost first."""
    q, order = terms.q, np.argsort(kind)
    before, after = order[:-1], order[1:]
    bounded = np.isfinite(terms.lo) & np.isfinite(terms.hi) & (terms.tube == 0)
    equal = (kind[before] == kind[after]) & (q[before] != q[after])
    at = np.flatnonzero(equal & bounded[before] & bounded[after])
    at = at[np.diff(at, prepend=-2) > 1]  # the others may be in a pair already
    first, second = before[at], after[at]
    lower = q[first] < q[second]
    return np.where(lower, first, second), np.where(lower, second, first)


def join(v: Variables, low: Indices, high: Indices) -> Contradictions:
    """Join pairs of variables with equal rows of K, costs q[low] < q[high], no tubes, finite boxes."""
    lo1, hi1, lo2, hi2 = v.terms.lo[low], v.terms.hi[low], v.terms.lo[high], v.terms.hi[high]
    remaining = np.setdiff1d(np.arange(v.n), high)
    pair, terms = np.searchsorted(remaining, low), v.terms.of(remaining)
    terms.lo[pair], terms.hi[pair] = lo1 - hi1, hi2 - lo2
    terms.q[pair] = 0.5 * (v.terms.q[low] + v.terms.q[high])
    terms.tube[pair] = 0.5 * (v.terms.q[high] - v.terms.q[low])
    start, centre = v.start[remaining], np.zeros(remaining.size)
    start[pair] = (v.start[low] - hi1) + (v.start[high] - lo2)
    centre[pair] = hi1 + lo2
    constant = float(terms.q[pair] @ centre[pair] - terms.tube[pair] @ (hi1 - lo2))
    paired = replace(v, sample=v.sample[remaining], terms=terms, start=start)
    return Contradictions(v, paired, remaining, low, high, centre, constant)
