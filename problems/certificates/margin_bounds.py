"""Both bounds of soft and hard margins, classification and regression, at a feasible dual point.

Soft margin: the gap is Σ of `box_gap.gap_terms` at the exact best intercept, so that no two large
numbers are subtracted. Hard margin: any w that separates gives a primal bound when its smallest margin
is scaled to one, any α ≥ 0 with yᵀα = 0 a dual bound at its best length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from problems.certificates.box_gap import gap_terms, kkt_violation, middle, violating_pair
from problems.certificates.dual_point import DualPoint, lost_norm2, rounding_of_norm2
from problems.certificates.fenchel import gap_between, missing_bound, relative
from problems.certificates.offsets import best_intercept, box_gradient, one_class, widest_margin
from problems.dataset import Vector
from problems.forms import Point
from problems.formulations.formulation import Formulation
from problems.reductions import box_bounds, to_box_variables

NAN = float("nan")
INF = float("inf")
NO_HYPERPLANE = "no hyperplane separates the samples (exact weights)"
_REACHES = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # too short to excuse weights of a wrong length


def soft_bounds(problem: Formulation, dual: DualPoint, own_w: Vector | None) -> dict[str, Any]:
    """Return the fields of a certificate; the primal bound is at `own_w` (d,) if it is given."""
    p, a, ub = box_bounds(problem)
    x = to_box_variables(problem, dual.alpha)
    g = box_gradient(problem, dual.scores)
    below, above = x, ub - x
    interval = best_intercept(problem, dual.scores)
    r = g if a is None else g + middle(*interval) * a
    terms = gap_terms(r, below, above)
    w, scores, beta = _weights(problem, dual.alpha), dual.scores, problem.beta(dual.alpha)
    norm2 = float(beta @ scores)
    lost = lost_norm2(problem, beta, norm2)
    norm2 += lost
    dual_objective = -0.5 * float(x @ (g + p)) - 0.5 * lost
    gap = float(terms.sum()) + lost
    primal_objective = float(np.maximum(0.0, dual_objective + gap))
    if own_w is not None:
        w, scores, norm2 = own_w, problem.X @ own_w, float(own_w @ own_w)
        interval = best_intercept(problem, scores)
        primal_objective = _primal(problem, norm2, scores + middle(*interval))
        gap = gap_between(primal_objective, dual_objective)
    better, length = _lengthened(problem, norm2, scores + middle(*interval))
    if better >= primal_objective:
        length = 1.0
    else:
        primal_objective, gap = better, gap_between(better, dual_objective)
        w, interval = (
            None if w is None else length * w,
            (length * interval[0], length * interval[1]),
        )
    if not problem.is_psd:
        primal_objective = gap = NAN
    return {
        "primal_objective": primal_objective,
        "dual_objective": dual_objective,
        "gap": gap,
        "relative_gap": relative_gap(problem, gap, primal_objective, dual_objective),
        "kkt_violation": kkt_violation(g, a, below, above),
        "violating_pair": violating_pair(g, a, below, above),
        "primal_residual": dual.primal_residual,
        "dual_residual": 0.0,
        "complementarity": float(terms.max()),
        "projection_distance": dual.projection_distance,
        "point": Point(dual.alpha, w, middle(*interval) if problem.intercept else 0.0),
        "b_interval": interval if problem.intercept else (0.0, 0.0),
        "length": length,
        "reason": missing_bound(problem, gap),
    }


def _primal(problem: Formulation, norm2: float, decision: Vector) -> float:
    """Return ½‖w‖² + Σ Cᵢ·lossᵢ."""
    return 0.5 * norm2 + float(problem.upper @ problem.loss.value(problem.y, decision))


def _lengthened(problem: Formulation, norm2: float, decision: Vector) -> tuple[float, float]:
    """Return the least primal value over (s·w, s·b), s within rounding of 1, and that s.

    Where C is huge, a margin that rounding left 1e-13 short of one costs C·1e-13.
    """
    best, length = INF, 1.0
    margins = problem.y * decision
    for reach in () if problem.is_regression else _REACHES:
        short = margins[(margins < 1) & (margins > 1 - reach)]
        if short.size:
            s = 1.0 / float(short.min())
            value = _primal(problem, s * s * norm2, s * decision)
            best, length = min((best, length), (value, s))
    return best, length


def hard_bounds(problem: Formulation, dual: DualPoint, own_w: Vector | None) -> dict[str, Any]:
    """Both bounds are the best on a ray: α scaled to its best length, w to a smallest margin of one."""
    # any multiple gives the same bounds: one whose squares neither underflow nor overflow
    unit = float(dual.alpha.max()) or 1.0
    alpha, scores = dual.alpha / unit, dual.scores / unit
    w = _weights(problem, alpha)
    # ‖w‖² keeps digits that βᵀKβ loses where large entries cancel
    norm2 = float(problem.beta(alpha) @ scores if w is None else w @ w)
    scale, dual_objective = _best_length(problem, alpha, norm2)
    if own_w is not None:
        size = 1.0 if one_class(problem) else float(np.abs(own_w).max())
        w = own_w / (size or 1.0)
        scores, norm2 = problem.X @ w, float(w @ w)
    b, margin = widest_margin(problem, scores)
    separates = margin > 0
    primal_objective = 0.5 * norm2 / margin / margin if separates else INF
    infeasible = not separates and is_infeasible(problem)
    if infeasible:
        dual_objective = INF
    if not problem.is_psd:
        primal_objective = NAN
    gap = NAN if infeasible else gap_between(primal_objective, dual_objective)
    g = box_gradient(problem, dual.scores)
    a = problem.y if problem.intercept else None
    r = g if a is None else g + widest_margin(problem, dual.scores)[0] * a
    if separates:
        b, w = b / margin, None if w is None else w / margin
    return {
        "primal_objective": primal_objective,
        "dual_objective": dual_objective,
        "gap": gap,
        "relative_gap": relative_gap(problem, gap, primal_objective, dual_objective),
        "kkt_violation": kkt_violation(g, a, dual.alpha, np.full(problem.n, INF)),
        "violating_pair": violating_pair(g, a, dual.alpha, np.full(problem.n, INF)),
        "primal_residual": dual.primal_residual,
        "dual_residual": max(0.0, float((-r).max())),
        "complementarity": float((dual.alpha * np.maximum(r, 0.0)).max()),
        "projection_distance": dual.projection_distance,
        "point": Point(alpha * scale, w, b),
        "b_interval": (b, b),
        "infeasible": infeasible,
        "reason": _hard_reason(problem, separates, infeasible, dual_objective, gap),
    }


def _hard_reason(
    problem: Formulation, separates: bool, infeasible: bool, dual: float, gap: float
) -> str:
    if infeasible:
        return NO_HYPERPLANE
    if separates or not problem.is_psd:
        return missing_bound(problem, gap)
    return no_margin(dual)


def no_margin(dual: float) -> str:
    """Say what the dual bound leaves of the margin where no primal point is known."""
    return f"no margin above {2 / np.sqrt(2 * dual):.3g}" if dual > 0 else "the point is zero"


def _best_length(problem: Formulation, alpha: Vector, quadratic: float) -> tuple[float, float]:
    """Return s = 1ᵀα / αᵀQα and the dual value (1ᵀα)² / (2αᵀQα) of sα."""
    total = float(alpha.sum())
    quadratic = max(quadratic, rounding_of_norm2(problem, problem.beta(alpha)))
    if total <= 0 or quadratic <= 0:
        return 1.0, 0.0
    return total / quadratic, 0.5 * total * (total / quadratic)


def is_infeasible(problem: Formulation) -> bool:
    """Whether it is proven in rationals that no point separates the samples."""
    from problems.certificates.infeasibility import prove_infeasible  # noqa: PLC0415 - imports python-flint

    return prove_infeasible(problem) is not None


def relative_gap(problem: Formulation, gap: float, primal: float, dual: float) -> float:
    """Return the relative gap; where the optimum is 0 itself, relative to the objective at 0."""
    return relative(gap, primal, dual, _size_at_zero(problem))


def _size_at_zero(problem: Formulation) -> float:
    """Return the objective at w = 0, b = 0 if w = 0 is optimal with no loss at its best b, else 0."""
    zero = np.zeros(problem.n)
    if (
        problem.family == "hard_margin"
    ):  # it has no loss: the w that is as long as a sample's inverse
        largest = float(problem.kernel.diagonal(problem.X).max()) or 1.0
        return 0.5 / largest if problem.intercept and one_class(problem) else 0.0
    b = middle(*best_intercept(problem, zero))
    rounding = 4 * np.finfo(float).eps * (float(np.abs(problem.y).max()) + abs(b))
    if (problem.loss.value(problem.y, zero + b) > rounding).any():
        return 0.0
    at_zero = float(problem.upper @ problem.loss.value(problem.y, zero))
    # a tube that holds all targets: the loss of missing each by as much as the tube is wide
    return at_zero or float(problem.upper.sum()) * (problem.tube or 1.0)


def _weights(problem: Formulation, alpha: Vector) -> Vector | None:
    """Return w = Xᵀβ for a linear kernel."""
    return problem.X.T @ problem.beta(alpha) if problem.is_linear else None
