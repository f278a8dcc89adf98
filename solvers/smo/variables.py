"""The variables z that SMO moves, and their scores f = Kz, which determine every gradient.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = sums in each group (or none), lo ≤ z ≤ hi

Equal samples are joined. With equal costs (`merged`), the optimum depends only on the sum of their
variables, whose box is the sum of their boxes; separate variables would make K singular, with equal
rows. A third of w8a and a fifth of a9a are duplicates. The order breaks ties between variables with
equal violations, as at the start: if similar samples are adjacent, they fill the working sets, and
sorted data takes four times as many rounds.

With opposite labels (`joined`), they are two variables z₁, z₂ with costs q₁ < q₂, and again only their
sum s enters the quadratic part. For boxes [l₁, h₁] and [l₂, h₂] its best split leaves z₂ at l₂ until z₁
is at h₁, so that

    q₁z₁ + q₂z₂ = ½(q₁ + q₂)s + ½(q₂ − q₁)(|s − c| − (h₁ − l₂)),   c = h₁ + l₂

which is a tube's cost in z = s − c. Separate, the two converge only in working sets that have both.
Without this, of the published benchmarks SMO takes 1.6 times as long on a9a with C = 100 (but 0.8 times
with C = 1, and 0.7 times on w8a with C = 5), and semismooth Newton stops short of its gap on w8a with
C = 64.

f is kept for all variables. Rows of K in float32 add rounding errors to it with every change of z;
their size is estimated as they occur. Scores near the margin are recomputed in float64 as soon as these
errors dominate the violation, and before optimality is claimed. Later changes are small, and so are
their errors: this is iterative refinement (Wilkinson 1963), which needs only float32 rows up to the
last digits. Errors are tracked per score, as a score may come near the margin later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, sqrt

import numba
import numpy as np
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import KernelQP
from dualgap.problems.gram.tiles import Tiles
from dualgap.problems.kernels import Precomputed
from dualgap.solvers.smo.conditions import best_multiple, gap_and_dual, slopes
from dualgap.solvers.smo.matrix import Matrix
from dualgap.solvers.smo.tuning import TUNING


@dataclass(frozen=True, eq=False)
class MergedForm:
    """An original form, and the one in z, the sums of its variables of equal samples.

    `group` is the index of the sum that each original variable is a part of; None if none are merged.
    """

    original: KernelQP
    form: KernelQP
    group: Indices | None = None

    def to_original(self, z: Vector) -> Vector:
        """Return the original variables β, within their box despite rounding."""
        lo, hi, group = self.original.lo, self.original.hi, self.group
        if group is None:
            return np.clip(z, lo, hi)
        beta = divide(z, group, lo, hi)
        for at, end in ((self.form.lo, lo), (self.form.hi, hi)):
            beta = np.where((z == at)[group], end, beta)  # sums of three or more are rounded
        return beta


@numba.njit(cache=True)
def divide(z: Vector, group: Indices, lo: Vector, hi: Vector) -> Vector:
    """Return variables in their boxes whose sum in each group is z.

    The members of a group leave the point nearest to 0 one after the other. So at most one of them is
    between there and its bound, and none has the opposite sign.
    """
    beta, distance = np.empty(group.size), z.copy()
    for i in range(group.size):
        beta[i] = lo[i] if lo[i] > 0.0 else (hi[i] if hi[i] < 0.0 else 0.0)
        distance[group[i]] -= beta[i]
    for i in range(group.size):
        step = min(max(distance[group[i]], lo[i] - beta[i]), hi[i] - beta[i])
        distance[group[i]] -= step
        beta[i] += step
    return beta


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
    return form.gram.distinct[1][form.samples]


@dataclass(frozen=True, eq=False)
class JoinedForm:
    """A form some of whose variables are the sum of a pair with opposite labels, less its centre.

    Attributes
    ----------
    merged : the variables before; `form` : those after, whose costs q still lack K·centre.
    remaining : indices before of the variables after; these are z = s − centre.
    low, high : indices before of the pairs, the lower cost first; all of `low` remain.
    centre : c of each variable, 0 for single ones.
    constant : missing from the objective, along with ½cᵀKc.
    """

    merged: MergedForm
    form: KernelQP
    remaining: Indices
    low: Indices
    high: Indices
    centre: Vector
    constant: float

    @property
    def original(self) -> KernelQP:
        """The form as it was given."""
        return self.merged.original

    def to_original(self, z: Vector) -> Vector:
        """Return the original variables β."""
        return self.merged.to_original(self._split(z) if self.low.size else z)

    def original_scores(self, f: Vector) -> Vector:
        """Return the scores of the original variables, given those after."""
        separate = np.empty(self.merged.form.n)
        separate[self.remaining] = f
        separate[self.high] = separate[self.low]
        return separate if self.merged.group is None else separate[self.merged.group]

    def _split(self, z: Vector) -> Vector:
        """Return the variables before, exactly at a bound if their sum is at a bound or at 0."""
        before, after, low, high = self.merged.form, self.form, self.low, self.high
        result, pair = np.empty(before.n), np.searchsorted(self.remaining, low)
        result[self.remaining] = z
        at = z[pair]
        one, other = before.hi[low] + np.minimum(at, 0.0), before.lo[high] + np.maximum(at, 0.0)
        result[low] = np.where(at == after.lo[pair], before.lo[low], one)
        result[high] = np.where(at == after.hi[pair], before.hi[high], other)
        return result


def joined(original: KernelQP) -> JoinedForm:
    """Return a form with equal samples merged, and then those of opposite labels joined."""
    merged_form = merged(original)
    form = merged_form.form
    low = high = np.empty(0, np.int64)
    if merged_form.group is not None:
        low, high = opposite_pairs(form)
    if not low.size:
        centre = np.zeros(form.n)
        return JoinedForm(merged_form, form, np.arange(form.n), low, high, centre, 0.0)
    lo1, hi1, lo2, hi2 = form.lo[low], form.hi[low], form.lo[high], form.hi[high]
    remaining, before = np.setdiff1d(np.arange(form.n), high), form.first_point()
    pair, centre = np.searchsorted(remaining, low), np.zeros(remaining.size)
    values = form.q, form.eps, form.lo, form.hi, before
    q, eps, lo, hi, start = (v[remaining] for v in values)
    lo[pair], hi[pair] = lo1 - hi1, hi2 - lo2
    q[pair] = 0.5 * (form.q[low] + form.q[high])
    eps[pair] = 0.5 * (form.q[high] - form.q[low])
    start[pair] = (before[low] - hi1) + (before[high] - lo2)
    centre[pair] = hi1 + lo2
    constant = float(q[pair] @ centre[pair] - eps[pair] @ (hi1 - lo2))
    sample = form.samples[remaining]
    after = KernelQP(form.gram, q, eps, lo, hi, form.sums, None, sample, start)
    return JoinedForm(merged_form, after, remaining, low, high, centre, constant)


def opposite_pairs(form: KernelQP) -> tuple[Indices, Indices]:
    """Return disjoint pairs of variables of equal samples, the lower cost first."""
    kind, q = kinds(form), form.q
    order = np.argsort(kind)
    before, after = order[:-1], order[1:]
    bounded = np.isfinite(form.lo) & np.isfinite(form.hi) & (form.eps == 0)
    equal = (kind[before] == kind[after]) & (q[before] != q[after])
    at = np.flatnonzero(equal & bounded[before] & bounded[after])
    at = at[np.diff(at, prepend=-2) > 1]  # the others may be in a pair already
    first, second = before[at], after[at]
    lower = q[first] < q[second]
    return np.where(lower, first, second), np.where(lower, second, first)


class Scores:
    """The point and the scores of all variables, at first with rows in float32 if those suffice.

    Attributes
    ----------
    variables : the form that is solved, and its relation to the given one.
    form, constant : the problem, and what its objective lacks. matrix : K of its variables.
    earlier_rows : rows left by an earlier problem on the same variables, or None.
    terms : those of the form, with the scores of the centres added to the costs.
    equalities : their number. b : their multipliers, computed from the last active variables.
    z, f : the point and its scores. up, down : their slopes at the last `violation`.
    refreshes : their number.
    """

    def __init__(self, variables: JoinedForm, tiles: Tiles) -> None:
        self.variables, self.tiles, self.form = variables, tiles, (form := variables.form)
        self.n, self.terms, self.equalities = form.n, form.terms, form.sums.size
        self.z, self.f = form.first_point(), np.zeros(form.n)
        self.b = np.zeros(max(1, self.equalities))
        self.refreshes, self.constant = 0, variables.constant
        single = form.is_bounded and tiles.precise(np.float32)
        self.matrix = Matrix(tiles, form, np.float32 if single else np.float64)
        self._rounding = max(1e-7, tiles.rounding(np.float32)) if single else 0.0
        if variables.low.size:
            of_centres = self.matrix.exact_scores(np.arange(form.n), variables.centre)
            self.terms = self.terms._replace(q=form.q + of_centres)
            self.constant += 0.5 * float(variables.centre @ of_centres)
        self._compute()
        if variables.original.start is not None and not variables.low.size:
            multiple = best_multiple(form, self.z, self.f, self.terms)
            self.z, self.f = multiple * self.z, multiple * self.f

    def _compute(self) -> None:
        """Compute all scores, from the earlier rows if there are any."""
        n, support = self.n, np.flatnonzero(self.z)
        self.f, self.earlier_rows = np.zeros(n), self.matrix.take_rows()
        if self.earlier_rows is not None:
            support = support[~self.earlier_rows.add_to(self.f, support, self.z[support])]
        if support.size:
            self.f += self.matrix.products(np.arange(n), support, self.z[support])
        self._diagonal = np.abs(self.matrix.diagonal(np.arange(n)))
        if self.tiles.kernel.is_psd is not True:  # values of K may exceed its diagonal
            self._diagonal = np.maximum(self._diagonal, self.tiles.largest)
        self._stale, self._fresh = np.zeros(n), 0.0
        self.note_change(np.arange(n), self.z)

    def switch_to_float64(self) -> None:
        """Continue in float64 once float32 stops making progress."""
        self.matrix = Matrix(self.tiles, self.form, np.float64)
        self._compute()

    @property
    def errors(self) -> Vector:
        """Standard deviation of the rounding error of each score, assuming independent errors."""
        return np.sqrt(self._stale + self._fresh * self._diagonal)

    @property
    def noise(self) -> float:
        """The largest error of a score that rounding may have put on the wrong side of the margin."""
        errors = self.errors
        return float(errors[self._near_margin(errors, self.nearness())].max(initial=0.0))

    def note_change(self, members: Indices, change: Vector) -> None:
        """Record the rounding error of a change of z that was added to f through float32 rows.

        It is relative to the values of K; |Kₜⱼ|² ≤ Kₜₜ Kⱼⱼ for semidefinite K.
        """
        if self.matrix.in_single:
            self._fresh += self._rounding**2 * float(change**2 @ self._diagonal[members])

    def violation(self) -> float:
        """Return the maximal violation over all variables."""
        terms = self.terms
        self.up, self.down, _, violation = slopes(self.f, self.z, terms, self.equalities)
        self._gap = None
        return violation

    def relative_gap(self, rounding: float = 0.0) -> float:
        """Return (gap + rounding) / |dual objective| at the last `violation`; inf if a bound is."""
        if self._gap is None:
            sums = self.form.sums
            self._gap = gap_and_dual(self.f, self.z, self.terms, sums, self.constant, np.inf)
        gap, dual = self._gap
        return (gap + rounding) / dual

    def nearness(self) -> Vector:
        """Return the violation of each variable's condition; negative if it is satisfied.

        A free variable has two conditions; the larger deviation counts.
        """
        b = self.b[self.terms.groups]
        rise, fall = self.up - b, b - self.down
        both = np.abs(np.maximum(rise, fall))
        return np.where(np.isinf(rise), fall, np.where(np.isinf(fall), rise, both))

    def absorb(self, members: Indices, z: Vector, f: Vector, b: Vector) -> Iterator[None]:
        """Copy back the active variables, and update all other scores."""
        change = z - self.z[members]
        self.z[members], self.f[members], self.b = z, f, b
        if members.size == self.n:
            return
        inactive = np.ones(self.n, np.bool_)
        inactive[members] = False
        updated, moved = np.flatnonzero(inactive), np.flatnonzero(change)
        for at in range(0, moved.size, 2048):  # columns of K between two pauses
            batch = moved[at : at + 2048]
            self.f[updated] += self.matrix.products(updated, members[batch], change[batch])
            yield

    def _near_margin(self, errors: Vector, nearness: Vector) -> NDArray[np.bool_]:
        """Return whose scores rounding may have put on the wrong side of the margin."""
        return (errors > 0) & (nearness >= -TUNING.error_sigmas * errors)

    def doubtful(self, violation: float) -> Indices:
        """Return the variables for which rounding may hide whether they violate by `violation`."""
        errors = self.errors
        candidates = self.nearness() >= -(2 * TUNING.error_sigmas * errors + violation)
        return np.flatnonzero(candidates & (errors > 0.05 * violation))

    def doubtful_for_gap(self, gap: float) -> Indices:
        """Return the variables whose rounding errors may hide that the relative gap exceeds `gap`."""
        if self.relative_gap(self.error_of_gap()) <= 1.1 * gap:
            return np.empty(0, np.intp)
        return np.flatnonzero(self._near_margin(self.errors, self.nearness()))

    def error_of_gap(self) -> float:
        """Return what rounding errors of scores, if independent, rarely add to the gap.

        In it, the distance |u| of a score to the margin is multiplied by the width of the variable's
        box. To |u|, a normal error e of standard deviation s adds at most √(2/π)·s·exp(−½(u/s)²) on
        average: nothing where |u| is large. The rest has either sign, and its sum rarely exceeds a few
        of its standard deviations.
        """
        errors, nearness = self.errors, self.nearness()
        candidates = self._near_margin(errors, nearness)
        s, weighted = errors[candidates], (errors * (self.terms.hi - self.terms.lo))[candidates]
        mean = sqrt(2 / pi) * float(weighted @ np.exp(-0.5 * (nearness[candidates] / s) ** 2))
        return mean + TUNING.error_sigmas * sqrt(float(weighted @ weighted))

    def refresh(self, chosen: Indices) -> Iterator[None]:
        """Recompute the scores of the chosen variables in float64, pausing now and then."""
        step = max(1, 2**28 // max(1, np.count_nonzero(self.z)))  # 2²⁷ values of K between pauses
        for at in range(0, chosen.size, step):
            if at:
                yield
            batch = chosen[at : at + step]
            self.f[batch] = self.matrix.exact_scores(batch, self.z)
        self._stale += self._fresh * self._diagonal
        self._stale[chosen] = self._fresh = 0.0
        self.refreshes += 1
