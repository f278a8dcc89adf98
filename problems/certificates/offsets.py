"""The best intercept for scores f = Xw or Kβ: of a loss by sorting, of a margin by its middle."""

from __future__ import annotations

import numpy as np

from problems.certificates.box_gap import best_multiplier
from problems.dataset import Vector
from problems.formulations.formulation import Formulation
from problems.reductions import box_bounds


def box_gradient(problem: Formulation, scores: Vector) -> Vector:
    """Return Qx + p of the dual box QP from the scores f = Kβ: yf − 1, or ±(f − y) + epsilon."""
    p, _, _ = box_bounds(problem)
    if problem.is_regression:
        return np.concatenate([scores, -scores]) + p
    return problem.y * scores + p


def best_intercept(problem: Formulation, scores: Vector) -> tuple[float, float]:
    """Return all b that minimise Σ Cᵢ·loss(yᵢ, fᵢ + b) for scores f (n,), as an interval."""
    if not problem.intercept:
        return 0.0, 0.0
    _, a, ub = box_bounds(problem)
    assert a is not None
    return best_multiplier(box_gradient(problem, scores), a, ub)


def widest_margin(problem: Formulation, scores: Vector) -> tuple[float, float]:
    """Return the b that makes the smallest yᵢ(fᵢ + b) largest, and that margin."""
    y = problem.y
    if not problem.intercept:
        return 0.0, float((y * scores).min())
    if one_class(problem):  # any margin can be had by b alone
        return float(y[0] * (1.0 - (y * scores).min())), 1.0
    low, high = float(scores[y < 0].max()), float(scores[y > 0].min())
    return -0.5 * (low + high), 0.5 * (high - low)


def one_class(problem: Formulation) -> bool:
    """Return whether all labels are the same."""
    return bool((problem.y == problem.y[0]).all())
