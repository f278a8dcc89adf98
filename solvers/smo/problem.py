"""The problem SMO works on: one variable per distinct sample, with the equality Σz = delta.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = delta (or none), lo ≤ z ≤ hi

With z = ax (z = sign·x where there is no equality) the coefficients of the equality become 1, and for
classification Q becomes K itself. Regression's two variables of a sample are the two sides of one:
z = α − α*, and their common cost epsilon·(α + α*) is the tube.

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
from dualgap.problems.forms import BoxQP, KernelQP
from dualgap.problems.kernels import Precomputed
from dualgap.problems.kernels.samples import distinct

ONE_SET = 1024  # variables up to which one working set holds all, so that its block of K is kept


class GroupedTerms(NamedTuple):
    """Everything but K: costs, bounds and equalities of variables, shape (n,) each.

    `groups` is the index of each variable's equality, Σ_{i∈g} zᵢ = delta_g; 0 throughout if there is one
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
    """GroupedTerms and start of z (n,); z = `multiplier`·x before equal samples are merged.

    Variable k is the coefficient of `scale[k]`·φ(x_sample[k]); a `scale` of None means 1. If `doubled`,
    z = x[:n] − x[n:]. If equal samples are merged, `group` is the index of the variable that each of the
    `unmerged` ones has become a part of.
    """

    form: BoxQP
    sample: Indices
    scale: Vector | None
    terms: GroupedTerms
    start: Vector
    multiplier: Vector
    doubled: bool
    group: Indices | None = None
    unmerged: GroupedTerms | None = None

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.sample.size

    def to_form(self, z: Vector) -> Vector:
        """Return the form's variables x."""
        z = z if self.group is None else self._divide(z, self.group)
        if self.doubled:
            return np.concatenate([np.maximum(z, 0.0), np.maximum(-z, 0.0)])
        x = z / self.multiplier
        return np.clip(x, self.form.lb, self.form.ub, out=x)  # rounding may leave the box

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


def variables_of(form: BoxQP) -> Variables:
    """Return the variables of a box QP, with those of equal samples merged and in a random order."""
    v = from_form(form)
    gram, terms = form.gram, v.terms
    open_ended = bool((np.isinf(terms.lo) & np.isinf(terms.hi)).any())
    plain = v.scale is None and not terms.several and not isinstance(gram.kernel, Precomputed)
    if v.n <= ONE_SET or open_ended or not plain:
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


def terms_of(form: KernelQP) -> GroupedTerms:
    """Return the terms of a form."""
    groups = form.groups
    if groups is None:
        groups = np.full(form.n, form.sums.size - 1)
    return GroupedTerms(form.q, form.eps, form.lo, form.hi, groups.astype(np.int64))


def from_form(form: BoxQP) -> Variables:
    """Return the variables of a box QP, starting at its start or at a feasible point near 0."""
    x = _at_bounds(form) if form.start is None and form.delta.any() else form.first_point()
    a = form.Q.sign if form.a is None else form.a
    ends = form.lb * a, form.ub * a
    lo, hi, q, z = np.minimum(*ends), np.maximum(*ends), form.p / a, x * a
    groups = np.full(form.n, -1 if form.a is None else 0)
    if form.groups is not None:
        groups = form.groups.astype(np.int64)
    if _is_doubled(form):
        n = form.n // 2
        eps, q, z = (q[:n] - q[n:]) / 2, (q[:n] + q[n:]) / 2, z[:n] + z[n:]
        terms = GroupedTerms(q, eps, lo[n:], hi[:n], groups[:n])
        return Variables(form, form.Q.index[:n], None, terms, z, a[:n], True)
    scale = form.Q.sign / a
    terms = GroupedTerms(q, np.zeros(form.n), lo, hi, groups)
    scaled = None if (scale == 1).all() else scale
    return Variables(form, form.Q.index, scaled, terms, z, a, False)


def _at_bounds(form: BoxQP) -> Vector:
    """Return a feasible point with few nonzero variables, nearly all of them at a bound.

    LIBSVM starts there too. The feasible point nearest to 0 moves all variables by the same amount, and
    nearly all of them have to move again.
    """
    x = np.clip(0.0, form.lb, form.ub)
    for i, a, delta in form.equalities:
        shortfall = delta - float(a @ x[i])
        slack = np.abs(a) * np.where(a * shortfall > 0, form.ub[i] - x[i], x[i] - form.lb[i])
        before = np.concatenate([[0.0], np.cumsum(slack)[:-1]])
        x[i] += np.sign(shortfall) / a * np.clip(abs(shortfall) - before, 0.0, slack)
    return form.project(x)  # raises an error if the form is infeasible


def _is_doubled(form: BoxQP) -> bool:
    """Whether every sample has two variables, one per side of its tube, as in regression."""
    n = form.n // 2
    twice = form.n == 2 * n and np.array_equal(form.Q.index[:n], form.Q.index[n:])
    if form.groups is not None or not twice:
        return False
    sides = np.repeat([1.0, -1.0], n)
    has_tube = bool((form.lb == 0).all() and (form.p[:n] + form.p[n:] >= 0).all())
    one_sign = form.a is None or bool((form.a == sides).all())
    return has_tube and one_sign and bool((form.Q.sign == sides).all())
