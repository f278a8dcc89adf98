"""The canonical forms that solvers take.

`QP`       min ½xᵀPx + qᵀx   s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub
`KernelQP` min ½βᵀKβ + qᵀβ + Σ epsᵢ|βᵢ|   s.t. Σ_{i∈g} βᵢ = sums_g for disjoint groups g, lo ≤ β ≤ hi
`BoxQP`    min ½xᵀQx + pᵀx   s.t. Σ_{i∈g} aᵢxᵢ = delta_g for disjoint groups g, lb ≤ x ≤ ub
`ERM`      min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b)   (b = 0 without intercept)

A solver receives a form, which is immutable. `start` is an optional initial point, which a solver may
ignore. A problem states in `Problem.forms` to which of them it reduces; others than these are the
problem as posed, and its `Risk`, whose samples may be in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import scipy

from dualgap.problems.blocks import DualRule
from dualgap.problems.box import (
    best_multiplier,
    gap_terms,
    kkt_violation,
    members_of,
    middle,
    project,
    violating_pair,
)
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.gram import Gram, SignedGram
from dualgap.problems.losses import Loss, Terms
from dualgap.problems.losses.base import Side

# "unbounded": for problems without samples; a feasible point does not refute it
Claim = Literal["optimal", "infeasible", "unbounded", "stopped", "none"]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """min ½xᵀQx + pᵀx s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub.

    Attributes
    ----------
    Q : (n, n), an operator.
    p, lb, ub : (n,); bounds may be infinite.
    a : (n,) coefficients of the equalities, or None.
    groups : (n,) index of each variable's equality, −1 for none; None for one equality over all.
    delta : (number of groups,), empty without equalities.
    start : (n,) a feasible initial point, or None.
    joined : the form that it is the `box` of, or None; a changed copy has none.
    """

    Q: SignedGram
    p: Vector
    a: Vector | None
    groups: Indices | None
    delta: Vector
    lb: Vector
    ub: Vector
    start: Vector | None = None
    joined: KernelQP | None = field(default=None, init=False)

    title: ClassVar[str] = "a box QP"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.p.size

    @property
    def gram(self) -> Gram:
        """The Gram matrix underlying Q, which counts kernel evaluations."""
        return self.Q.gram

    @property
    def is_bounded(self) -> bool:
        """Whether all bounds are finite."""
        return bool(np.isfinite(self.lb).all() and np.isfinite(self.ub).all())

    @cached_property
    def equalities(self) -> list[tuple[Indices, Vector, float]]:
        """Variables, coefficients and delta of each equality; their variables are disjoint."""
        if self.a is None:
            return []
        if self.groups is None:
            return [(np.arange(self.n), self.a, float(self.delta[0]))]
        members = members_of(self.groups, self.delta.size)
        return [(i, self.a[i], d) for i, d in zip(members, self.delta.tolist(), strict=True)]

    def equality_rows(self) -> tuple[scipy.sparse.csc_array, Vector] | tuple[None, None]:
        """Return A (groups, n) and b_eq of the equalities Ax = b_eq, or None, None."""
        if self.a is None:
            return None, None
        if self.groups is None:
            return scipy.sparse.csc_array(self.a[None, :]), self.delta
        inside = np.flatnonzero(self.groups >= 0)
        entries = self.a[inside], (self.groups[inside], inside)
        return scipy.sparse.csc_array(entries, shape=(self.delta.size, self.n)), self.delta

    def gradient(self, scores: Vector) -> Vector:
        """Return Qx + p from the scores f = K Σ signⱼxⱼ of the samples."""
        return self.Q.sign * scores[self.Q.index] + self.p

    def project(self, z: Vector) -> Vector:
        """Return the feasible point nearest to `z` (n,)."""
        return project(z, self.lb, self.ub, self.a, self.delta, self.groups)

    def first_point(self) -> Vector:
        """Return a copy of `start`, by default the feasible point nearest to 0."""
        return self.project(np.zeros(self.n)) if self.start is None else self.start.copy()

    def multipliers(self, g: Vector) -> list[tuple[float, float]]:
        """Return the interval of best multipliers ν_g of each equality, for the gradient `g` (n,)."""
        return [
            best_multiplier(g[i], a, (self.ub - self.lb)[i], constant=delta - float(a @ self.lb[i]))
            for i, a, delta in self.equalities
        ]

    def lagrangian_gradient(self, g: Vector, nu: Sequence[float] | None = None) -> Vector:
        """Return r = g + ν_g·aᵢ for the gradient `g` (n,) and `nu`, by default the best multipliers."""
        nu = [middle(*interval) for interval in self.multipliers(g)] if nu is None else nu
        r = g.copy()
        for (i, a, _), value in zip(self.equalities, nu, strict=True):
            r[i] += value * a
        return r

    def gap_terms(self, g: Vector, x: Vector) -> Vector:
        """Return each variable's term of the duality gap at `x` (n,) with the gradient `g`."""
        return gap_terms(self.lagrangian_gradient(g), x - self.lb, self.ub - x)

    def violating_pair(self, g: Vector, x: Vector) -> float:
        """Return the violation of the most violating pair, see `box.violating_pair`."""
        return violating_pair(g, self.a, x - self.lb, self.ub - x, self.groups)

    def kkt_violation(self, g: Vector, x: Vector) -> float:
        """Return the natural residual, see `box.kkt_violation`."""
        return kkt_violation(g, self.a, x - self.lb, self.ub - x, self.groups)


class GroupedTerms(NamedTuple):
    """A `KernelQP` without K, as compiled code takes it: shape (n,) each.

    `groups` is the index of each variable's equality; 0 throughout if there is one equality, −1
    throughout if there is none.
    """

    q: Vector
    eps: Vector
    lo: Vector
    hi: Vector
    groups: Indices

    def of(self, chosen: Indices) -> GroupedTerms:
        """Return the terms of the chosen variables."""
        return GroupedTerms._make(values[chosen] for values in self)


@dataclass(frozen=True, eq=False)
class KernelQP:
    """min ½βᵀKβ + qᵀβ + Σ epsᵢ|βᵢ| s.t. Σ_{i∈g} βᵢ = sums_g for every group g, lo ≤ β ≤ hi.

    The dual of a piecewise linear loss, in the coefficients of w = Σ βᵢφ(xᵢ). K[i, j] is the kernel
    value of the samples of variables i and j.

    Attributes
    ----------
    gram : the Gram matrix of the samples.
    q, eps, lo, hi : (n,), with eps ≥ 0, and eps = 0 unless lo ≤ 0 ≤ hi; bounds may be infinite.
    sums : (number of groups,), empty without equalities.
    groups : (n,) index of each variable's equality, −1 for none; None for at most one, over all.
    sample : (n,) index of each variable's sample; None for one variable per sample.
    start : (n,) a feasible initial point, or None.
    """

    gram: Gram
    q: Vector
    eps: Vector
    lo: Vector
    hi: Vector
    sums: Vector
    groups: Indices | None = None
    sample: Indices | None = None
    start: Vector | None = None

    title: ClassVar[str] = "a kernel QP"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def is_bounded(self) -> bool:
        """Whether all bounds are finite."""
        return bool(np.isfinite(self.lo).all() and np.isfinite(self.hi).all())

    @cached_property
    def terms(self) -> GroupedTerms:
        """Costs, bounds and equalities of the variables."""
        groups = np.full(self.n, self.sums.size - 1) if self.groups is None else self.groups
        return GroupedTerms(self.q, self.eps, self.lo, self.hi, groups.astype(np.int64))

    @cached_property
    def sides(self) -> list[Side]:
        """The variables of each sign, see `Terms.sides`."""
        return Terms(self.q, self.eps, self.lo, self.hi).sides()

    @cached_property
    def samples(self) -> Indices:
        """The index of each variable's sample, (n,)."""
        return np.arange(self.n) if self.sample is None else self.sample

    @cached_property
    def members(self) -> list[Indices]:
        """The variables of each equality."""
        if self.groups is None:
            return [np.arange(self.n)] * self.sums.size
        return members_of(self.groups, self.sums.size)

    def first_point(self) -> Vector:
        """Return a copy of `start`, by default a feasible point near 0.

        Nearly all of its nonzero variables are at a bound, the first ones of each group. LIBSVM starts
        there too. The feasible point nearest to 0 moves all variables by the same amount, and nearly all
        of them have to move again.
        """
        if self.start is not None:
            return self.start.copy()
        beta = np.minimum(np.maximum(0.0, self.lo), self.hi)
        if not (beta.any() or self.sums.any()):  # 0 is feasible
            return beta
        for i, total in zip(self.members, self.sums.tolist(), strict=True):
            shortfall = total - float(beta[i].sum())
            slack = self.hi[i] - beta[i] if shortfall > 0 else beta[i] - self.lo[i]
            before = np.concatenate([[0.0], np.cumsum(slack)[:-1]])
            beta[i] += np.sign(shortfall) * np.clip(abs(shortfall) - before, 0.0, slack)
        a = np.ones(self.n) if self.sums.size else None
        # ValueError if infeasible
        return project(beta, self.lo, self.hi, a, self.sums, self.groups)

    @cached_property
    def box(self) -> BoxQP:
        """The box QP in x, with β = Σ sign·x over the `sides`; one after the other."""
        count = len(self.sides)
        sign, cost, low, high = (np.concatenate(parts) for parts in zip(*self.sides, strict=True))
        index = self.sample
        if count > 1:
            index = np.tile(self.samples, count)
        groups = None if self.groups is None else np.tile(self.groups, count)
        start = None if self.start is None else self.split_point(self.start)
        a = sign if self.sums.size else None
        Q = SignedGram(self.gram, sign, index)
        box = BoxQP(Q, cost, a, groups, self.sums, low, high, start)
        object.__setattr__(box, "joined", self)
        return box

    def split_gradient(self, scores: Vector) -> Vector:
        """Return the gradient of `box` from the scores Kβ (n,) of the variables."""
        return np.concatenate([side.residual(scores) for side in self.sides])

    def split_point(self, beta: Vector) -> Vector:
        """Return the variables x of `box` for `beta` (n,)."""
        parts = [side.sign * beta for side in self.sides]
        return parts[0] if len(parts) == 1 else np.maximum(np.concatenate(parts), 0.0)

    def joined_point(self, x: Vector) -> Vector:
        """Return β for the variables `x` of `box`; ValueError if there are more or fewer."""
        count = len(self.sides)
        if x.size != count * self.n:
            raise ValueError(f"alpha has {x.size} variables, expected {count * self.n}")
        parts = x.reshape(count, self.n)
        beta = [side.sign * part for side, part in zip(self.sides, parts, strict=True)]
        return beta[0] if len(beta) == 1 else np.sum(beta, axis=0)

    def of_samples(self, beta: Vector) -> Vector:
        """Return the variables for the coefficients `beta` of the samples: see `per_sample`.

        Two variables of each sample, first all β ≥ 0 and then all β ≤ 0, are increased equally in size
        until they have their `sums`.
        """
        if self.sample is None:
            return beta
        capacity, total = self.hi[: beta.size] - np.abs(beta), float(np.abs(self.sums).sum())
        remaining = 0.5 * (total - float(np.abs(beta).sum()))
        is_unused = remaining > 1e-12 * total  # and not the rounding error of the sum
        increase = capacity * (remaining / capacity.sum()) if is_unused else 0.0 * capacity
        parts = np.maximum(beta, 0.0) + increase, np.minimum(beta, 0.0) - increase
        return np.concatenate(parts)

    def per_sample(self, beta: Vector) -> Vector:
        """Return the coefficients of the samples: the sums of their variables."""
        return beta if self.sample is None else beta.reshape(2, -1).sum(axis=0)


@dataclass(frozen=True, eq=False)
class QP:
    """min ½xᵀPx + qᵀx s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub.

    `P` is a sparse matrix, or the Gram operator of a dual: a solver pays for calling its `dense()`.
    `G`, `A` are sparse or None; bounds may be infinite.
    """

    P: scipy.sparse.csc_array | SignedGram
    q: Vector
    G: scipy.sparse.csc_array | None
    h: Vector | None
    A: scipy.sparse.csc_array | None
    b_eq: Vector | None
    lb: Vector
    ub: Vector
    start: Vector | None = None

    title: ClassVar[str] = "a quadratic program"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def gram(self) -> Gram | None:
        """The Gram matrix underlying P, if any."""
        return self.P.gram if isinstance(self.P, SignedGram) else None


@dataclass(frozen=True, eq=False)
class ERM:
    """min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b), the regularised empirical risk.

    With λ = 1/ΣCᵢ this is 1/λ times (λ/2)‖w‖² + Σᵢ (Cᵢ/ΣC)·lossᵢ. For a linear kernel φ(x) = x and
    w is a vector; otherwise w = Σᵢ βᵢφ(xᵢ) is represented by β. `start` is a β, shape (n,).
    The softmax loss has K scores per sample: w is (d, K), β (n, K).
    """

    gram: Gram
    y: Vector
    C: Vector
    loss: Loss
    intercept: bool
    start: Vector | None = None

    title: ClassVar[str] = "an empirical risk"

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.y.size


Form = KernelQP | BoxQP | QP | ERM


@dataclass(frozen=True, eq=False)
class FormPoint:
    """The current answer of a solver, which it yields in the variables of its form.

    Attributes
    ----------
    x : the form's variables: KernelQP, BoxQP and QP (n,); ERM: w (d,), or None if only beta is known;
        for a formulation solved directly, alpha (n,).
    beta : ERM: coefficients of w = Σ βᵢφ(xᵢ), shape (n,), if the method has them.
    b : the intercept, if the method has one; next to dual variables it is only diagnosed.
    inequality : QP: multipliers of Gx ≤ h, if the method has them.
    iterations : the method's iteration count so far.
    claim : the solver's claim about this point; that of the last point counts.
    counters : further numbers to record, by name.
    note : a sentence for the record's reason; that of the last point counts.
    w : for a formulation solved directly, the weights, if the method computes them.
    version : the version that an external program reports.
    equality : QP: multipliers of A x = b_eq, if the method has them.
    rule : of a risk: the dual variables of samples in blocks.
    """

    x: Vector | None
    beta: Vector | None = None
    b: float | None = None
    inequality: Vector | None = None
    iterations: int = 0
    claim: Claim = "none"
    counters: Mapping[str, float] = field(default_factory=dict[str, float])
    note: str = ""
    w: Vector | None = None
    version: str = ""
    equality: Vector | None = None
    rule: DualRule | None = None

    @property
    def has_values(self) -> bool:
        """Whether it holds an answer, not just a sign that the method is still running."""
        return self.x is not None or self.beta is not None or self.w is not None

    @property
    def is_finite(self) -> bool:
        """Whether no number of x, beta and rule is NaN or infinite."""
        arrays = [v for v in (self.x, self.beta) if v is not None]
        are_finite = all(np.isfinite(v).all() for v in arrays)
        return are_finite and (self.rule is None or self.rule.is_finite)


@dataclass(frozen=True, eq=False)
class Point:
    """An answer to a formulation: dual variables, weights, intercept; None if unknown.

    `alpha` (n,) has soft-margin scaling in every formulation; for regression it is α − α*.
    For K classes `alpha` is (n, K) and `w` (d, K); for several binary problems `b` is (outputs,) too.
    For samples in blocks the dual variables follow from `rule`.
    """

    alpha: Vector | None = None
    w: Vector | None = None
    b: float | Vector | None = None
    rule: DualRule | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "w"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else as_column(value))

    @property
    def is_empty(self) -> bool:
        """Whether both alpha and w are unknown, so that there is nothing to certify."""
        return self.alpha is None and self.w is None

    @property
    def as_form_point(self) -> FormPoint:
        """The same in the names of a formulation that is solved as posed."""
        return FormPoint(self.alpha, b=self.b if isinstance(self.b, float) else None, w=self.w)


def as_column(values: Any) -> Vector:
    """Return values as float64; a matrix with one column becomes a vector."""
    array = np.asarray(values, dtype=np.float64)
    return array.ravel() if array.ndim != 2 or array.shape[1] == 1 else array


SomeForm = TypeVar("SomeForm", bound=Any)


@dataclass(frozen=True, eq=False)
class Reduction(Generic[SomeForm]):
    """A form, and the function that maps its points back to points of the problem."""

    form: SomeForm
    recover: Callable[[FormPoint], Any]


class Unsupported(Exception):
    """A problem cannot be reduced to a form or solved; the message is shown to the user."""
