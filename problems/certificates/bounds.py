"""Bounds on the optimum by Fenchel duality, for every formulation with a finite convex loss.

    dual(α) = −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)  ≤  optimum  ≤  primal(w, u) = ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ),
    f = Kβ + u_g,   Σ_{i∈g} βᵢ = c_g
(Rockafellar 1970, theorem 31.3; Shalev-Shwartz & Zhang 2013), with an offset u_g for each group of
samples and a linear cost c_g of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from problems.box_gap import middle
from problems.certificates.certificate import (
    NAN,
    Certificate,
    gap_between,
    missing_bound,
    relative,
)
from problems.certificates.dual_point import feasible_dual, lost_norm2
from problems.certificates.offsets import shifts
from problems.certificates.optimality import Pieces, Slopes
from problems.dataset import Vector
from problems.forms import Point

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation

INF = float("inf")
_REACHES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # too short to excuse weights of a wrong norm


def fenchel_bounds(problem: Formulation, point: Point) -> Certificate:
    """Return the certificate of dual variables, weights or both, made feasible first.

    Without `alpha` it is recovered from `w`. With both the primal bound is taken at `w`.
    """
    own_w = point.w if problem.is_linear else None
    conditions = Slopes(problem) if problem.pieces is None else Pieces(problem)
    if point.alpha is None:
        assert own_w is not None
        dual, source = conditions.from_weights(own_w), "recovered from w"
    else:
        dual = feasible_dual(problem, point.alpha)
        source = "alpha" if own_w is None else "alpha and w"
    beta, scores = problem.beta(dual.alpha), dual.scores
    norm2 = float(np.vdot(beta, scores))
    lost = lost_norm2(problem, beta, norm2)
    norm2 += lost
    intervals = conditions.offsets(scores)
    at = conditions.at(dual, _middles(intervals))
    dual_objective = at.dual - 0.5 * lost
    gap = float(at.terms.sum()) + lost
    least = -INF if problem.costs.any() else 0.0  # of any primal value
    primal_objective = float(np.maximum(least, dual_objective + gap))
    w = problem.X.T @ beta if problem.is_linear else None
    if own_w is not None:
        w, scores, norm2 = own_w, problem.X @ own_w, float(np.vdot(own_w, own_w))
        intervals = conditions.offsets(scores)
        primal_objective = _primal(problem, norm2, scores, _middles(intervals))
        gap = gap_between(primal_objective, dual_objective)
    better, scale = _rescaled(problem, norm2, scores, _middles(intervals))
    if better >= primal_objective:
        scale = 1.0
    else:
        primal_objective, gap = better, gap_between(better, dual_objective)
        w = None if w is None else scale * w
        intervals = [(scale * low, scale * high) for low, high in intervals]
    if not problem.is_psd:
        primal_objective = gap = NAN
    unit, reason = conditions.at_zero()
    lows, highs = zip(*intervals, strict=True) if intervals else ((0.0,), (0.0,))
    offsets = tuple(_middles(intervals))
    return Certificate(
        primal_objective=primal_objective,
        dual_objective=dual_objective,
        gap=gap,
        relative_gap=relative(gap, primal_objective, dual_objective, unit),
        kkt_violation=at.kkt_violation,
        violating_pair=at.violating_pair,
        primal_residual=dual.primal_residual,
        dual_residual=0.0,
        complementarity=float(at.terms.max()),
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha, w, problem.decision_offset(offsets)),
        b_interval=(problem.decision_offset(lows), problem.decision_offset(highs)),
        offsets=offsets,
        unit=unit,
        scale=scale,
        reason=missing_bound(problem, gap) or reason,
    )


def _middles(intervals: list[tuple[float, float]]) -> list[float]:
    return [middle(*interval) for interval in intervals]


def _primal(
    problem: Formulation, norm2: float, scores: Vector, offsets: list[float], s: float = 1.0
) -> float:
    """Return ½‖sw‖² + s·cᵀu + Σ Cᵢℓ(yᵢ, s·fᵢ)."""
    decision = s * (scores + shifts(problem, offsets))
    cost = s * float(problem.costs @ np.array(offsets)) if problem.costs.any() else 0.0
    return (
        0.5 * s * s * norm2 + cost + float(problem.weight @ problem.loss.value(problem.y, decision))
    )


def _rescaled(
    problem: Formulation, norm2: float, scores: Vector, offsets: list[float]
) -> tuple[float, float]:
    """Return the least primal value over (s·w, s·u), s within rounding of 1, and that s.

    Where C is huge, a margin that rounding left 1e-13 short of one costs C·1e-13.
    """
    best, scale = INF, 1.0
    if not problem.loss.unit_margin:
        return best, scale
    margins = problem.y * (scores + shifts(problem, offsets))
    for reach in _REACHES:
        short = margins[(margins < 1) & (margins > 1 - reach)]
        if short.size:
            s = 1.0 / float(short.min())
            best, scale = min((best, scale), (_primal(problem, norm2, scores, offsets, s), s))
    return best, scale
