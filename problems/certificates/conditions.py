"""How far a dual point is from optimal, for the two kinds of losses that there are.

A loss with pieces (hinge, tube) has a box QP as its dual: offsets are found by sorting, and the gap is
a sum of products that are not negative, so that no two large numbers are subtracted (`box_gap`).

For any convex loss the gap at w = Σ βᵢφ(xᵢ) is the sum of Cᵢℓ(yᵢ, fᵢ) + Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) + βᵢfᵢ ≥ 0
(Fenchel and Young; Rockafellar 1970, theorem 31.3). At the optimum βᵢ = −Cᵢℓ'(yᵢ, fᵢ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from problems.box_gap import gap_terms
from problems.dataset import Vector
from problems.dual_problem.dual import DualProblem
from problems.losses import ScalarLoss


class Optimality(NamedTuple):
    """How far a feasible dual point is from optimal, at some offsets, as in `Certificate`."""

    complementarity: float
    kkt_violation: float
    violating_pair: float


def optimality(
    problem: DualProblem, alpha: Vector, scores: Vector, offsets: Sequence[float]
) -> Optimality:
    """Return how far `alpha` with the scores Kβ is from optimal."""
    if problem.pieces is None:
        return _of_slopes(problem, problem.beta(alpha), scores + sum(offsets))
    box, x = problem.box, problem.to_box_variables(alpha)
    g = problem.box_gradient(scores)
    terms = gap_terms(box.lagrangian_gradient(g, offsets), x - box.lb, box.ub - x)
    return Optimality(float(terms.max()), box.kkt_violation(g, x), box.violating_pair(g, x))


def _of_slopes(problem: DualProblem, beta: Vector, f: Vector) -> Optimality:
    """Return it for any loss: the natural residual is |β − step(β)|, at the best offset.

    step(β) maximises the dual plus −½(β' − β)² in each coefficient; with several scores the residual is
    |β + Cℓ'(f)|.
    """
    y, loss = problem.y, problem.loss
    C = problem.weight.reshape(-1, *(1 for _ in beta.shape[1:]))
    inner = (beta * f).reshape(problem.n, -1).sum(axis=1)
    terms = problem.weight * (loss.value(y, f) + loss.conjugate(y, -beta / C)) + inner
    if isinstance(loss, ScalarLoss):
        goal = C * loss.dual_step(y, f - beta, C)
    else:
        goal = -C * loss.subgradient(y, f)
    residual = float(np.abs(beta - goal).max())
    return Optimality(max(0.0, float(terms.max())), residual, float("nan"))
