"""The problem SMO works on: a `KernelQP` with equal variables merged.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = sums in each group (or none), lo ≤ z ≤ hi

The optimum depends only on the sum of the variables of equal samples with equal costs, whose box is the
sum of their boxes; separate variables would make K singular, with equal rows. A third of w8a and a fifth
of a9a are duplicates. The order breaks ties between variables with equal violations, as at the start. If
similar samples are adjacent, they fill the working sets: sorted data takes four times as many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import KernelQP
from dualgap.problems.kernels import Precomputed
from dualgap.problems.kernels.samples import distinct
from dualgap.solvers.smo.tuning import TUNING


class GroupedTerms(NamedTuple):
    """Everything but K: costs, bounds and equalities of variables, shape (n,) each.

    `groups` is the index of each variable's equality, Σ_{i∈g} zᵢ = sums_g; 0 throughout if there is one
    equality, −1 throughout if there is none.
    """

    q: Vector
    eps: Vector
    lo: Vector
    hi: Vector
    groups: Indices

    def of(self, chosen: Indices) -> GroupedTerms:
        """Return the terms of the chosen variables."""
        q, eps, lo, hi, groups = self
        return GroupedTerms(q[chosen], eps[chosen], lo[chosen], hi[chosen], groups[chosen])


@dataclass(frozen=True, eq=False)
class MergedForm:
    """An original form, and the one in z, the sums of its variables of equal samples.

    `group` is the index of the sum that each original variable is a part of; None if none are merged.
    """

    original: KernelQP
    form: KernelQP
    group: Indices | None = None

    def to_original(self, z: Vector) -> Vector:
        """Return the original variables β."""
        z = z if self.group is None else self._divide(z, self.group)
        return np.clip(z, self.original.lo, self.original.hi)  # rounding may leave the box

    def _divide(self, z: Vector, group: Indices) -> Vector:
        """Return the original variables: the members of each group leave 0 one after the other.

        So at most one of them is between 0 and its bound, and none has the opposite sign.
        """
        lo, hi, base = self.original.lo, self.original.hi, self._base
        distance = (z - np.bincount(group, base))[group]
        before_above, before_below = self._slack_before
        above = np.clip(distance - before_above, 0.0, hi - base)
        below = np.clip(-distance - before_below, 0.0, base - lo)
        divided = base + above - below
        for at, end in ((self.form.lo, lo), (self.form.hi, hi)):
            divided = np.where((z == at)[group], end, divided)  # sums of three or more are rounded
        return divided

    @cached_property
    def _base(self) -> Vector:
        """The point of each original variable's box that is nearest to 0."""
        return np.clip(0.0, self.original.lo, self.original.hi)

    @cached_property
    def _slack_before(self) -> tuple[Vector, Vector]:
        """The total slack, above and below, of the group members that precede each variable."""
        assert self.group is not None
        order = np.argsort(self.group, kind="stable")
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        leading = np.zeros(order.size, np.bool_)
        leading[order[first]] = True
        slacks = list[Vector]()
        for slack in (self.original.hi - self._base, self._base - self.original.lo):
            finite = np.where(np.isfinite(slack), slack, 0.0)[order]
            total = np.cumsum(finite) - finite
            before = np.empty(slack.size)
            before[order] = total - np.repeat(total[first], np.diff(first, append=slack.size))
            # the first member takes all of an infinite slack
            slacks.append(np.where(np.isinf(slack) & ~leading, np.inf, before))
        return slacks[0], slacks[1]


def merged(form: KernelQP) -> MergedForm:
    """Return a form with the variables of equal samples merged, and in a random order."""
    open_ended = bool((np.isinf(form.lo) & np.isinf(form.hi)).any())
    is_precomputed = isinstance(form.gram.kernel, Precomputed)
    if form.n <= TUNING.max_one_set or open_ended or form.sums.size > 1 or is_precomputed:
        return MergedForm(form, form)
    rng = np.random.default_rng(0)
    kind = kinds(form)
    # duplicates are adjacent in this order; each group of them is given a random number
    order = np.lexsort((form.eps, form.q, kind))
    keys = np.column_stack([kind, form.q, form.eps])[order]
    number = np.cumsum((keys[1:] != keys[:-1]).any(axis=1))
    number = np.concatenate([[0], number])
    group = np.empty(form.n, np.int64)
    group[order] = rng.permutation(number[-1] + 1)[number]
    first = np.unique(group, return_index=True)[1]
    parts = form.lo, form.hi, form.first_point()
    lo, hi, start = (np.bincount(group, values).astype(np.float64) for values in parts)
    costs, sample = (form.q[first], form.eps[first]), form.samples[first]
    sums = KernelQP(form.gram, *costs, lo, hi, form.sums, None, sample, start)
    return MergedForm(form, sums, group)


def kinds(form: KernelQP) -> Indices:
    """Return a number for each variable, the same for equal samples."""
    gram = form.gram
    return gram.get_or_compute("kinds", lambda: distinct(gram.X)[1])[form.samples]


def terms_of(form: KernelQP) -> GroupedTerms:
    """Return the terms of a form."""
    groups = np.full(form.n, form.sums.size - 1) if form.groups is None else form.groups
    return GroupedTerms(form.q, form.eps, form.lo, form.hi, groups.astype(np.int64))
