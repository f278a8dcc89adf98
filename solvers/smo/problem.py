"""The problem SMO works on: a `KernelQP` with equal variables merged.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = sums in each group (or none), lo ≤ z ≤ hi

The optimum depends only on the sum of the variables of equal samples with equal costs, whose box is the
sum of their boxes; separate variables would make K singular, with equal rows. A third of w8a and a fifth
of a9a are duplicates. The order breaks ties between variables with equal violations, as at the start. If
similar samples are adjacent, they fill the working sets: sorted data takes four times as many rounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import KernelQP
from dualgap.problems.kernels import Precomputed
from dualgap.problems.kernels.samples import distinct

ONE_SET = 1024  # variables up to which one working set holds all, so that its block of K is kept


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

    @property
    def several(self) -> bool:
        """Whether there are several equalities."""
        return int(self.groups.max(initial=0)) > 0


@dataclass(frozen=True, eq=False)
class Variables:
    """Terms and start of z (n,); variable k is the coefficient of sample `sample[k]`.

    If equal samples are merged, `group` is the index of the variable that each of the `unmerged` ones,
    those of the form, has become a part of.
    """

    form: KernelQP
    sample: Indices
    terms: GroupedTerms
    start: Vector
    group: Indices | None = None
    unmerged: GroupedTerms | None = None

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.sample.size

    def to_form(self, z: Vector) -> Vector:
        """Return the form's variables β."""
        z = z if self.group is None else self._divide(z, self.group)
        return np.clip(z, self.form.lo, self.form.hi)  # rounding may leave the box

    def _divide(self, z: Vector, group: Indices) -> Vector:
        """Return the unmerged variables: the members of each group leave 0 one after the other.

        So at most one of them is between 0 and its bound, and none has the opposite sign.
        """
        terms, base = self.unmerged, self._base
        assert terms is not None
        distance = (z - np.bincount(group, base))[group]
        before_above, before_below = self._slack_before
        above = np.clip(distance - before_above, 0.0, terms.hi - base)
        below = np.clip(-distance - before_below, 0.0, base - terms.lo)
        divided = base + above - below
        for at, end in ((self.terms.lo, terms.lo), (self.terms.hi, terms.hi)):
            divided = np.where((z == at)[group], end, divided)  # sums of three or more are rounded
        return divided

    @cached_property
    def _base(self) -> Vector:
        """The point of each unmerged variable's box that is nearest to 0."""
        assert self.unmerged is not None
        return np.clip(0.0, self.unmerged.lo, self.unmerged.hi)

    @cached_property
    def _slack_before(self) -> tuple[Vector, Vector]:
        """The total slack, above and below, of the group members that precede each variable."""
        assert self.group is not None
        assert self.unmerged is not None
        order = np.argsort(self.group, kind="stable")
        first = np.flatnonzero(np.diff(self.group[order], prepend=-1))
        leading = np.zeros(order.size, np.bool_)
        leading[order[first]] = True
        slacks = list[Vector]()
        for slack in (self.unmerged.hi - self._base, self._base - self.unmerged.lo):
            finite = np.where(np.isfinite(slack), slack, 0.0)[order]
            total = np.cumsum(finite) - finite
            before = np.empty(slack.size)
            before[order] = total - np.repeat(total[first], np.diff(first, append=slack.size))
            # the first member takes all of an infinite slack
            slacks.append(np.where(np.isinf(slack) & ~leading, np.inf, before))
        return slacks[0], slacks[1]


def merged_variables(form: KernelQP) -> Variables:
    """Return the variables of a form, with those of equal samples merged and in a random order."""
    v = variables_of(form)
    terms = v.terms
    open_ended = bool((np.isinf(terms.lo) & np.isinf(terms.hi)).any())
    is_precomputed = isinstance(form.gram.kernel, Precomputed)
    if v.n <= ONE_SET or open_ended or terms.several or is_precomputed:
        return v
    rng = np.random.default_rng(0)
    kind = kinds(v)
    # duplicates are adjacent in this order; each group of them is given a random number
    order = np.lexsort((terms.eps, terms.q, kind))
    keys = np.column_stack([kind, terms.q, terms.eps])[order]
    number = np.cumsum((keys[1:] != keys[:-1]).any(axis=1))
    number = np.concatenate([[0], number])
    group = np.empty(v.n, np.int64)
    group[order] = rng.permutation(number[-1] + 1)[number]
    first = np.unique(group, return_index=True)[1]
    sums = (np.bincount(group, values) for values in (terms.lo, terms.hi, v.start))
    lo, hi, start = (values.astype(np.float64) for values in sums)
    merged = terms.of(first)._replace(lo=lo, hi=hi)
    return replace(
        v, sample=v.sample[first], terms=merged, start=start, group=group, unmerged=terms
    )


def kinds(v: Variables) -> Indices:
    """Return a number for each variable, the same for equal samples."""
    gram = v.form.gram
    return gram.get_or_compute("kinds", lambda: distinct(gram.X)[1])[v.sample]


def variables_of(form: KernelQP) -> Variables:
    """Return the variables of a form as they are."""
    sample = np.arange(form.n) if form.sample is None else form.sample
    return Variables(form, sample, terms_of(form), form.first_point())


def terms_of(form: KernelQP) -> GroupedTerms:
    """Return the terms of a form."""
    groups = np.full(form.n, form.sums.size - 1) if form.groups is None else form.groups
    return GroupedTerms(form.q, form.eps, form.lo, form.hi, groups.astype(np.int64))
