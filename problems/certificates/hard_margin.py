"""Bounds on the optimum of a hard margin, whose loss is not finite.

Any separating w gives a primal bound after scaling its smallest margin to 1, any α ≥ 0 with yᵀα = 0 a
dual bound after scaling to its best norm:
    (1ᵀα)² / (2 αᵀQα)  ≤  optimum  ≤  ½‖w‖² / (min yᵢfᵢ)²
"""

from math import inf, nan
from typing import Any

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.certificates.bounds import Arithmetic, Float64, dual_terms
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point
from dualgap.problems.problem.certificate import (
    Bounds,
    Certificate,
    make_certificate,
    missing_bound,
)
from dualgap.problems.risk.dual_point import DualPoint, EnclosureT, Weights, dual_point, weights_of
from dualgap.problems.risk.offsets import one_class, widest_margin
from dualgap.problems.risk.risk import Risk

NO_HYPERPLANE = "no hyperplane separates the samples (exact weights)"


def hard_dual(
    risk: Risk, A: Arithmetic[EnclosureT], beta: EnclosureT, weights: Weights[EnclosureT]
) -> tuple[EnclosureT, float]:
    """Return the dual objective of sα at the best s (0 if none is positive), and that s."""
    linear, norm2 = dual_terms(risk, A, beta, weights)
    length, square = float(linear.mid), float(weights.norm2.mid)
    if not length:
        return 0.0 * linear, 1.0
    return linear * (linear / (2 * norm2)), length / square if square > 0 else 1.0


def hard_primal(
    risk: Risk, A: Arithmetic[EnclosureT], weights: Weights[EnclosureT]
) -> tuple[EnclosureT, EnclosureT, Any]:
    """Return ½‖w‖² divided by the squared smallest margin, that margin, and the offset b."""
    b, _ = widest_margin(risk, weights.scores.centres)
    margin = ((weights.scores + b) * A.y).min()
    return (weights.norm2 / margin) / (2 * margin), margin, b


def hard_bounds(risk: Risk, point: Point) -> Certificate:
    """Return the certificate of α scaled to its best norm and w scaled to a smallest margin of 1."""
    solver_w = point.w if risk.samples.is_linear else None
    # every multiple gives the same bounds: take one whose squares do not overflow
    size = 1.0 if point.alpha is None else _power_of_two(point.alpha)
    alpha = None if point.alpha is None else point.alpha / size
    dual, source = dual_point(risk, Point(alpha, point.w))
    A = Float64(risk, risk.y)
    try:
        lower, scale = hard_dual(risk, A, Intervals(risk.beta(dual.alpha)), dual.exact)
    except ArithmeticError:
        lower, scale = Intervals(0.0), 1.0
    weights, exact = dual.rounded, dual.exact
    if solver_w is not None:
        unit = 1.0 if one_class(risk) else _power_of_two(solver_w)
        weights = exact = weights_of(risk, solver_w / unit)
    upper, smallest, b = hard_primal(risk, A, weights)
    margin, separates = float(smallest.mid), float(smallest.low) > 0
    infeasible = not separates and is_infeasible(risk)
    is_psd, high = risk.samples.is_psd, float(upper.high) if separates else inf
    low = inf if infeasible else max(0.0, float(lower.low))
    rounding = _primal_rounding(weights, smallest, exact.scores.rad, high)
    rounding += 2 * float(lower.mid - lower.low)
    bounds = Bounds(low, high if is_psd else nan, rounding)
    computable = margin > 0 or not is_psd
    reason = missing_bound(is_psd, bounds) if computable else describe_margin_limit(low)
    w = weights.w
    if margin > 0:
        b, w = b / margin, None if w is None else w / margin
    # if w = 0 is optimal, the gap scale is ½‖w‖² of a w with margin 1 at the longest sample
    gap_scale = 0.5 / (float(risk.samples.kernel.diagonal(risk.samples.X).max()) or 1.0)
    return make_certificate(
        bounds,
        gap_scale if risk.costs.size and one_class(risk) else 0.0,
        **_optimality_measures(risk, dual, size),
        primal_residual=size * dual.primal_residual,
        projection_distance=size * dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha * scale, w, b),
        b_interval=(b, b),
        offsets=(b,),
        infeasible=infeasible,
        reason=NO_HYPERPLANE if infeasible else reason,
    )


def _primal_rounding(
    weights: Weights[Intervals], margin: Intervals, score_error: Any, bound: float
) -> float:
    """Return how much of the primal bound may be rounding error: exact w may have a larger margin."""
    largest = float(margin.high) + float(np.max(score_error)) - 1e-290  # underflow
    if not float(margin.low) > 0:
        return inf if largest > 0 else 0.0
    optimum = 0.5 * float(weights.norm2.low) / largest / largest if largest > 0 else inf
    return bound - optimum


def _optimality_measures(risk: Risk, dual: DualPoint, size: float) -> dict[str, Any]:
    """Return the optimality measures of `Certificate` for `size` times a dual point."""
    box, alpha = risk.form.box, size * dual.alpha
    g = box.gradient(size * dual.scores)
    offset = [size * widest_margin(risk, dual.scores)[0]] if risk.costs.size else []
    r = box.lagrangian_gradient(g, offset)
    return {
        "kkt_violation": box.kkt_violation(g, alpha),
        "violating_pair": box.violating_pair(g, alpha),
        "dual_residual": max(0.0, float((-r).max())),
        "complementarity": float((alpha * np.maximum(r, 0.0)).max()),
    }


def _power_of_two(values: Vector) -> float:
    """Return a power of two near the largest entry if products of squares may overflow; else 1."""
    largest = float(np.abs(values).max())
    return 2.0 ** np.frexp(largest)[1] if largest > 1e100 else 1.0


def certificate_without_point(risk: Risk, reason: str) -> Certificate:
    """Return the certificate without a point: infeasible if that is proven, else without bounds."""
    if is_infeasible(risk):
        return make_certificate(Bounds(inf, inf), infeasible=True, reason=NO_HYPERPLANE)
    return Certificate(reason=reason)


def describe_margin_limit(dual: float) -> str:
    """Return the bound on the margin implied by the dual bound, for lack of a primal point."""
    return f"no margin exceeds {2 / np.sqrt(2 * dual):.3g}" if dual > 0 else "the point is zero"


def is_infeasible(risk: Risk) -> bool:
    """Whether it is proven in rational arithmetic that no hyperplane separates the samples."""
    from dualgap.problems.certificates.infeasibility import prove_infeasible  # noqa: PLC0415 - imports python-flint

    return prove_infeasible(risk) is not None
