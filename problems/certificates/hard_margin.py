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
from dualgap.problems.risk.offsets import one_class, widest_margin
from dualgap.problems.risk.recovery import EnclosureT, Weights, dual_point, weights_of
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
    weights = dual.rounded
    if solver_w is not None:
        weights = weights_of(risk, solver_w / (1.0 if one_class(risk) else _power_of_two(solver_w)))
    upper, smallest, b = hard_primal(risk, A, weights)
    margin, separates = float(smallest.mid), float(smallest.low) > 0
    # the margin of exact weights may be larger by their rounding error
    score_error = (dual.exact if solver_w is None else weights).scores.rad
    largest = float(smallest.high) + float(np.max(score_error)) - 1e-290  # underflow
    exact_optimum = 0.5 * float(weights.norm2.low) / largest / largest if largest > 0 else inf
    high = float(upper.high) if separates else inf
    infeasible = not separates and is_infeasible(risk)
    low = inf if infeasible else max(0.0, float(lower.low))
    rounding = high - exact_optimum if separates else (inf if largest > 0 else 0.0)
    rounding += 2 * float(lower.mid - lower.low)
    bounds = Bounds(low, high if risk.samples.is_psd else nan, rounding)
    if infeasible:
        reason = NO_HYPERPLANE
    else:
        computable = margin > 0 or not risk.samples.is_psd
        reason = (
            missing_bound(risk.samples.is_psd, bounds) if computable else describe_margin_limit(low)
        )
    box, alpha = risk.form.box, size * dual.alpha
    g = box.gradient(size * dual.scores)
    offset = [size * widest_margin(risk, dual.scores)[0]] if risk.costs.size else []
    r, w = box.lagrangian_gradient(g, offset), weights.w
    if margin > 0:
        b, w = b / margin, None if w is None else w / margin
    # if w = 0 is optimal, the gap scale is ½‖w‖² of a w with margin 1 at the longest sample
    gap_scale = 0.5 / (float(risk.samples.kernel.diagonal(risk.samples.X).max()) or 1.0)
    return make_certificate(
        bounds,
        gap_scale if risk.costs.size and one_class(risk) else 0.0,
        kkt_violation=box.kkt_violation(g, alpha),
        violating_pair=box.violating_pair(g, alpha),
        primal_residual=size * dual.primal_residual,
        dual_residual=max(0.0, float((-r).max())),
        complementarity=float((alpha * np.maximum(r, 0.0)).max()),
        projection_distance=size * dual.projection_distance,
        bound_source=source,
        point=Point(dual.alpha * scale, w, b),
        b_interval=(b, b),
        offsets=(b,),
        infeasible=infeasible,
        reason=reason,
    )


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
