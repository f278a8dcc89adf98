"""Certification of a point: bounds on the optimum from the point and the original data alone.

Weak duality: for any feasible α, and any w and offsets u,
    dual(α) = Σ −Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) − ½βᵀKβ  ≤  optimum  ≤  primal(w, u) = ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ).
An infeasible point is projected first, u is always the exact minimiser of the primal, and the
multipliers and bias reported by a solver are never used. All formulations of a problem are certified
in the scale ½‖w‖² + Σ Cᵢ·lossᵢ. `fenchel_bounds` is for finite losses, `hard_margin` for a hard margin.
"""

from dataclasses import replace
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import WEIGHT_RTOL
from dualgap.problems.box import gap_terms
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
    targets,
)
from dualgap.problems.certificates.gap_scale import gap_scale
from dualgap.problems.certificates.hard_margin import certificate_without_point
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point
from dualgap.problems.kernels.samples import entries
from dualgap.problems.losses import ScalarLoss
from dualgap.problems.problem import join_certificates, split
from dualgap.problems.problem.certificate import (
    WRONG_GAP,
    Bounds,
    Certificate,
    gap_scale_for,
    make_certificate,
    missing_bound,
)
from dualgap.problems.risk.dual_point import DualPoint, Weights, dual_point, weights_of
from dualgap.problems.risk.risk import Risk, absorbs_shifts, box_point, mean_offset, shifts

_MAX_PROOF_S = 20.0  # estimated duration up to which an undecided certificate is proven


@np.errstate(over="ignore", invalid="ignore")
def certify_samples(problem: Any, point: Point, rigorous: bool, target_gap: float) -> Certificate:
    """Return the certificate of a point of a formulation; see `dualgap.problems.problem.certify`."""
    arrays = [v for v in (point.alpha, point.w) if v is not None]
    if not arrays:
        return _without_point(problem, "the solver gave no point")
    if not all(np.isfinite(v).all() for v in arrays):
        return _without_point(problem, "the point has NaN or infinite entries")
    certificate = _bounds(problem, point)
    if rigorous:
        return _proven(problem, certificate)
    gaps = (target_gap, WRONG_GAP) if np.isfinite(target_gap) else ()
    # the sum may be decided although one of its parts is not
    undecided = any(
        part.is_undecided(gap) for part in (certificate, *certificate.parts) for gap in gaps
    )
    if undecided and _proof_seconds(problem, certificate) < _MAX_PROOF_S:
        proven = _proven(problem, certificate)
        certificate = certificate if np.isnan(proven.gap) else proven
    if not certificate.is_undecided(target_gap):
        return certificate
    resolves = f"float64 resolves this only to {certificate.resolution:.1g}"
    return replace(certificate, reason="; ".join(filter(None, (certificate.reason, resolves))))


def _bounds(problem: Any, point: Point) -> Certificate:
    """Return bounds on the optimum from a point: the sums of those of the parts."""
    pairs = zip(problem.parts, split(problem, point), strict=True)
    return join_certificates(problem, [part.problem.bounds(answer) for part, answer in pairs])


def _proven(problem: Any, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds: the sums of those of the parts."""
    pairs = zip(problem.parts, certificate.parts or [certificate], strict=True)
    return join_certificates(problem, [part.problem.proven(c) for part, c in pairs])


def _without_point(problem: Any, reason: str) -> Certificate:
    """Return the certificate of an answer without a usable point, perhaps proving infeasibility."""
    if problem.may_be_infeasible:
        return certificate_without_point(problem.risk, reason)
    return Certificate(reason=reason)


def _proof_seconds(problem: Any, certificate: Certificate) -> float:
    """Estimate the duration of a proof in seconds on one core, from measured durations of its parts."""
    alpha = certificate.point.alpha
    if alpha is None:
        return np.inf
    base_seconds = 2e-5 * problem.n * problem.outputs
    if problem.samples.is_linear:
        return base_seconds + 5e-7 * entries(problem.X).size * problem.outputs
    seconds_per_value = 1e-6 + 5e-9 * problem.d
    return base_seconds + seconds_per_value * problem.n * int(np.count_nonzero(alpha))


def fenchel_bounds(original: Risk, point: Point) -> Certificate:
    """Return the certificate of dual variables, weights or both, after making them feasible.

    A missing `alpha` is recovered from `w`. If both are given, the primal bound is taken at `w`.
    """
    risk, shift, y = shift_targets(original)
    A, is_psd = Float64(risk, y), original.samples.is_psd
    solver_w = point.w if risk.samples.is_linear else None
    dual, source = dual_point(risk, point)
    lower, norm2, failure = _lower_bound(risk, A, dual)
    upper = _upper_bound(risk, A, dual, solver_w)
    rounding = upper.rounding + (0.0 if failure else 2 * float(lower.mid - lower.low))
    bounds = for_rounded_weights(float(lower.low), upper.value if is_psd else nan, rounding)
    # an optimum above 0 is its own scale, unless it may be rounding of the targets
    needs_scale = risk.loss.is_regression or not bounds.lower > 0
    unit, reason = gap_scale(original, risk, A) if needs_scale else (0.0, "")
    scale, dual_offsets = upper.primal.scale, upper.primal.offsets
    weights, ends = stretched(upper.weights, scale), scale * upper.ends + shift
    offsets = tuple(float(u) + shift for u in scale * upper.primal.offsets)
    norm2_ends = nan, nan
    if solver_w is None:
        both = norm2, weights.norm2
        smallest, largest = min(v.low for v in both), max(v.high for v in both)
        norm2_ends = max(0.0, float(smallest)), float(largest)
    else:
        dual_offsets = middles(corrections(risk, A, dual.exact.scores))
    return make_certificate(
        bounds,
        gap_scale_for(bounds, unit),
        **_optimality_measures(risk, dual, dual_offsets),
        primal_residual=dual.primal_residual,
        dual_residual=0.0,
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha, weights.w, mean_offset(offsets)),
        b_interval=(mean_offset(ends[0]), mean_offset(ends[1])),
        offsets=offsets,
        norm2=norm2_ends,
        scale=scale,
        reason=failure or missing_bound(is_psd, bounds) or reason,
    )


def for_rounded_weights(low: float, high: float, rounding: float) -> Bounds:
    """Return bounds for all C within their rounding: the optimum grows at most in proportion to C."""
    return Bounds(low - WEIGHT_RTOL * abs(low), high + WEIGHT_RTOL * abs(high), rounding)


def _lower_bound(risk: Risk, A: Float64, dual: DualPoint) -> tuple[Intervals, Intervals, str]:
    """Return the dual value at a feasible point next to α and its ‖w‖², or why there is none."""
    try:
        linear, norm2 = dual_terms(risk, A, Intervals(risk.beta(dual.alpha)), dual.exact)
    except ArithmeticError as error:
        return Intervals(-inf), Intervals(nan), str(error)
    return linear - 0.5 * norm2, norm2, ""


class UpperBound(NamedTuple):
    """A primal value, of which `rounding` may be rounding error.

    Attributes
    ----------
    weights : w. primal : the best offsets for it, and the scale of both at which the value is taken.
    ends : the smallest and largest best offsets (2, groups).
    """

    value: float
    rounding: float
    weights: Weights[Intervals]
    primal: Primal[Intervals, Vector]
    ends: Vector


def _upper_bound(risk: Risk, A: Float64, dual: DualPoint, solver_w: Vector | None) -> UpperBound:
    """Return the primal value at the solver's w, if there is one, or at Σ βᵢφ(xᵢ).

    Its rounding error includes that of w as a float64 sum of samples, the cost of a scale that is chosen
    because of rounding only, and δ if only K + δI ⪰ 0 is known.
    """
    beta, largest = risk.beta(dual.alpha), risk.C * risk.loss.lipschitz  # |αᵢ| ≤ largest
    delta = risk.samples.psd_shift if np.isfinite(largest).all() else 0.0
    weights = dual.rounded if solver_w is None else weights_of(risk, solver_w)
    if delta and solver_w is None:
        weights = shifted(weights, Intervals(beta), delta)
    intervals = corrections(risk, A, weights.scores)
    primal = best_primal(risk, A, weights, [middles(intervals)])
    scores, norm2 = weights.scores, weights.norm2
    scores = scores.widened(dual.exact.scores.rad if risk.samples.is_linear else 0.0)
    slack = 0.0
    if delta:
        slack = 0.505 * delta * float(np.sum(largest**2))
        scores = scores.widened(delta * np.abs(beta))
        norm2 = norm2.widened(delta * float(beta @ beta))
    unscaled = primal.value
    if primal.scale != 1.0:
        unscaled = primal_value(risk, A, weights, primal.offsets)
    at_worst = stretched(Weights(scores, norm2), primal.scale)
    worst = primal_value(risk, A, at_worst, primal.scale * primal.offsets)
    rounding = 2 * float(worst.high - min(primal.value.mid, unscaled.mid)) + slack
    ends = np.reshape(intervals, (-1, 2)).T
    return UpperBound(float(primal.value.high) + slack, rounding, weights, primal, ends)


def _optimality_measures(risk: Risk, dual: DualPoint, offsets: Vector) -> dict[str, Any]:
    """Return the optimality measures of `Certificate` for a dual point and offsets.

    The dual of a piecewise linear loss (hinge, tube) is a box QP, whose gap is a sum of nonnegative
    products, without cancellation (`box`). For any convex loss the gap is the sum of
    Cᵢℓ(yᵢ, fᵢ) + Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) + βᵢfᵢ ≥ 0 (Fenchel–Young; Rockafellar 1970, theorem 31.3), and the
    natural residual is |β − step(β)|, where step(β) maximises the dual plus −½(β' − β)² in each
    coefficient; with several outputs it is |β + Cℓ'(f)|.
    """
    if risk.terms is not None:
        box, x = risk.form.box, box_point(risk, dual.alpha)
        g = box.gradient(dual.scores)
        terms = gap_terms(box.lagrangian_gradient(g, offsets.tolist()), x - box.lb, box.ub - x)
        pair, residual = box.violating_pair(g, x), box.kkt_violation(g, x)
    else:
        y, loss, beta = risk.y, risk.loss, risk.beta(dual.alpha)
        C = risk.C.reshape(-1, *(1 for _ in beta.shape[1:]))
        f = dual.scores + shifts(risk, offsets)
        terms = risk.C * (loss.value(y, f) + loss.conjugate(y, -beta / C))
        terms = terms + (beta * f).reshape(risk.n, -1).sum(axis=1)
        scalar = isinstance(loss, ScalarLoss)
        maximiser = loss.dual_step(y, f - beta, C) if scalar else -loss.subgradient(y, f)
        pair, residual = nan, float(np.abs(beta - C * maximiser).max())
    return {
        "complementarity": max(0.0, float(terms.max())),
        "kkt_violation": residual,
        "violating_pair": pair,
    }


def shift_targets(risk: Risk) -> tuple[Risk, float, Vector | Intervals]:
    """Return the problem with targets shifted towards 0, the shift, and the targets with their errors.

    For losses of y − f alone, offsets without a total cost absorb a shift of all targets. The error of
    one subtraction is computed exactly (Knuth 1998, section 4.2.2, theorem B).
    """
    y = risk.y
    unmoved = risk, 0.0, targets(risk, Intervals)
    if not absorbs_shifts(risk):
        return unmoved
    shift = float(np.partition(y, risk.n // 2)[risk.n // 2])
    centred = y - shift
    if 2 * np.abs(centred).max() > np.abs(y).max():
        return unmoved
    back = centred - y
    errors = np.abs((y - (centred - back)) + (-shift - back))
    return replace(risk, y=centred), shift, Intervals(centred, errors)
