"""Feasible dual points: the solver's α, projected, or the best of those that match its w."""

from dataclasses import dataclass, replace
from itertools import chain
from math import inf
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from dualgap.problems.arithmetic import Enclosure, Intervals
from dualgap.problems.arithmetic.intervals import products, transposed_products
from dualgap.problems.box import project
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point
from dualgap.problems.gram.products import gram_products
from dualgap.problems.losses import VectorLoss
from dualgap.problems.risk.recovery import candidates
from dualgap.problems.risk.risk import Risk, box_point, by_side

EnclosureT = TypeVar("EnclosureT", bound=Enclosure)


def required_sums(risk: Risk) -> Vector:
    """Return the required sum of the coefficients β of each group; of all, with offsets by side."""
    return risk.costs.sum(keepdims=True) if by_side(risk) else risk.costs


def budget(risk: Risk) -> float:
    """Return the upper bound on Σ|βᵢ|: with offsets by side, β⁺ and β⁻ have the sums c."""
    return float(np.abs(risk.costs).sum()) if by_side(risk) else inf


def project_dual(risk: Risk, alpha: Vector) -> Vector:
    """Return the nearest dual feasible point to `alpha` (n,), scaled down to the budget if needed.

    An excess over the budget by rounding remains: bounds account for it.
    """
    if isinstance(risk.loss, VectorLoss):
        return risk.loss.project_dual(risk.y, risk.C, alpha)
    sums = required_sums(risk)
    a = risk.loss.signs(risk.y) if sums.size else None
    nearest = project(alpha, *risk.loss.limits(risk.y, risk.C), a, sums, risk.groups)
    size, limit = float(np.abs(nearest).sum()), budget(risk)
    return nearest * (limit / size) if size > (1 + 1e-12) * limit else nearest


def infeasibility(risk: Risk, alpha: Vector) -> float:
    """Return the largest violation of a bound, an equality or the budget by `alpha` (n,)."""
    if isinstance(risk.loss, VectorLoss):
        return risk.loss.dual_violation(risk.y, risk.C, alpha)
    low, high = risk.loss.limits(risk.y, risk.C)
    box, over = np.maximum(alpha - high, low - alpha), np.abs(alpha).sum() - budget(risk)
    worst, required = max(0.0, float(box.max()), float(over)), required_sums(risk)
    if not required.size:
        return worst
    beta = risk.beta(alpha)
    sums = beta.sum(keepdims=True)
    if risk.groups is not None:  # bin 0 holds the samples in no group
        sums = np.bincount(risk.groups + 1, beta, required.size + 1)[1:]
    return max(worst, float(np.abs(sums - required).max()))


class Weights(NamedTuple, Generic[EnclosureT]):
    """Weights w as the bounds use them, in an arithmetic that tracks its rounding.

    Attributes
    ----------
    scores : wᵀφ(xᵢ), shape (n,) or (n, K). norm2 : ‖w‖².
    w : (d,) or (d, K), rounded to float64; None with a kernel.
    """

    scores: EnclosureT
    norm2: EnclosureT
    w: Vector | None = None


def weights_of(risk: Risk, w: Vector) -> Weights[Intervals]:
    """Return the `Weights` of a linear kernel's `w` (d,) or (d, K)."""
    exact = Intervals(w)
    return Weights(products(risk.samples.X, w), (exact * exact).sum(), w)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible α with its weights, from one product with the Gram matrix.

    Attributes
    ----------
    exact : w = Σ βᵢφ(xᵢ). rounded : for a linear kernel, w rounded to float64.
    primal_residual, projection_distance : of the original α.
    """

    alpha: Vector
    exact: Weights[Intervals]
    rounded: Weights[Intervals]
    primal_residual: float = 0.0
    projection_distance: float = 0.0

    @property
    def scores(self) -> Vector:
        """Kβ, shape (n,)."""
        return self.exact.scores.mid


def feasible_dual(risk: Risk, alpha: Vector) -> DualPoint:
    """Return the projection of `alpha` onto the dual feasible set, and their distance."""
    feasible, residual = project_dual(risk, alpha), infeasibility(risk, alpha)
    distance = float(np.linalg.norm(feasible - alpha.reshape(feasible.shape)))
    beta = risk.beta(feasible)
    if risk.samples.is_linear:
        sums = transposed_products(risk.samples.X, beta)
        rounded = weights_of(risk, sums.mid)
        exact = Weights(products(risk.samples.X, sums), (sums * sums).sum(), sums.mid)
    else:
        scores = Intervals(*gram_products(risk.samples.gram(memory=0), beta))
        exact = rounded = Weights(scores, (scores * beta).sum())
    return DualPoint(feasible, exact, rounded, residual, distance)


def dual_point(risk: Risk, point: Point) -> tuple[DualPoint, str]:
    """Return the dual point of an answer, recovered from w if it has no alpha, and the bound source."""
    solver_w = point.w if risk.samples.is_linear else None
    if point.alpha is not None:
        return feasible_dual(risk, point.alpha), "alpha" if solver_w is None else "alpha and w"
    assert solver_w is not None
    dual = _from_weights(risk, solver_w)
    # there was no α that could violate a constraint
    return replace(dual, primal_residual=0.0, projection_distance=0.0), "recovered from w"


def _from_weights(risk: Risk, w: Vector) -> DualPoint:
    """Return the best of several dual points for weights `w` (d,), including 0."""
    zero = np.zeros((risk.n, risk.loss.outputs) if risk.loss.outputs > 1 else risk.n)
    best, best_value, best_s = None, -inf, 1.0
    for alpha in chain(candidates(risk, w), [zero]):
        if alpha is zero and best_value >= 0:
            break  # 0 has the value 0, except with costs of offsets
        if not np.isfinite(alpha).all():  # the fit overflowed
            continue
        dual = feasible_dual(risk, alpha)
        s, value = _best_multiple(risk, dual)
        if best is None or value > best_value:
            best, best_value, best_s = dual, value, s
    assert best is not None
    return best if best_s == 1.0 else feasible_dual(risk, best_s * best.alpha)


def _best_multiple(risk: Risk, dual: DualPoint) -> tuple[float, float]:
    """Return the s of the best feasible multiple sα, and its dual objective."""
    quadratic = float(dual.exact.norm2.mid)
    if risk.terms is None:
        beta = risk.beta(dual.alpha)
        C = risk.C.reshape(-1, *(1 for _ in beta.shape[1:]))
        conjugates = risk.C * risk.loss.conjugate(risk.y, -beta / C)
        return 1.0, -float(conjugates.sum()) - 0.5 * quadratic
    linear = -float(risk.form.box.p @ box_point(risk, dual.alpha))
    longest = inf if risk.is_hard else 1.0
    s = min(longest, max(0.0, linear / quadratic)) if quadratic > 0 else 0.0
    s = 1.0 if risk.costs.any() else s  # no other multiple is feasible
    return s, s * linear - 0.5 * s * s * quadratic
