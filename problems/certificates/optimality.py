"""How far a dual point is from optimal, for the two kinds of losses that there are.

A loss with pieces (hinge, tube) has a box QP as its dual: offsets are found by sorting, and the gap is
a sum of products that are not negative, so that no two large numbers are subtracted (`box_gap`).

For any convex loss the gap at w = Σ βᵢφ(xᵢ) is the sum of Cᵢℓ(yᵢ, fᵢ) + Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) + βᵢfᵢ ≥ 0
(Fenchel and Young; Rockafellar 1970, theorem 31.3). At the optimum βᵢ = −Cᵢℓ'(yᵢ, fᵢ), which makes a
dual point of any weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from problems.box_gap import gap_terms, middle
from problems.certificates.dual_point import DualPoint, dual_from_weights, feasible_dual
from problems.certificates.offsets import Interval, best_offsets, root_offset, shifts
from problems.dataset import Vector
from problems.losses import ScalarLoss

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation

_SQUARABLE = 1e150  # numbers whose squares do not overflow
_NO_LOSS = 1e-14  # of Σ Cᵢ: below it w = 0 has no loss but for rounding


class Optimality(NamedTuple):
    """What is known at a feasible dual point and offsets.

    Attributes
    ----------
    dual : the dual objective. terms : the shares that the gap is the sum of.
    """

    dual: float
    terms: Vector
    kkt_violation: float
    violating_pair: float


class Pieces:
    """Optimality conditions of a piecewise linear loss: those of its box QP."""

    def __init__(self, problem: Formulation) -> None:
        self.problem, self.box = problem, problem.box

    def offsets(self, scores: Vector) -> list[Interval]:
        """Return the interval of best offsets of each group for the scores (n,)."""
        return best_offsets(self.problem, scores)

    def at(self, dual: DualPoint, offsets: list[float]) -> Optimality:
        """Return what is known at a dual point and offsets."""
        box, x = self.box, self.problem.to_box_variables(dual.alpha)
        g = self.problem.box_gradient(dual.scores)
        terms = gap_terms(box.lagrangian_gradient(g, offsets), x - box.lb, box.ub - x)
        value = -0.5 * float(x @ (g + box.p))
        return Optimality(value, terms, box.kkt_violation(g, x), box.violating_pair(g, x))

    def from_weights(self, w: Vector) -> DualPoint:
        """Return a good dual point for weights `w` (d,)."""
        return dual_from_weights(self.problem, w)

    def at_zero(self) -> tuple[float, str]:
        """Return what a gap is relative to where w = 0 is optimal and has no loss, else 0.

        That is the objective at w = 0 without an offset; of a tube that holds all targets, the loss
        of missing each by as much as the tube is wide.
        """
        problem, zero = self.problem, np.zeros(self.problem.n)
        if problem.costs.any():
            return 0.0, ""
        offsets = [middle(*interval) for interval in self.offsets(zero)]
        decision = zero + shifts(problem, offsets)
        largest = float(np.abs(problem.y).max()) + max(map(abs, offsets), default=0.0)
        rounding = 4 * np.finfo(float).eps * largest
        if (problem.loss.value(problem.y, decision) > rounding).any():
            return 0.0, ""
        without = float(problem.weight @ problem.loss.value(problem.y, zero))
        return without or float(problem.weight.sum()) * (problem.tube or 1.0), ""


class Slopes:
    """Optimality conditions of any convex loss, in one or several scores."""

    def __init__(self, problem: Formulation) -> None:
        self.problem = problem

    def offsets(self, scores: Vector) -> list[Interval]:
        """Return the best offset for the scores, (n,) or (n, K), if the problem has one."""
        if not self.problem.intercept:
            return []
        b = root_offset(self.problem, scores)
        return [(b, b)]

    def at(self, dual: DualPoint, offsets: list[float]) -> Optimality:
        """Return what is known at a dual point and offsets."""
        problem, beta = self.problem, self.problem.beta(dual.alpha)
        C, y, loss = problem.weight, problem.y, problem.loss
        f = dual.scores + sum(offsets)
        inner = (beta * f).reshape(problem.n, -1).sum(axis=1)
        conjugate = loss.conjugate(y, -beta / self._each(beta))
        terms = np.maximum(C * (loss.value(y, f) + conjugate) + inner, 0.0)
        value = 0.0 - 0.5 * float((beta * dual.scores).sum()) - float(C @ conjugate)
        return Optimality(value, terms, self._residual(beta, f), float("nan"))

    def from_weights(self, w: Vector) -> DualPoint:
        """Return the better one of −Cᵢℓ'(yᵢ, fᵢ) at f = Xw + b, and of 0, whose dual value is 0."""
        problem, scores = self.problem, self.problem.X @ w
        shift = sum(low for low, _ in self.offsets(scores))
        slopes = problem.loss.subgradient(problem.y, scores + shift)
        if (np.abs(slopes) < _SQUARABLE).all():
            dual = feasible_dual(problem, problem.alpha(-self._each(slopes) * slopes))
            beta = problem.beta(dual.alpha)
            conjugate = problem.loss.conjugate(problem.y, -beta / self._each(beta))
            if -0.5 * float((beta * dual.scores).sum()) >= float(problem.weight @ conjugate):
                return dual
        return DualPoint(np.zeros_like(scores), np.zeros_like(scores))

    def at_zero(self) -> tuple[float, str]:
        """Return Σ Cᵢ where the objective at w = 0 and the best b is 0 but for rounding, else 0."""
        problem = self.problem
        zero = np.zeros((problem.n, problem.outputs) if problem.outputs > 1 else problem.n)
        decision = zero + sum(low for low, _ in self.offsets(zero))
        total = float(problem.weight.sum())
        if float(problem.weight @ problem.loss.value(problem.y, decision)) > _NO_LOSS * total:
            return 0.0, ""
        return total, "w = 0 is optimal: no sample has a loss there"

    def _each(self, values: Vector) -> Vector:
        """Return the weights Cᵢ with as many axes as `values`, (n,) or (n, K)."""
        return self.problem.weight.reshape(-1, *(1 for _ in values.shape[1:]))

    def _residual(self, beta: Vector, f: Vector) -> float:
        """Return how far β is from its fixed point: the natural residual |β − step(β)|.

        step(β) maximises the dual plus −½(β' − β)² in each coefficient, at the best b; with several
        scores the residual is |β + Cℓ'(f)|.
        """
        C, y, loss = self.problem.weight, self.problem.y, self.problem.loss
        if isinstance(loss, ScalarLoss):
            goal = C * loss.dual_step(y, f - beta, C)
        else:
            goal = -self._each(beta) * loss.subgradient(y, f)
        return float(np.abs(beta - goal).max())
