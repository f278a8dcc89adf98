"""The certificate of an answer to a problem with finite losses, in float64."""

from math import inf, nan
from typing import Any

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.box_gap import gap_terms
from dualgap.problems.certificates.bounds import (
    Float64,
    Primal,
    best_primal,
    corrections,
    dual_terms,
    middles,
    primal_value,
    shifted,
    stretched,
)
from dualgap.problems.certificates.certificate import (
    Bounds,
    Certificate,
    assembled,
    missing_bound,
    unit_beside,
)
from dualgap.problems.dataset import Vector
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.dual_problem.recovery import DualPoint, Weights, dual_point, weights_of
from dualgap.problems.forms import Point
from dualgap.problems.losses import ScalarLoss

# Of both bounds, that weights may be wrong by: C = 1/(n·lam) and its inverse are four operations. The
# optimum rises with C, at most as fast.
_OF_WEIGHTS = 2.0**-50
_MEASURED = 256  # samples
_FEW_DIGITS = 2.0**-30  # of a target: of a loss as small, float64 has about six digits
_UNSEEN = 1e-12  # of the mean squared length of the samples, what their variance may be wrong by


def fenchel_bounds(given: DualProblem, point: Point) -> Certificate:
    """Return the certificate of dual variables, weights or both, made feasible first.

    Without `alpha` it is recovered from `w`. With both the primal bound is taken at `w`.
    """
    problem, shift, y = near_zero(given)
    A = Float64(problem, y)
    own_w = point.w if problem.is_linear else None
    dual, source = dual_point(problem, point)
    beta = Intervals(problem.beta(dual.alpha))
    try:
        linear, norm2 = dual_terms(problem, A, beta, dual.exact)
        lower = linear - 0.5 * norm2
        missing = ""
    except ArithmeticError as error:
        lower, norm2, missing = Intervals(-inf), Intervals(nan), str(error)
    delta = problem.psd_shift if problem.is_bounded else 0.0
    weights = dual.rounded if own_w is None else weights_of(problem, own_w)
    if delta and own_w is None:
        weights = shifted(weights, beta, delta)
    intervals = corrections(problem, A, weights.scores)
    choices = problem.offset_choices(middles(intervals), weights.scores.mid)
    primal = best_primal(problem, A, weights, choices)
    spare = 0.505 * delta * float(np.sum(problem.upper**2)) if delta else 0.0
    rounding = _rounding(problem, A, dual, weights, primal, delta)
    rounding += spare + (0.0 if missing else 2 * float(lower.mid - lower.low))
    low, high = float(lower.low), float(primal.value.high) + spare
    low, high = low - _OF_WEIGHTS * abs(low), high + _OF_WEIGHTS * abs(high)
    bounds = Bounds(low, high if given.is_psd else nan, rounding)
    unit, reason = unit_of_gaps(given, problem, A)
    unit = unit_beside(bounds, unit)
    scale = primal.scale
    squares = norm2, stretched(weights, scale).norm2
    least, most = (min(v.low for v in squares), max(v.high for v in squares))
    ends = scale * np.reshape(intervals, (-1, 2)).T + shift
    offsets = tuple(float(u) + shift for u in primal.offsets)
    w = weights.w if scale == 1.0 or weights.w is None else scale * weights.w
    own = intervals if own_w is None else corrections(problem, A, dual.exact.scores)
    return assembled(
        bounds,
        unit,
        **_conditions(problem, dual, middles(own)),
        primal_residual=dual.primal_residual,
        dual_residual=0.0,
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha, w, given.decision_offset(offsets)),
        b_interval=(given.decision_offset(ends[0]), given.decision_offset(ends[1])),
        offsets=offsets,
        norm2=(max(0.0, float(least)), float(most)) if own_w is None else (nan, nan),
        scale=scale,
        reason=missing or missing_bound(given, bounds) or reason,
    )


def _rounding(
    problem: DualProblem,
    A: Float64,
    dual: DualPoint,
    weights: Weights,
    primal: Primal,
    delta: float,
) -> float:
    """Return how much of the primal value is rounding.

    No point is better than a float64 sum of α's samples can be, where w is one, nor than one that knows
    of eigenvalues no more than K + δI ⪰ 0.
    """
    beta = problem.beta(dual.alpha)
    blur = dual.exact.scores.rad if problem.is_linear else 0.0
    scores, norm2 = weights.scores.widened(blur), weights.norm2
    if delta:
        scores = scores.widened(delta * np.abs(beta))
        norm2 = norm2.widened(delta * float(beta @ beta))
    worst = primal_value(
        problem, A, stretched(Weights(scores, norm2), primal.scale), primal.offsets
    )
    return 2 * float(worst.high - primal.value.mid)


def _conditions(problem: DualProblem, dual: DualPoint, offsets: Vector) -> dict[str, Any]:
    """Return how far a dual point is from optimal, at some offsets, in the terms of `Certificate`.

    A loss with pieces (hinge, tube) has a box QP as its dual, whose gap is a sum of products that are
    not negative, so that no two large numbers are subtracted (`box_gap`). For any convex loss the gap is
    the sum of Cᵢℓ(yᵢ, fᵢ) + Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) + βᵢfᵢ ≥ 0 (Fenchel and Young; Rockafellar 1970, theorem
    31.3), and the natural residual is |β − step(β)|, where step(β) maximises the dual plus −½(β' − β)²
    in each coefficient; with several scores it is |β + Cℓ'(f)|.
    """
    if problem.pieces is not None:
        box, x = problem.box, problem.to_box_variables(dual.alpha)
        g = problem.box_gradient(dual.scores)
        terms = gap_terms(box.lagrangian_gradient(g, offsets.tolist()), x - box.lb, box.ub - x)
        pair, residual = box.violating_pair(g, x), box.kkt_violation(g, x)
    else:
        y, loss, beta = problem.y, problem.loss, problem.beta(dual.alpha)
        C = problem.weight.reshape(-1, *(1 for _ in beta.shape[1:]))
        f = dual.scores + problem.shifts(offsets)
        terms = problem.weight * (loss.value(y, f) + loss.conjugate(y, -beta / C))
        terms = terms + (beta * f).reshape(problem.n, -1).sum(axis=1)
        scalar = isinstance(loss, ScalarLoss)
        goal = loss.dual_step(y, f - beta, C) if scalar else -loss.subgradient(y, f)
        pair, residual = nan, float(np.abs(beta - C * goal).max())
    return {
        "complementarity": max(0.0, float(terms.max())),
        "kkt_violation": residual,
        "violating_pair": pair,
    }


def near_zero(problem: DualProblem) -> tuple[DualProblem, float, Any]:
    """Return the problem with its targets moved to 0, by how much, and these with their errors.

    Offsets whose costs add up to 0 take what is taken off all targets, for losses that see differences
    only. The error is that of one subtraction, known exactly (Knuth 1998, section 4.2.2, theorem B).
    """
    y = problem.y
    unmoved = problem, 0.0, problem.targets(Intervals)
    if not _takes_shifts(problem):
        return unmoved
    shift = float(np.partition(y, problem.n // 2)[problem.n // 2])
    left = y - shift
    if 2 * np.abs(left).max() > np.abs(y).max():
        return unmoved
    back = left - y
    errors = np.abs((y - (left - back)) + (-shift - back))
    moved = problem.changed(y=left)
    # a formulation from outside may make its weights, or its loss, of the targets
    with np.errstate(all="ignore"):
        same = moved.loss == problem.loss and np.array_equal(moved.weight, problem.weight)
    return (moved, shift, Intervals(left, errors)) if same else unmoved


def _takes_shifts(problem: DualProblem) -> bool:
    """Whether offsets without a cost take what is added to all targets."""
    all_alike = problem.groups is None and problem.costs.size and not problem.costs.sum()
    return bool(all_alike) and getattr(problem.loss, "sees_differences", False)


def unit_of_gaps(given: DualProblem, problem: DualProblem, A: Float64) -> tuple[float, str]:
    """Return what a gap is relative to where the optimum has no size, else 0; and a reason.

    A relative gap is relative to the larger of both bounds, or to this unit where that is larger. Where
    w = 0 is optimal and has no loss but for rounding of the targets, it is the objective at w = 0
    without an offset; where there is none, or an offset takes what is added to all targets and a tube
    has a width, the weights' sum times that. Where each loss is a share of target and tube of which
    float64 has few digits, it is that share of these. Of offsets with costs see `_size_of_offsets`.

    Parameters
    ----------
    problem : the one that is given, with targets near 0. A : its arithmetic.
    """
    if problem.costs.any():
        return _size_of_offsets(problem), ""
    zero = np.zeros((problem.n, problem.outputs) if problem.outputs > 1 else problem.n)
    best = middles(corrections(problem, A, Intervals(zero)))
    size, share = np.abs(problem.y) + given.tube, 0.0
    for offsets in (best, 0.0 * best):
        decision = zero + problem.shifts(offsets)
        if problem.pieces is None:
            if not np.any(problem.loss.value(problem.y, decision)):
                break
            continue
        # targets, tube and offsets are rounded
        rounding = np.spacing(np.abs(decision)) + 2 * np.spacing(np.abs(given.y) + given.tube)
        losses = problem.loss.value(problem.y, Intervals(decision, rounding)).low
        if not np.any(losses > 0):
            break
        if given.is_regression and np.all(losses <= _FEW_DIGITS * size):
            share = _FEW_DIGITS
    else:
        return share * float(given.weight @ size), ""
    in_tube = _takes_shifts(given) and given.tube
    without = 0.0 if in_tube else float(given.weight @ given.loss.value(given.y, zero))
    unit = without or float(given.weight.sum()) * (given.tube or 1.0)
    return unit, "" if problem.pieces else "w = 0 is optimal: no sample has a loss there"


def _size_of_offsets(problem: DualProblem) -> float:
    """Return the least that a gap is relative to where offsets have costs.

    Where the losses are 0 at w = 0 and u = 0, as of ν-SVC and the one-class machine, the optimum −½‖w‖²
    may be 0, and no scale is left but this: ½‖w‖² of orthogonal samples of their variance in feature
    space that share Σ|c| equally, ½(Σ|c|)²/n times the mean squared distance to their mean. No constant
    feature changes it. It is measured on a few samples, and less what rounding may have added.

    Where they are not, as of SVDD, it is 0; but for samples that are all alike, whose ball is a point
    and whose gap is rounding, a share of the objective at w = 0.
    """
    without = float(problem.weight @ problem.loss.value(problem.y, np.zeros(problem.n)))
    if without:
        X = problem.X
        alike = isinstance(X, np.ndarray) and bool((X[0] == X).all())
        return _UNSEEN**3 * without if alike else 0.0
    few = np.unique(np.linspace(0, problem.n - 1, min(problem.n, _MEASURED)).astype(np.intp))
    K = problem.kernel.bind(problem.X).block(few, few)
    length2 = float(np.mean(np.diag(K)))
    variance = max(0.0, length2 - float(np.mean(K)) - _UNSEEN * abs(length2))
    return 0.5 * float(np.abs(problem.costs).sum()) ** 2 / problem.n * variance
