"""Bounds on the optimum by Fenchel duality, for every formulation with a finite convex loss.

    dual(α) = −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)  ≤  optimum  ≤  primal(w, u) = ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ),
    f = Kβ + u_g,   Σ_{i∈g} βᵢ = c_g
(Rockafellar 1970, theorem 31.3; Shalev-Shwartz & Zhang 2013), with an offset u_g for each group of
samples and a linear cost c_g of it.

Both are moved outwards by all that float64 may have lost (`problems.rounding`): of kernel values,
products, sums, the weights Cᵢ, and the equalities, which hold up to rounding only. As ℓ is convex, its
largest value for a score known to be in an interval is at one of the ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import fsum
from typing import NamedTuple

import numpy as np

from problems.box_gap import middle
from problems.certificates.certificate import (
    NAN,
    Certificate,
    gap_between,
    missing_bound,
    moved_out,
    relative,
)
from problems.certificates.optimality import Pieces, Slopes
from problems.certificates.units import subtracted, unit_of_gaps
from problems.dataset import Indices, Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.offsets import shifts
from problems.dual_problem.recovery import DualPoint, Weights, feasible_dual, weights_of
from problems.forms import Point
from problems.projection import members_of
from problems.rounding import ELEMENTARY, SMALLEST, UNIT, gamma, total, underflow

INF = float("inf")
_REACHES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # too short to excuse weights of a wrong norm
# Of its size, that a weight may be wrong by: C = 1/(n·lam) and its inverse are four operations.
_OF_WEIGHTS = 8 * UNIT
_WORTH = 1e-12  # of the primal value, that another norm of w has to gain
_SLOPE = 40.0  # of p·ln p at p = u and above


class _Bound(NamedTuple):
    """A bound on the optimum, and how much of it is float64's error."""

    value: float
    error: float


def fenchel_bounds(given: DualProblem, point: Point, dual: DualPoint | None = None) -> Certificate:
    """Return the certificate of dual variables, weights or both, made feasible first.

    Without `alpha` it is recovered from `w`. With both the primal bound is taken at `w`. `dual` is the
    feasible point, if it is known.
    """
    problem, shift, moved = near_zero(given)
    own_w = point.w if problem.is_linear else None
    conditions = Slopes(problem) if problem.pieces is None else Pieces(problem)
    if point.alpha is None:
        assert own_w is not None
        dual, source = dual or conditions.from_weights(own_w), "recovered from w"
    else:
        dual = dual or feasible_dual(problem, point.alpha)
        source = "alpha" if own_w is None else "alpha and w"
    beta = problem.beta(dual.alpha)
    lower = _lower(problem, conditions, dual, moved)
    weights = dual.weights
    if own_w is not None:  # no better than a float64 sum of α's samples can be
        weights = replace(weights_of(problem, own_w), blur=weights.blur)
    weights, spare = _semidefinite(given, weights, beta)
    intervals = conditions.offsets(weights.scores)
    own = intervals if weights.scores is dual.scores else conditions.offsets(dual.scores)
    at = conditions.at(dual, _middles(own))
    upper, scale = _upper(problem, weights, _middles(intervals), moved)
    upper = _Bound(upper.value + spare, upper.error + spare)
    primal = upper.value if given.is_psd else NAN
    gap = gap_between(primal, lower.value)
    unit, reason = unit_of_gaps(given, problem, conditions)
    ends = [tuple(scale * end + shift for end in interval) for interval in intervals]
    lows, highs = zip(*ends, strict=True) if ends else ((0.0,), (0.0,))
    offsets = tuple(scale * middle(*interval) + shift for interval in intervals)
    w = weights.w if scale == 1.0 or weights.w is None else scale * weights.w
    return Certificate(
        primal_objective=primal,
        dual_objective=lower.value,
        gap=gap,
        relative_gap=relative(gap, primal, lower.value, unit),
        kkt_violation=at.kkt_violation,
        violating_pair=at.violating_pair,
        primal_residual=dual.primal_residual,
        dual_residual=0.0,
        complementarity=float(at.terms.max()),
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha, w, given.decision_offset(offsets)),
        b_interval=(given.decision_offset(lows), given.decision_offset(highs)),
        offsets=offsets,
        norm2=(NAN, NAN) if own_w is not None else _norm2(problem, dual, weights, scale),
        unit=unit,
        scale=scale,
        resolution=relative(upper.error + lower.error, primal, lower.value, unit),
        reason=missing_bound(given, gap, primal, lower.value) or reason,
    )


def _norm2(
    problem: DualProblem, dual: DualPoint, weights: Weights, scale: float
) -> tuple[float, float]:
    """Enclose ‖w‖² of the primal's weights, and of the exactly feasible point next to a dual point."""
    error = 1.01 * max(dual.norm2_error, weights.norm2_error) + gamma(ELEMENTARY) * weights.norm2
    square = scale * scale
    low = max(0.0, min(1.0, square) * (weights.norm2 - error))
    high = max(1.0, square) * (weights.norm2 + error)
    excess = fsum(abs(excess) for _, excess in _equalities(problem, dual))
    if excess:
        move = 1.01 * excess * float(np.sqrt(problem.kernel.diagonal(problem.X).max()))
        root = float(np.sqrt(low)) - move
        low, high = max(0.0, root) ** 2, (float(np.sqrt(high)) + move) ** 2
    return float(np.nextafter((1 - 4 * UNIT) * low, 0.0)), (1 + 4 * UNIT) * high


def _middles(intervals: list[tuple[float, float]]) -> list[float]:
    return [middle(*interval) for interval in intervals]


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
    return replace(problem, y=left), shift, np.abs((y - (left - back)) + (-shift - back))  # type: ignore[type-var]


def _semidefinite(problem: DualProblem, weights: Weights, beta: Vector) -> tuple[Weights, float]:
    """Return weights and what to add to their primal value where K ⪰ 0 is known up to δ only.

    D_K(α) = D_{K+δI}(α) + ½δ‖α‖² ≤ P_{K+δI}(w, u) + ½δ Σ max αᵢ², for all feasible α. Without a
    largest α the matrix is taken to be what it was tested to be.
    """
    delta = problem.lacking
    if not delta or not problem.is_bounded:
        return weights, 0.0
    errors = weights.errors + delta * np.abs(beta)
    norm2 = weights.norm2_error + 1.01 * delta * float(beta @ beta)
    spare = 0.505 * delta * float(np.sum(problem.upper**2))
    return replace(weights, errors=errors, norm2_error=norm2), spare


def _lower(
    problem: DualProblem, conditions: Pieces | Slopes, dual: DualPoint, moved: Vector
) -> _Bound:
    """Return the dual objective of the exactly feasible point next to a dual point."""
    beta = problem.beta(dual.alpha)
    conjugates, wrong = conditions.conjugates(beta)
    value, lost = total(conjugates)
    objective = 0.0 - value - 0.5 * dual.weights.norm2
    sizes = float(np.abs(conjugates).sum()) + dual.weights.norm2
    if beta.ndim == 1:
        lost += 1.01 * float(moved @ np.abs(beta))
    lost += 1.01 * float(wrong.sum()) + 0.51 * dual.norm2_error + 1.01 * _OF_WEIGHTS * sizes
    lost += _simplex_cost(problem, dual) if beta.ndim > 1 else 0.0
    lost += sum(_equality_costs(problem, conditions, dual))
    if dual.weights.norm2 < SMALLEST and beta.any() and abs(problem.X).max():
        lost += SMALLEST  # of a ‖w‖² that underflows
    lost = 1.01 * lost + 4 * UNIT * abs(objective)
    return _Bound(-moved_out(-objective, lost), lost)


def _simplex_cost(problem: DualProblem, dual: DualPoint) -> float:
    """Return what the dual objective loses at most where distributions are made to sum to one.

    Each of K entries gives way by some units, times Cᵢ.
    """
    weights, most = dual.weights, gamma(4 * (problem.outputs + 2)) * problem.weight
    sizes = (np.abs(weights.scores) + weights.errors + _SLOPE).sum(axis=1)
    norm = problem.outputs * float(most @ np.sqrt(problem.kernel.diagonal(problem.X)))
    return 1.01 * (float(most @ sizes) + norm * np.sqrt(dual.norm2_error) + norm * norm)


def _equality_costs(
    problem: DualProblem, conditions: Pieces | Slopes, dual: DualPoint
) -> Iterator[float]:
    """Yield what the dual objective loses at most where each equality is made to hold exactly."""
    for own, excess in _equalities(problem, dual):
        most = 1.01 * abs(excess)
        if excess:
            yield most * _slope(problem, conditions, dual, own, -float(np.sign(excess)) * most)


def _equalities(problem: DualProblem, dual: DualPoint) -> Iterator[tuple[Indices, float]]:
    """Yield the members and the excess Σ βᵢ − c_g, rounded once, of each equality."""
    if not problem.costs.size:
        return
    beta, groups = problem.beta(dual.alpha), problem.groups
    everything = [np.arange(problem.n)]
    members = everything if groups is None else members_of(groups, problem.costs.size)
    for own, cost in zip(members, problem.costs.tolist(), strict=True):
        yield own, fsum([*beta[own].tolist(), -cost])


def _slope(
    problem: DualProblem, conditions: Pieces | Slopes, dual: DualPoint, own: Indices, move: float
) -> float:
    """Return how steeply the dual falls, at most, along the best βᵢ of some that can take a move.

    The dual is concave: from 0 to a longer step it lies above the chord, whose slope is exact.
    """
    beta = problem.beta(dual.alpha)
    ends = np.sort([problem.beta(end) for end in problem.limits], axis=0)
    room = ends[1] - beta if move > 0 else beta - ends[0]
    room = np.where(np.isinf(room), INF, room - _OF_WEIGHTS * np.abs(ends).max(axis=0))
    free = own[room[own] >= abs(move)]
    if not free.size:
        return INF
    step, sign = np.zeros(problem.n), np.sign(move)
    step[free] = np.minimum(room, np.maximum(abs(move), 0.25 * np.abs(beta)))[free]
    (before, wrong), (after, wrong_after) = (
        conditions.conjugates(b) for b in (beta, beta + sign * step)
    )
    weights, diagonal = dual.weights, problem.kernel.diagonal(problem.X)[free]
    chord = (after - before + 1.01 * (wrong + wrong_after))[free] / step[free]
    chord += sign * weights.scores[free] + weights.errors[free] + 0.51 * step[free] * diagonal
    chord += np.sqrt(dual.norm2_error * diagonal)
    return 1.01 * max(0.0, float(chord.min()))


def _upper(
    problem: DualProblem, weights: Weights, offsets: list[float], moved: Vector
) -> tuple[_Bound, float]:
    """Return the primal objective at the best (s·w, s·u), s within rounding of 1, and that s.

    Where C is huge, a margin that rounding left 1e-13 short of one costs C·1e-13.
    """
    best, scale = _primal(problem, weights, offsets, moved), 1.0
    if not problem.loss.unit_margin:
        return best, scale
    decision = weights.scores + shifts(problem, offsets)
    margins = problem.y * decision - weights.errors - gamma(4) * (1 + np.abs(decision))
    for reach in _REACHES:
        short = margins[(margins < 1) & (margins > 1 - reach)]
        if short.size:
            s = 1.0 / float(short.min())
            other = _primal(problem, weights.times(s), [s * u for u in offsets], moved)
            if other.value < best.value - _WORTH * abs(best.value):
                best, scale = other, s
    return best, scale


def _primal(problem: DualProblem, weights: Weights, offsets: list[float], moved: Vector) -> _Bound:
    """Return ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ) at the worst scores that they may be."""
    decision = weights.scores + shifts(problem, offsets)
    sizes = np.abs(decision) + np.abs(weights.scores) + subtracted(problem, decision)
    errors = 1.01 * weights.errors + gamma(ELEMENTARY + problem.outputs) * sizes
    errors += 1.01 * moved.reshape(problem.n, *(1 for _ in decision.shape[1:]))
    C, losses = problem.weight, problem.loss.value(problem.y, decision)
    cost = float(problem.costs @ np.array(offsets)) if problem.costs.any() else 0.0
    cost_size = float(np.abs(problem.costs) @ np.abs(offsets)) if cost else 0.0
    risk, lost = total(C * _worst(problem, decision, errors))
    blurred = float(C @ _worst(problem, decision, errors + weights.blur))
    objective = 0.5 * weights.norm2 + cost + risk
    lost += 0.51 * weights.norm2_error + (gamma(2 * ELEMENTARY) + _OF_WEIGHTS) * risk
    lost += gamma(ELEMENTARY) * (cost_size + weights.norm2 + risk)
    lost += SMALLEST * bool(weights.scores.any())  # of a ‖w‖² that underflows
    slopes = [problem.loss.subgradient(problem.y, decision + s * errors) for s in (-1.0, 1.0)]
    lost += float(underflow(C) @ np.any(slopes, axis=0).reshape(problem.n, -1).any(axis=1))
    # a convex loss rises and falls alike: what is lost may have to be gained
    return _Bound(moved_out(objective, lost), 2 * (lost + blurred - float(C @ losses)))


def _worst(problem: DualProblem, decision: Vector, errors: Vector) -> Vector:
    """Return the largest loss (n,) of scores that are wrong by no more than `errors`."""
    loss, y = problem.loss, problem.y
    if decision.ndim > 1:  # softmax: the sizes of its gradient p − e_y add up to 2 at most
        return loss.value(y, decision) + 2 * errors.max(axis=1)
    return np.maximum(*(loss.value(y, decision + s * errors) for s in (-1.0, 1.0)))
