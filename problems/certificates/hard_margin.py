"""Bounds on the optimum of a hard margin, which has no loss that would be finite.

Any w that separates gives a primal bound when its smallest margin is scaled to one, any α ≥ 0 with
yᵀα = 0 a dual bound at its best norm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from problems.certificates.certificate import (
    NAN,
    Certificate,
    gap_between,
    missing_bound,
    relative,
)
from problems.certificates.dual_point import dual_from_weights, feasible_dual, rounding_of_norm2
from problems.certificates.offsets import one_class, widest_margin
from problems.dataset import Vector
from problems.forms import Point

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation

INF = float("inf")
NO_HYPERPLANE = "no hyperplane separates the samples (exact weights)"


def hard_bounds(problem: Formulation, point: Point) -> Certificate:
    """Both bounds are the best on a ray: α scaled to its best norm, w to a smallest margin of one."""
    own_w = point.w if problem.is_linear else None
    if point.alpha is None:
        assert own_w is not None
        dual, source = dual_from_weights(problem, own_w), "recovered from w"
    else:
        dual = feasible_dual(problem, point.alpha)
        source = "alpha" if own_w is None else "alpha and w"
    # any multiple gives the same bounds: one whose squares neither underflow nor overflow
    unit = float(dual.alpha.max()) or 1.0
    alpha, scores = dual.alpha / unit, dual.scores / unit
    w = problem.X.T @ problem.beta(alpha) if problem.is_linear else None
    # ‖w‖² keeps digits that βᵀKβ loses where large entries cancel
    norm2 = float(problem.beta(alpha) @ scores if w is None else w @ w)
    scale, dual_objective = _best_scale(problem, alpha, norm2)
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
    g, box = problem.box_gradient(dual.scores), problem.box
    offset = [widest_margin(problem, dual.scores)[0]] if problem.intercept else []
    r = box.lagrangian_gradient(g, offset)
    if separates:
        b, w = b / margin, None if w is None else w / margin
    size = _size_at_zero(problem)
    return Certificate(
        primal_objective=primal_objective,
        dual_objective=dual_objective,
        gap=gap,
        relative_gap=relative(gap, primal_objective, dual_objective, size),
        kkt_violation=box.kkt_violation(g, dual.alpha),
        violating_pair=box.violating_pair(g, dual.alpha),
        primal_residual=dual.primal_residual,
        dual_residual=max(0.0, float((-r).max())),
        complementarity=float((dual.alpha * np.maximum(r, 0.0)).max()),
        projection_distance=dual.projection_distance,
        bound_source=source,
        point=Point(alpha * scale, w, b),
        b_interval=(b, b),
        offsets=(b,),
        unit=size,
        infeasible=infeasible,
        reason=_reason(problem, separates, infeasible, dual_objective, gap),
    )


def no_point(problem: Formulation, reason: str) -> Certificate:
    """Return a certificate without bounds, but where it is proven that no point separates."""
    if is_infeasible(problem):
        return Certificate(INF, INF, infeasible=True, reason=NO_HYPERPLANE)
    return Certificate(reason=reason)


def _reason(
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


def _best_scale(problem: Formulation, alpha: Vector, quadratic: float) -> tuple[float, float]:
    """Return s = 1ᵀα / αᵀQα and the dual value (1ᵀα)² / (2αᵀQα) of sα."""
    total = float(alpha.sum())
    quadratic = max(quadratic, rounding_of_norm2(problem, problem.beta(alpha)))
    if total <= 0 or quadratic <= 0:
        return 1.0, 0.0
    return total / quadratic, 0.5 * total * (total / quadratic)


def is_infeasible(problem: Formulation) -> bool:
    """Whether it is proven in rationals that no point separates the samples."""
    from problems.certificates.proofs.infeasibility import prove_infeasible  # noqa: PLC0415 - imports python-flint

    return prove_infeasible(problem) is not None


def _size_at_zero(problem: Formulation) -> float:
    """Return ½‖w‖² of the w that is as long as a sample's inverse, where w = 0 is optimal; else 0."""
    largest = float(problem.kernel.diagonal(problem.X).max()) or 1.0
    return 0.5 / largest if problem.intercept and one_class(problem) else 0.0
