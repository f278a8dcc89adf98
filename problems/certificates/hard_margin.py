"""Bounds on the optimum of a hard margin, which has no loss that would be finite.

Any w that separates gives a primal bound when its smallest margin is scaled to one, any α ≥ 0 with
yᵀα = 0 a dual bound at its best norm:
    (1ᵀα)² / (2 αᵀQα)  ≤  optimum  ≤  ½‖w‖² / (min yᵢfᵢ)²
"""

from math import inf, nan
from typing import Any

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.certificates.bounds import Float64, dual_terms
from dualgap.problems.certificates.certificate import Bounds, Certificate, assembled, missing_bound
from dualgap.problems.dataset import Vector
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.dual_problem.offsets import one_class, widest_margin
from dualgap.problems.dual_problem.recovery import Weights, dual_point, weights_of
from dualgap.problems.forms import Point

_SQUARABLE = 1e100  # numbers whose squares, times those of samples, do not overflow
_UNDERFLOW = 1e-290  # margins that are rounding alone, of weights of about one
NO_HYPERPLANE = "no hyperplane separates the samples (exact weights)"


def hard_dual(problem: DualProblem, A: Any, beta: Any, own: Weights) -> tuple[Any, Any]:
    """Return the dual objective of sα at the best s, and that s; 0 where none is above."""
    linear, norm2 = dual_terms(problem, A, beta, own)
    length, square = float(linear.mid), float(own.norm2.mid)
    if not length:
        return 0.0 * linear, 1.0
    return linear * (linear / (2 * norm2)), length / square if square > 0 else 1.0


def hard_primal(problem: DualProblem, A: Any, weights: Weights) -> tuple[Any, Any, Any]:
    """Return ½‖w‖² over the squared smallest margin, that margin, and the offset b."""
    b, _ = widest_margin(problem, weights.scores.centres)
    margin = (A.y * (weights.scores + b)).min()
    return (weights.norm2 / margin) / (2 * margin), margin, b


def hard_bounds(problem: DualProblem, point: Point) -> Certificate:
    """Both bounds are the best on a ray: α scaled to its best norm, w to a smallest margin of one."""
    own_w = point.w if problem.is_linear else None
    # any multiple gives the same bounds: one whose squares do not overflow
    size = 1.0 if point.alpha is None else _power_of_two(point.alpha)
    alpha = None if point.alpha is None else point.alpha / size
    dual, source = dual_point(problem, Point(alpha, point.w))
    A = Float64(problem, problem.y)
    try:
        lower, scale = hard_dual(problem, A, Intervals(problem.beta(dual.alpha)), dual.exact)
    except ArithmeticError:
        lower, scale = Intervals(0.0), 1.0
    weights = dual.rounded
    if own_w is not None:
        weights = weights_of(problem, own_w / (1.0 if one_class(problem) else _power_of_two(own_w)))
    upper, smallest, b = hard_primal(problem, A, weights)
    margin, separates = float(smallest.mid), float(smallest.low) > 0
    # exact weights might have a margin as much larger as rounding them takes at most
    blur = (dual.exact if own_w is None else weights).scores.rad
    largest = float(smallest.high) + float(np.max(blur)) - _UNDERFLOW
    least = 0.5 * float(weights.norm2.low) / largest / largest if largest > 0 else inf
    high = float(upper.high) if separates else inf
    infeasible = not separates and is_infeasible(problem)
    low = inf if infeasible else max(0.0, float(lower.low))
    rounding = high - least if separates else (inf if largest > 0 else 0.0)
    rounding += 2 * float(lower.mid - lower.low)
    bounds = Bounds(low, high if problem.is_psd else nan, rounding)
    if infeasible:
        reason = NO_HYPERPLANE
    else:
        known = margin > 0 or not problem.is_psd
        reason = missing_bound(problem, bounds) if known else no_margin(low)
    g, box, alpha = problem.box_gradient(size * dual.scores), problem.box, size * dual.alpha
    offset = [size * widest_margin(problem, dual.scores)[0]] if problem.intercept else []
    r, w = box.lagrangian_gradient(g, offset), weights.w
    if margin > 0:
        b, w = b / margin, None if w is None else w / margin
    # ½‖w‖² of the w that is as long as a sample's inverse, where w = 0 is optimal
    at_zero = 0.5 / (float(problem.kernel.diagonal(problem.X).max()) or 1.0)
    return assembled(
        bounds,
        at_zero if problem.intercept and one_class(problem) else 0.0,
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
    """Return a power of two near the largest entry where its square overflows; else 1."""
    largest = float(np.abs(values).max())
    return 2.0 ** np.frexp(largest)[1] if largest > _SQUARABLE else 1.0


def no_point(problem: DualProblem, reason: str) -> Certificate:
    """Return a certificate without bounds, but where it is proven that no point separates."""
    if is_infeasible(problem):
        return assembled(Bounds(inf, inf), infeasible=True, reason=NO_HYPERPLANE)
    return Certificate(reason=reason)


def no_margin(dual: float) -> str:
    """Say what the dual bound leaves of the margin where no primal point is known."""
    return f"no margin above {2 / np.sqrt(2 * dual):.3g}" if dual > 0 else "the point is zero"


def is_infeasible(problem: DualProblem) -> bool:
    """Whether it is proven in rationals that no point separates the samples."""
    from dualgap.problems.certificates.infeasibility import prove_infeasible  # noqa: PLC0415 - imports python-flint

    return prove_infeasible(problem) is not None
