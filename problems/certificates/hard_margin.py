"""Bounds on the optimum of a hard margin, which has no loss that would be finite.

Any w that separates gives a primal bound when its smallest margin is scaled to one, any α ≥ 0 with
yᵀα = 0 a dual bound at its best norm.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from problems.certificates.certificate import (
    NAN,
    Certificate,
    gap_between,
    missing_bound,
    relative,
)
from problems.dataset import Vector
from problems.dual_problem.dual import DualProblem
from problems.dual_problem.offsets import one_class, widest_margin
from problems.dual_problem.recovery import (
    DualPoint,
    Weights,
    dual_from_weights,
    feasible_dual,
    weights_of,
)
from problems.forms import Point
from problems.rounding import UNIT, gamma, total

INF = float("inf")
NO_HYPERPLANE = "no hyperplane separates the samples (exact weights)"


def hard_bounds(problem: DualProblem, point: Point) -> Certificate:
    """Both bounds are the best on a ray: α scaled to its best norm, w to a smallest margin of one."""
    own_w = point.w if problem.is_linear else None
    # any multiple gives the same bounds: one whose squares neither underflow nor overflow
    size = 1.0
    if point.alpha is None:
        assert own_w is not None
        dual, source = dual_from_weights(problem, own_w), "recovered from w"
    else:
        size = _power_of_two(point.alpha)
        dual = feasible_dual(problem, point.alpha / size)
        source = "alpha" if own_w is None else "alpha and w"
    scale, lower, lower_error = _lower(problem, dual)
    weights = dual.weights
    if own_w is not None:
        unit = 1.0 if one_class(problem) else _power_of_two(own_w)
        weights = weights_of(problem, own_w / unit)
    b, margin = widest_margin(problem, weights.scores)
    upper, upper_error = _upper(weights, b, margin)
    separates = np.isfinite(upper)
    infeasible = not separates and is_infeasible(problem)
    if infeasible:
        lower = INF
    primal = upper if problem.is_psd else NAN
    gap = NAN if infeasible else gap_between(primal, lower)
    g, box, alpha = problem.box_gradient(size * dual.scores), problem.box, size * dual.alpha
    offset = [size * widest_margin(problem, dual.scores)[0]] if problem.intercept else []
    r = box.lagrangian_gradient(g, offset)
    w = weights.w
    if margin > 0:
        b, w = b / margin, None if w is None else w / margin
    unit = _size_at_zero(problem)
    return Certificate(
        primal_objective=primal,
        dual_objective=lower,
        gap=gap,
        relative_gap=relative(gap, primal, lower, unit),
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
        unit=unit,
        resolution=relative(upper_error + lower_error, primal, lower, unit),
        infeasible=infeasible,
        reason=_reason(problem, margin > 0, infeasible, lower, gap),
    )


def _power_of_two(values: Vector) -> float:
    """Return a power of two near the largest entry's size, division by which is exact; 1 for 0."""
    largest = float(np.abs(values).max())
    return 2.0 ** np.frexp(largest)[1] if largest else 1.0


def _upper(weights: Weights, b: float, margin: float) -> tuple[float, float]:
    """Return ½‖w‖² over the squared smallest margin, and how much of it is float64's error.

    Infinite where float64 cannot tell that all samples are on their side; the error is too, where it
    cannot tell that one is not. Exact weights might have a margin as much larger as rounding them
    takes at most.
    """
    sizes = np.abs(weights.scores) + abs(b)
    wrong = 1.01 * float((weights.errors + gamma(8) * (sizes + abs(margin))).max())
    largest = margin + wrong + float(np.max(weights.blur))
    if margin <= wrong:
        return INF, INF if largest > 0 else 0.0
    norm2, least = weights.norm2 + weights.norm2_error, margin - wrong
    upper = float((1 + gamma(16)) * 0.5 * norm2 / least / least)
    return upper, upper - 0.5 * weights.norm2 / largest / largest


def no_point(problem: DualProblem, reason: str) -> Certificate:
    """Return a certificate without bounds, but where it is proven that no point separates."""
    if is_infeasible(problem):
        return Certificate(INF, INF, infeasible=True, reason=NO_HYPERPLANE)
    return Certificate(reason=reason)


def _reason(
    problem: DualProblem, separates: bool, infeasible: bool, dual: float, gap: float
) -> str:
    if infeasible:
        return NO_HYPERPLANE
    if separates or not problem.is_psd:
        return missing_bound(problem, gap, dual)
    return no_margin(dual)


def no_margin(dual: float) -> str:
    """Say what the dual bound leaves of the margin where no primal point is known."""
    return f"no margin above {2 / np.sqrt(2 * dual):.3g}" if dual > 0 else "the point is zero"


def _lower(problem: DualProblem, dual: DualPoint) -> tuple[float, float, float]:
    """Return s = 1ᵀα / αᵀQα, the dual value (1ᵀα)² / (2αᵀQα) of sα, and how much of it is error.

    Where yᵀα = 0 holds up to rounding only, a sample of the class that is short of it takes the rest.
    """
    sum_alpha, wrong = total(dual.alpha)
    norm2 = dual.weights.norm2 + dual.norm2_error
    if problem.intercept:
        excess = fsum(problem.beta(dual.alpha).tolist())
        short = problem.kernel.diagonal(problem.X)[excess * problem.y < 0]
        if excess and not short.size:
            return 1.0, 0.0, 0.0
        wrong += UNIT * abs(excess)
        if excess:
            norm2 = float(np.sqrt(norm2) + abs(excess) * np.sqrt(short.min())) ** 2
    if sum_alpha <= wrong or norm2 <= 0:
        return 1.0, 0.0, 0.0
    least = sum_alpha - wrong
    lower = (1 - gamma(16)) * 0.5 * least * (least / norm2)
    plain = dual.weights.norm2
    if plain <= 0:
        return sum_alpha / norm2, lower, INF
    return sum_alpha / plain, lower, 0.5 * sum_alpha**2 / plain - lower


def is_infeasible(problem: DualProblem) -> bool:
    """Whether it is proven in rationals that no point separates the samples."""
    from problems.certificates.proofs.infeasibility import prove_infeasible  # noqa: PLC0415 - imports python-flint

    return prove_infeasible(problem) is not None


def _size_at_zero(problem: DualProblem) -> float:
    """Return ½‖w‖² of the w that is as long as a sample's inverse, where w = 0 is optimal; else 0."""
    largest = float(problem.kernel.diagonal(problem.X).max()) or 1.0
    return 0.5 / largest if problem.intercept and one_class(problem) else 0.0
