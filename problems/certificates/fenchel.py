"""The certificate of an answer to a problem with finite losses, in float64."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np

from problems.arithmetic import Intervals
from problems.certificates.bounds import (
    best_primal,
    corrections,
    dual_terms,
    middles,
    primal_value,
    shifted,
    stretched,
)
from problems.certificates.certificate import Bounds, Certificate, assembled, missing_bound
from problems.certificates.conditions import optimality
from problems.certificates.float64 import Float64
from problems.certificates.units import unit_of_gaps
from problems.dataset import Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.recovery import Weights, dual_from_weights, feasible_dual, weights_of
from problems.forms import Point

# Of both bounds, that weights may be wrong by: C = 1/(n·lam) and its inverse are four operations. The
# optimum rises with C, at most as fast.
_OF_WEIGHTS = 2.0**-50


def fenchel_bounds(given: DualProblem, point: Point) -> Certificate:
    """Return the certificate of dual variables, weights or both, made feasible first.

    Without `alpha` it is recovered from `w`. With both the primal bound is taken at `w`.
    """
    problem, shift, moved = near_zero(given)
    A = Float64(problem, moved)
    own_w = point.w if problem.is_linear else None
    if point.alpha is None:
        assert own_w is not None
        dual, source = dual_from_weights(problem, own_w), "recovered from w"
    else:
        dual = feasible_dual(problem, point.alpha)
        source = "alpha" if own_w is None else "alpha and w"
    beta = problem.beta(dual.alpha)
    try:
        linear, dual_norm2 = dual_terms(problem, A, beta, dual.exact)
        lower = linear - 0.5 * dual_norm2
    except ArithmeticError:
        lower, dual_norm2 = Intervals(-inf), Intervals(nan)
    delta = problem.psd_shift if problem.is_bounded else 0.0
    weights = dual.rounded if own_w is None else weights_of(problem, own_w)
    if delta and own_w is None:
        weights = shifted(A, weights, beta, delta)
    intervals = corrections(problem, A, weights.scores)
    choices = problem.offset_choices(middles(intervals), weights.scores.mid)
    primal = best_primal(problem, A, weights, choices)
    # no better point than a float64 sum of α's samples can be
    blurred = Weights(weights.scores.widened(dual.exact.scores.rad), weights.norm2)
    if delta:  # nor one that knows of eigenvalues more than K + δI ⪰ 0
        blurred = Weights(
            blurred.scores.widened(delta * np.abs(beta)), blurred.norm2.widened(delta * beta @ beta)
        )
    worst = primal_value(problem, A, stretched(blurred, primal.scale), primal.offsets)
    spare = 0.505 * delta * float(np.sum(problem.upper**2)) if delta else 0.0
    low, high = float(lower.low), float(primal.value.high) + spare
    rounding = 2 * float(worst.high - primal.value.mid) + 2 * float(lower.mid - lower.low) + spare
    low, high = low - _OF_WEIGHTS * abs(low), high + _OF_WEIGHTS * abs(high)
    bounds = Bounds(low, high if given.is_psd else nan, rounding)
    unit, reason = unit_of_gaps(given, problem, middles(corrections(problem, A, zero(problem))))
    own = intervals if own_w is None else corrections(problem, A, dual.exact.scores)
    at = optimality(problem, dual.alpha, dual.scores, middles(own).tolist())
    scale = float(primal.scale)
    lows, highs = zip(*intervals, strict=True) if intervals else ((0.0,), (0.0,))
    b_ends = [
        given.decision_offset([scale * end + shift for end in own_ends])
        for own_ends in (lows, highs)
    ]
    offsets = tuple(float(u) + shift for u in primal.offsets)
    w = weights.w if scale == 1.0 or weights.w is None else scale * weights.w
    return assembled(
        bounds,
        unit,
        kkt_violation=at.kkt_violation,
        violating_pair=at.violating_pair,
        primal_residual=dual.primal_residual,
        dual_residual=0.0,
        complementarity=at.complementarity,
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha, w, given.decision_offset(offsets)),
        b_interval=(b_ends[0], b_ends[1]),
        offsets=offsets,
        norm2=(nan, nan)
        if own_w is not None
        else _hull(dual_norm2, stretched(weights, scale).norm2),
        scale=scale,
        reason=missing_bound(given, bounds) or reason,
    )


def zero(problem: DualProblem) -> Intervals:
    """Return the scores of w = 0."""
    return Intervals(np.zeros((problem.n, problem.outputs) if problem.outputs > 1 else problem.n))


def _hull(one: Any, other: Any) -> tuple[float, float]:
    """Return both ends of what two squares are within."""
    return max(0.0, float(min(one.low, other.low))), float(max(one.high, other.high))


def near_zero(problem: DualProblem) -> tuple[DualProblem, float, Vector]:
    """Return the problem with its targets moved to 0, by how much, and by how much they are wrong.

    Offsets whose costs add up to 0 take what is taken off all targets, for losses that see differences
    only. The error is that of one subtraction, known exactly (Knuth 1998, section 4.2.2, theorem B).
    """
    y = problem.y
    unmoved = problem, 0.0, problem.target_errors
    all_alike = problem.groups is None and problem.costs.size and not problem.costs.sum()
    if not (all_alike and getattr(problem.loss, "sees_differences", False)):
        return unmoved
    shift = float(np.partition(y, problem.n // 2)[problem.n // 2])
    left = y - shift
    if 2 * np.abs(left).max() > np.abs(y).max():
        return unmoved
    back = left - y
    return problem.changed(y=left), shift, np.abs((y - (left - back)) + (-shift - back))
