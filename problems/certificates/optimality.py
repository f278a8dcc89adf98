"""How far a dual point is from optimal, for the two kinds of losses that there are.

A loss with pieces (hinge, tube) has a box QP as its dual: offsets are found by sorting, and the gap is
a sum of products that are not negative, so that no two large numbers are subtracted (`box_gap`).

For any convex loss the gap at w = Σ βᵢφ(xᵢ) is the sum of Cᵢℓ(yᵢ, fᵢ) + Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) + βᵢfᵢ ≥ 0
(Fenchel and Young; Rockafellar 1970, theorem 31.3). At the optimum βᵢ = −Cᵢℓ'(yᵢ, fᵢ), which makes a
dual point of any weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from problems.box_gap import gap_terms
from problems.dataset import Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.offsets import Interval, best_offsets, root_offset
from problems.dual_problem.recovery import DualPoint, dual_from_weights, made_dual
from problems.losses import ScalarLoss
from problems.losses.interval import IntervalLoss
from problems.rounding import ELEMENTARY, gamma, underflow

# Slope of p·ln p where p is one unit of 1: that of p which is right to some units of 1.
_ENTROPY = 40.0
_SQUARABLE = 1e150  # numbers whose squares do not overflow


class Optimality(NamedTuple):
    """How far a feasible dual point is from optimal, at some offsets.

    Attributes
    ----------
    terms : the shares that the gap is the sum of.
    """

    terms: Vector
    kkt_violation: float
    violating_pair: float


class Pieces:
    """Optimality conditions of a piecewise linear loss: those of its box QP."""

    def __init__(self, problem: DualProblem) -> None:
        self.problem, self.box = problem, problem.box
        self.pieces = problem.pieces or []

    def offsets(self, scores: Vector) -> list[Interval]:
        """Return the interval of best offsets of each group for the scores (n,)."""
        return best_offsets(self.problem, scores)

    def at(self, dual: DualPoint, offsets: list[float]) -> Optimality:
        """Return what is known at a dual point and offsets."""
        box, x = self.box, self.problem.to_box_variables(dual.alpha)
        g = self.problem.box_gradient(dual.scores)
        terms = gap_terms(box.lagrangian_gradient(g, offsets), x - box.lb, box.ub - x)
        return Optimality(terms, box.kkt_violation(g, x), box.violating_pair(g, x))

    def conjugates(self, beta: Vector) -> tuple[Vector, Vector]:
        """Return Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) for coefficients (n,), and by how much each may be wrong."""
        x = self.problem.to_box_variables(self.problem.alpha(beta)).reshape(len(self.pieces), -1)
        sizes = [np.abs(p.target) + abs(p.offset) for p in self.pieces]
        values = sum(p.cost * own for p, own in zip(self.pieces, x, strict=True))
        errors = sum(size * np.abs(own) for size, own in zip(sizes, x, strict=True))
        return np.asarray(values), gamma(8) * np.asarray(errors)

    def from_weights(self, w: Vector) -> DualPoint:
        """Return a good dual point for weights `w` (d,)."""
        return dual_from_weights(self.problem, w)


class Slopes:
    """Optimality conditions of any convex loss, in one or several scores."""

    def __init__(self, problem: DualProblem) -> None:
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
        f = dual.scores + sum(offsets)
        inner = (beta * f).reshape(problem.n, -1).sum(axis=1)
        losses = problem.weight * problem.loss.value(problem.y, f)
        terms = np.maximum(losses + self.conjugates(beta)[0] + inner, 0.0)
        return Optimality(terms, self._residual(beta, f), float("nan"))

    def conjugates(self, beta: Vector) -> tuple[Vector, Vector]:
        """Return Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) for coefficients (n,) or (n, K), and how wrong each may be.

        A product with an end of the interval and a square, or K times p·ln p.
        """
        problem = self.problem
        C, y = problem.weight, problem.y
        values = C * problem.loss.conjugate(y, -beta / self._each(beta))
        sizes = np.abs(beta).reshape(problem.n, -1).sum(axis=1) * (np.abs(y) + problem.tube)
        is_interval = isinstance(problem.loss, IntervalLoss)
        entropies = 0.0 if is_interval else problem.outputs * _ENTROPY * C
        lost = underflow(C) * beta.reshape(problem.n, -1).any(axis=1)
        return values, gamma(2 * ELEMENTARY) * (np.abs(values) + sizes + entropies) + lost

    def from_weights(self, w: Vector) -> DualPoint:
        """Return the better one of −Cᵢℓ'(yᵢ, fᵢ) at f = Xw + b, and of 0, whose dual value is 0."""
        problem, scores = self.problem, self.problem.X @ w
        shift = sum(low for low, _ in self.offsets(scores))
        slopes = problem.loss.subgradient(problem.y, scores + shift)
        if (np.abs(slopes) < _SQUARABLE).all():
            dual = made_dual(problem, problem.alpha(-self._each(slopes) * slopes))
            conjugates, _ = self.conjugates(problem.beta(dual.alpha))
            if -0.5 * dual.weights.norm2 >= float(conjugates.sum()):
                return dual
        return made_dual(problem, np.zeros_like(scores))

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
