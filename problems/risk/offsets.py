"""The best offsets for scores f = Xw or Kβ: by sorting, root finding, or centring the margin."""

from typing import Any

import numpy as np

from dualgap.problems.box import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.risk.risk import Risk, groups_of

Interval = tuple[float, float]


def best_offsets(risk: Risk, scores: Vector) -> list[Interval]:
    """Return for each group the interval of u_g that minimise c_g·u_g + Σ Cᵢℓ(yᵢ, fᵢ + u_g).

    The loss, and with it the objective in u_g, is piecewise linear; `scores` f is (n,).
    """
    box = risk.form.box
    return box.multipliers(box.gradient(scores))


def best_intercept(risk: Risk, scores: Vector) -> Interval:
    """Return all b that minimise Σ Cᵢ·loss(yᵢ, fᵢ + b) for scores f (n,), with one offset or none."""
    return best_offsets(risk, scores)[0] if risk.costs.size else (0.0, 0.0)


def root_offsets(risk: Risk, scores: Vector, y: Vector | None = None) -> list[float]:
    """Return for each group a u_g that minimises c_g·u_g + Σ Cᵢℓ(yᵢ, fᵢ + u_g).

    `y` replaces the targets, e.g. by residuals.
    """
    costs, y = risk.costs, risk.y if y is None else y
    pairs = zip(groups_of(risk, costs.size), costs.tolist(), strict=True)
    return [_root(risk, y, scores, i, cost) if i.size else 0.0 for i, cost in pairs]


def _root(risk: Risk, y: Vector, scores: Vector, members: Indices, cost: float) -> float:
    """Return the root of the slope of one group's objective, which is nondecreasing."""
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import

    y, scores, C = y[members], scores[members], risk.C[members]
    relative_C, relative_cost = C / C.max(), cost / float(C.max())

    def slope(b: float) -> float:
        return relative_cost + float(relative_C @ risk.loss.subgradient(y, scores + b))

    # beyond the kinks of all samples most losses have a slope
    reach = float(np.abs(risk.loss.kinks(y) - scores).max()) or 1.0
    while reach < 1e300 and not slope(-reach) <= 0 <= slope(reach):
        reach *= 2.0  # losses that never reach 0 eventually underflow
    if not reach < 1e300:  # a larger one overflows
        return 0.0
    ends = [b for b in (-reach, reach) if slope(b) == 0]
    if ends:
        return ends[0]
    xtol = max(1e-15 * reach, float(np.finfo(float).tiny))
    return float(brentq(slope, -reach, reach, xtol=xtol, maxiter=1000))


def widest_margin(risk: Risk, scores: Any) -> tuple[Any, Any]:
    """Return the b that maximises the smallest yᵢ(fᵢ + b), and that margin."""
    y = risk.y
    if not risk.costs.size:
        return 0.0, (y * scores).min()
    if one_class(risk):  # b alone attains any margin
        return y[0] * (1.0 - (y * scores).min()), 1.0
    low, high = scores[y < 0].max(), scores[y > 0].min()
    return -0.5 * (low + high), 0.5 * (high - low)


def one_class(risk: Risk) -> bool:
    """Whether all labels are equal."""
    return bool((risk.y == risk.y[0]).all())


def free_offset(risk: Risk, alpha: Vector) -> float:
    """Return LIBSVM's intercept of a dual point (Chang & Lin 2011, section 4.1.5).

    b = mean of yᵢ − tube·sign(βᵢ) − Σⱼ βⱼk(xⱼ, xᵢ) over samples i with 0 < |αᵢ| < Cᵢ; without any, the
    middle of the interval of optimal b.
    """
    beta, size = risk.beta(alpha), np.abs(alpha)
    used, limits = np.flatnonzero(size), risk.C * risk.loss.lipschitz
    free = np.flatnonzero((size > 0) & (size < (1.0 - 1e-8) * limits))  # up to rounding
    if free.size == 0:
        return middle(*best_intercept(risk, risk.samples.gram(memory=0).matvec(beta)))
    free = free[:: -(-free.size // 500)]  # each alone determines b; at most 500 are averaged
    scores = risk.samples.gram(memory=0).block(free, used) @ beta[used]
    kinks = np.where(beta > 0, *risk.loss.kinks(risk.y))[free]
    return float((kinks - scores).mean())
