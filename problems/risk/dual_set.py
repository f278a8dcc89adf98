"""The dual feasible set of a risk: its limits, equalities and budget."""

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.losses import VectorLoss
from dualgap.problems.projection import project
from dualgap.problems.risk.risk import Risk


def required_sums(risk: Risk) -> Vector:
    """Return the required sum of the coefficients β of each group; of all, with offsets by side."""
    return risk.costs.sum(keepdims=True) if risk.by_side else risk.costs


def project_dual(risk: Risk, alpha: Vector) -> Vector:
    """Return the nearest dual feasible point to `alpha` (n,), scaled down to the budget if needed.

    An excess over the budget by rounding remains: bounds account for it.
    """
    if isinstance(risk.loss, VectorLoss):
        return risk.loss.project_dual(risk.y, risk.C, alpha)
    sums = required_sums(risk)
    a = risk.loss.signs(risk.y) if sums.size else None
    nearest = project(alpha, *risk.limits, a, sums, risk.groups)
    size, limit = float(np.abs(nearest).sum()), risk.budget
    return nearest * (limit / size) if size > (1 + 1e-12) * limit else nearest


def infeasibility(risk: Risk, alpha: Vector) -> float:
    """Return the largest violation of a bound, an equality or the budget by `alpha` (n,)."""
    if isinstance(risk.loss, VectorLoss):
        return risk.loss.dual_violation(risk.y, risk.C, alpha)
    low, high = risk.limits
    box, over = np.maximum(alpha - high, low - alpha), np.abs(alpha).sum() - risk.budget
    worst, required = max(0.0, float(box.max()), float(over)), required_sums(risk)
    if not required.size:
        return worst
    beta = risk.beta(alpha)
    sums = beta.sum(keepdims=True)
    if risk.groups is not None:  # bin 0 holds the samples in no group
        sums = np.bincount(risk.groups + 1, beta, required.size + 1)[1:]
    return max(worst, float(np.abs(sums - required).max()))
