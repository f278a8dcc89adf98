"""Bounds on a regularised risk with any convex loss, by Fenchel duality.

    dual(α) = −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)  ≤  optimum  ≤  primal(w, b) = ½‖w‖² + Σ Cᵢℓ(yᵢ, fᵢ),
    f = Kβ + b,   and with an intercept Σ βᵢ = 0
(Rockafellar 1970, theorem 31.3; Shalev-Shwartz & Zhang 2013). For w = Σ βᵢφ(xᵢ) the gap is a sum of
terms that are not negative, by Fenchel and Young: Cᵢℓ(yᵢ, fᵢ) + Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) + βᵢfᵢ. At the optimum
βᵢ = −Cᵢℓ'(yᵢ, fᵢ), which makes a dual point of any weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from problems.certificates.dual_point import DualPoint, feasible_dual, lost_norm2
from problems.dataset import Vector
from problems.forms import Point
from problems.formulations.formulation import Formulation
from problems.formulations.softmax import Softmax, project_to_simplex
from problems.losses import ScalarLoss

_FARTHEST = 1e300  # an intercept beyond it overflows
_SQUARABLE = 1e150  # numbers whose squares do not overflow
_NO_LOSS = 1e-14  # of Σ Cᵢ: below it w = 0 has no loss but for rounding


def risk_bounds(problem: Formulation, alpha: Vector | None, w: Vector | None) -> dict[str, Any]:
    """Return the fields of a `Certificate` for dual variables, weights or both, made feasible first.

    Without `alpha` it is recovered from `w`. With both the primal bound is taken at `w`.
    """
    dual = _recovered(problem, w) if alpha is None else _feasible(problem, alpha)
    beta, scores = problem.beta(dual.alpha), dual.scores
    norm2 = float((beta * scores).sum())
    lost = lost_norm2(problem, beta, norm2)
    b = best_offset(problem, scores)
    terms = _terms(problem, beta, scores + b)
    dual_objective = 0.0 - 0.5 * (norm2 + lost) - _conjugates(problem, beta)
    residual = _residual(problem, beta, scores + b)
    gap, own_w = float(terms.sum()) + lost, w
    primal_objective = float(np.maximum(0.0, dual_objective + gap))
    if own_w is not None:
        scores = problem.X @ own_w
        b = best_offset(problem, scores)
        primal_objective = 0.5 * float((own_w**2).sum()) + _losses(problem, scores + b)
        gap = gap_between(primal_objective, dual_objective)
    elif problem.is_linear:
        w = problem.X.T @ beta
    if not problem.is_psd:
        primal_objective = gap = float("nan")
    zero = _objective_at_zero(problem)
    least = 0.0 if zero else float(problem.weight.sum())  # where the optimum is 0 itself
    return {
        "primal_objective": primal_objective,
        "dual_objective": dual_objective,
        "gap": gap,
        "relative_gap": relative(gap, primal_objective, dual_objective, least),
        "kkt_violation": residual,
        "primal_residual": dual.primal_residual,
        "dual_residual": 0.0,
        "complementarity": float(terms.max()),
        "projection_distance": dual.projection_distance,
        "bound_source": _source(alpha, own_w),
        "point": Point(dual.alpha, w, b),
        "b_interval": (b, b),
        "reason": missing_bound(problem, gap)
        or ("" if zero else "w = 0 is optimal: no sample has a loss there"),
    }


def best_offset(problem: Formulation, scores: Vector) -> float:
    """Return a b that minimises Σ Cᵢℓ(yᵢ, fᵢ + b): the root of its slope, which never falls."""
    if not problem.intercept:
        return 0.0
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import

    def slope(b: float) -> float:
        return float(problem.weight @ problem.loss.subgradient(problem.y, scores + b))

    reach = 1.0 + float(np.abs(scores).max() + np.abs(problem.y).max())
    while reach < _FARTHEST and not slope(-reach) <= 0 <= slope(reach):
        reach *= 2.0  # losses that never reach 0 underflow in the end
    if not reach < _FARTHEST:
        return 0.0
    ends = [b for b in (-reach, reach) if slope(b) == 0]
    return (
        ends[0] if ends else float(brentq(slope, -reach, reach, xtol=1e-15 * reach, maxiter=1000))
    )


def relative(gap: float, primal: float, dual: float, least: float = 0.0) -> float:
    """Return gap / max(|primal|, |dual|, least), and 0 for a gap of 0."""
    if gap == 0 or not np.isfinite(gap):
        return gap
    return gap / max(abs(primal), abs(dual), least)


def gap_between(primal: float, dual: float) -> float:
    """Return primal − dual, 0 where rounding made it negative; NaN where more than rounding did."""
    slack = 1e-9 * max(abs(primal), abs(dual))
    return float("nan") if primal < dual - slack else float(np.maximum(0.0, primal - dual))


def missing_bound(problem: Formulation, gap: float) -> str:
    """Return why there is no gap, or an empty string."""
    if not problem.is_psd:
        return "indefinite kernel, stationarity only"
    if np.isposinf(gap):
        return "the primal value is beyond float64's range"
    return "the bounds cross: float64 is not enough here" if np.isnan(gap) else ""


def _feasible(problem: Formulation, alpha: Vector) -> DualPoint:
    """Return `alpha` projected onto the losses' domains (and Σ βᵢ = 0), and how far it was off."""
    if not isinstance(problem.loss, Softmax):
        return feasible_dual(problem, alpha)
    alpha = alpha.reshape(problem.n, problem.outputs)
    C, unit = problem.weight[:, None], problem.loss.unit(problem.y)
    p = unit - alpha / C
    feasible = C * (unit - project_to_simplex(p))
    off = np.maximum(-p.min(axis=1), np.abs(p.sum(axis=1) - 1.0))
    return DualPoint(
        feasible,
        problem.gram(memory=0).matvec(feasible),
        max(0.0, float((C[:, 0] * off).max())),
        float(np.linalg.norm(feasible - alpha)),
    )


def _recovered(problem: Formulation, w: Vector | None) -> DualPoint:
    """Return the better one of −Cᵢℓ'(yᵢ, fᵢ) at f = Xw + b, and of 0, whose dual value is 0."""
    assert w is not None
    scores = problem.X @ w
    slopes = problem.loss.subgradient(problem.y, scores + best_offset(problem, scores))
    if (np.abs(slopes) < _SQUARABLE).all():
        dual = _feasible(problem, problem.alpha(-_each(problem, slopes) * slopes))
        beta = problem.beta(dual.alpha)
        if -0.5 * float((beta * dual.scores).sum()) >= _conjugates(problem, beta):
            return dual
    return DualPoint(np.zeros_like(scores), np.zeros_like(scores))


def _terms(problem: Formulation, beta: Vector, f: Vector) -> Vector:
    """Return each sample's share of the gap, Cᵢ(ℓ + ℓ*) + βᵢfᵢ ≥ 0."""
    C, y, loss = problem.weight, problem.y, problem.loss
    inner = (beta * f).reshape(problem.n, -1).sum(axis=1)
    conjugate = loss.conjugate(y, -beta / _each(problem, beta))
    return np.maximum(C * (loss.value(y, f) + conjugate) + inner, 0.0)


def _conjugates(problem: Formulation, beta: Vector) -> float:
    conjugate = problem.loss.conjugate(problem.y, -beta / _each(problem, beta))
    return float(problem.weight @ conjugate)


def _losses(problem: Formulation, f: Vector) -> float:
    return float(problem.weight @ problem.loss.value(problem.y, f))


def _each(problem: Formulation, values: Vector) -> Vector:
    """Return the weights Cᵢ with as many axes as `values`, (n,) or (n, K)."""
    return problem.weight.reshape(-1, *(1 for _ in values.shape[1:]))


def _residual(problem: Formulation, beta: Vector, f: Vector) -> float:
    """Return how far β is from its fixed point: the natural residual |β − step(β)|.

    step(β) maximises the dual plus −½(β' − β)² in each coefficient, at the best b; for the softmax
    the residual is |β + Cℓ'(f)|.
    """
    C, y, loss = problem.weight, problem.y, problem.loss
    if isinstance(loss, ScalarLoss):
        goal = C * loss.dual_step(y, f - beta, C)
    else:
        goal = -_each(problem, beta) * loss.subgradient(y, f)
    return float(np.abs(beta - goal).max())


def _objective_at_zero(problem: Formulation) -> float:
    """Return the objective at w = 0 and the best b; 0 where only rounding is left of it."""
    zero = np.zeros((problem.n, problem.outputs) if problem.outputs > 1 else problem.n)
    value = _losses(problem, zero + best_offset(problem, zero))
    return value if value > _NO_LOSS * float(problem.weight.sum()) else 0.0


def _source(alpha: Vector | None, w: Vector | None) -> str:
    if alpha is None:
        return "recovered from w"
    return "alpha" if w is None else "alpha and w"
