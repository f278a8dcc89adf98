"""The canonical forms a solver can ask for.

`QP`      min ½xᵀPx + qᵀx   s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub
`BoxQP`   min ½xᵀQx + pᵀx   s.t. Σ_{i∈g} aᵢxᵢ = delta_g for disjoint groups g, lb ≤ x ≤ ub
`ERM`     min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b)   (b = 0 without intercept)
`Sharded` the same for a linear kernel, of samples in blocks

A form is what a solver is given and never changes. `start` is where to begin, if the caller has an
idea; a solver may ignore it. `made_by` is the method by which a problem reduces to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import scipy

from dualgap.problems.blocks import Block, Blocks
from dualgap.problems.box_gap import (
    best_multiplier,
    gap_terms,
    kkt_violation,
    middle,
    violating_pair,
)
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.gram import GIBIBYTE, Gram, SignedGram
from dualgap.problems.losses import Loss
from dualgap.problems.projection import members_of, project

# "unbounded" of a problem without samples, which a feasible point does not refute
Claim = Literal["optimal", "infeasible", "unbounded", "stopped", "none"]


@dataclass(frozen=True, eq=False)
class BoxQP:
    """min ½xᵀQx + pᵀx s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub.

    Attributes
    ----------
    Q : (n, n) as an operator.
    p, lb, ub : (n,); bounds may be infinite.
    a : (n,) coefficients of the equalities; None where there is none.
    groups : (n,) the equality that each variable is in, −1 for none; None for one equality of all.
    delta : (number of groups,), empty where there is no equality.
    start : (n,) where to begin, or None; it is feasible.
    """

    Q: SignedGram
    p: Vector
    a: Vector | None
    groups: Indices | None
    delta: Vector
    lb: Vector
    ub: Vector
    start: Vector | None = None
    made_by: ClassVar[str] = "to_box"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.p.size

    @property
    def gram(self) -> Gram:
        """The Gram matrix behind Q, which counts kernel evaluations."""
        return self.Q.gram

    @cached_property
    def equalities(self) -> list[tuple[Indices, Vector, float]]:
        """The variables, `a` and delta of each equality; they have no variable in common."""
        if self.a is None:
            return []
        if self.groups is None:
            return [(np.arange(self.n), self.a, float(self.delta[0]))]
        members = members_of(self.groups, self.delta.size)
        return [(i, self.a[i], d) for i, d in zip(members, self.delta.tolist(), strict=True)]

    def equality_rows(self) -> tuple[scipy.sparse.csc_array, Vector] | tuple[None, None]:
        """Return A (groups, n) and b_eq of the equalities Ax = b_eq; None, None without any."""
        if self.a is None:
            return None, None
        if self.groups is None:
            return scipy.sparse.csc_array(self.a[None, :]), self.delta
        inside = np.flatnonzero(self.groups >= 0)
        entries = self.a[inside], (self.groups[inside], inside)
        return scipy.sparse.csc_array(entries, shape=(self.delta.size, self.n)), self.delta

    def project(self, z: Vector) -> Vector:
        """Return the feasible point nearest to `z` (n,)."""
        return project(z, self.lb, self.ub, self.a, self.delta, self.groups)

    def first_point(self) -> Vector:
        """Return where to begin: a copy of `start`, else the feasible point nearest to 0."""
        return self.project(np.zeros(self.n)) if self.start is None else self.start.copy()

    def multipliers(self, g: Vector) -> list[tuple[float, float]]:
        """Return the interval of best multipliers ν_g of each equality, for the gradient `g` (n,)."""
        return [
            best_multiplier(g[i], a, (self.ub - self.lb)[i], constant=delta - float(a @ self.lb[i]))
            for i, a, delta in self.equalities
        ]

    def lagrangian_gradient(self, g: Vector, nu: Sequence[float] | None = None) -> Vector:
        """Return r = g + ν_g·aᵢ for the gradient `g` (n,), by default at the best multipliers."""
        nu = [middle(*interval) for interval in self.multipliers(g)] if nu is None else nu
        r = g.copy()
        for (i, a, _), value in zip(self.equalities, nu, strict=True):
            r[i] += value * a
        return r

    def gap_terms(self, g: Vector, x: Vector) -> Vector:
        """Return each variable's share of the duality gap at `x` (n,) with the gradient `g`."""
        return gap_terms(self.lagrangian_gradient(g), x - self.lb, self.ub - x)

    def violating_pair(self, g: Vector, x: Vector) -> float:
        """Return how far the most violating pair is from optimal, see `box_gap.violating_pair`."""
        return violating_pair(g, self.a, x - self.lb, self.ub - x, self.groups)

    def kkt_violation(self, g: Vector, x: Vector) -> float:
        """Return the natural residual, see `box_gap.kkt_violation`."""
        return kkt_violation(g, self.a, x - self.lb, self.ub - x, self.groups)


@dataclass(frozen=True, eq=False)
class QP:
    """min ½xᵀPx + qᵀx s.t. Gx ≤ h, A x = b_eq, lb ≤ x ≤ ub.

    `P` is a sparse matrix, or the Gram operator of a dual (its `dense()` is computed by the solver,
    on the solver's time). `G`, `A` are sparse or None; infinite bounds are none.
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
    made_by: ClassVar[str] = "to_qp"

    @property
    def n(self) -> int:
        """Number of variables."""
        return self.q.size

    @property
    def gram(self) -> Gram | None:
        """The Gram matrix behind P, where there is one."""
        return self.P.gram if isinstance(self.P, SignedGram) else None


@dataclass(frozen=True, eq=False)
class ERM:
    """min ½‖w‖² + Σᵢ Cᵢ·loss(yᵢ, wᵀφ(xᵢ) + b), the regularised empirical risk.

    With λ = 1/ΣCᵢ this is 1/λ times (λ/2)‖w‖² + Σᵢ (Cᵢ/ΣC)·lossᵢ. For a linear kernel φ(x) = x and
    w is a vector; else w = Σᵢ βᵢφ(xᵢ) is known through β alone. `start` is such a β, shape (n,).
    The softmax loss has K scores a sample: w is (d, K), β (n, K).
    """

    gram: Gram
    y: Vector
    C: Vector
    loss: Loss
    intercept: bool
    start: Vector | None = None
    made_by: ClassVar[str] = "to_erm"

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.y.size


@dataclass(frozen=True, eq=False)
class Sharded:
    """min ½‖w‖² + Σᵢ C·cᵢ·loss(yᵢ, wᵀxᵢ + b) of samples in blocks, where cᵢ are their weights, else 1.

    A point is w (d,), b, and what a `DualRule` packs as its dual variables.
    """

    blocks: Blocks
    C: float
    loss: Loss
    intercept: bool
    made_by: ClassVar[str] = "to_sharded"
    gram: ClassVar[None] = None  # which samples in blocks never have

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.blocks.n

    def weights(self, block: Block) -> Vector:
        """Return C·cᵢ of a block's samples, shape (m,)."""
        return np.full(block.y.size, self.C) if block.weight is None else self.C * block.weight


Form = BoxQP | QP | ERM | Sharded


@dataclass(frozen=True, eq=False)
class FormPoint:
    """What a solver shows when it yields: its current answer, in the variables of its form.

    Attributes
    ----------
    x : the form's variables: BoxQP and QP (n,); ERM: w (d,), or None where only beta is known; of a
        formulation that is solved as it is, alpha (n,).
    beta : ERM only: coefficients of w = Σ βᵢφ(xᵢ), if the method carries them, shape (n,); Sharded:
        the numbers of a `DualRule`.
    b : the intercept, if the method has one; beside dual variables it is only examined, see `diagnosis`.
    inequality : QP only: multipliers of Gx ≤ h, if the method has them.
    iterations : the method's own count so far.
    claim : what the solver says of this point; the last one yielded counts.
    counters : anything else worth recording, by name.
    note : a sentence for the record's reason, of the last point.
    w : of a formulation that is solved as it is, the weights, if the method has its own.
    version : of a program, what it says of its version.
    equality : QP only: multipliers of A x = b_eq, if the method has them.
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

    @property
    def has_values(self) -> bool:
        """Whether there is an answer, or the method is only still running."""
        return self.x is not None or self.beta is not None or self.w is not None


@dataclass(frozen=True, eq=False)
class Point:
    """An answer to a formulation: dual variables, weights, intercept; None for what is not known.

    `alpha` (n,) has soft-margin scaling for every view of a problem; for regression it is α − α*.
    For K classes `alpha` is (n, K) and `w` (d, K); for several binary problems `b` is (outputs,) too.
    Of samples in blocks `rule` is what `alpha` follows from, see `DualRule.packed`.
    """

    alpha: Vector | None = None
    w: Vector | None = None
    b: float | Vector | None = None
    rule: Vector | None = None

    def __post_init__(self) -> None:
        for name in ("alpha", "w"):
            value = getattr(self, name)
            if value is not None:
                array = np.asarray(value, dtype=np.float64)
                one_column = array.ndim != 2 or array.shape[1] == 1
                object.__setattr__(self, name, array.ravel() if one_column else array)


F = TypeVar("F", bound=Any)


@dataclass(frozen=True, eq=False)
class Reduction(Generic[F]):
    """A form, and the function that takes its points back to the formulation."""

    form: F
    recover: Callable[[FormPoint], Point]


class AsPosed:
    """Any problem as it is posed, with samples or without: what is written to a file."""

    made_by: ClassVar[str] = "as_posed"


class Unsupported(Exception):
    """No chain leads from a problem to a solver; the message is the sentence to show."""


def reduce(
    problem: Any,
    form: type[F],
    start: Point | None = None,
    memory: int = GIBIBYTE,
    gram: Gram | None = None,
) -> Reduction[F]:
    """Return `problem` as a form that a solver wants, and the way back to (alpha, w, b).

    Problems whose loss is piecewise linear have the `BoxQP` of their dual, and a `QP` in their own view;
    those with a finite loss and one intercept an `ERM`; a structured margin has its `Chains`. As a
    `Formulation`, if it has samples, and `AsPosed` it is the problem itself, whose points are alpha.

    Parameters
    ----------
    problem : any formulation.
    form : the class of form wanted.
    start : where to begin; its `alpha` is made feasible first.
    memory : bytes that the form's Gram matrix may keep.
    gram : the Gram matrix of these samples to go by, None for a new one.

    Raises
    ------
    Unsupported
        If the formulation has no such form; the message says why.
    """
    if problem.in_blocks:
        if form is not Sharded:
            raise Unsupported(
                "its samples are in blocks, of which one at a time is in memory, and this solver needs "
                "all at once: name near_rows"
            )
        return problem.to_sharded(None, start)
    return getattr(problem, form.made_by)(problem.gram(memory) if gram is None else gram, start)
