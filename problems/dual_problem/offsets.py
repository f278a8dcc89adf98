"""The best offsets for scores f = Xw or Kβ: by sorting, root finding, or centring the margin."""

from typing import Any

import numpy as np

from dualgap.problems.box_gap import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.dual_problem.dual import DualProblem

Interval = tuple[float, float]


def best_offsets(problem: DualProblem, scores: Vector) -> list[Interval]:
    """Return for each group the interval of u_g that minimise c_g·u_g + Σ Cᵢℓ(yᵢ, fᵢ + u_g).

    The loss, and with it the objective in u_g, is piecewise linear; `scores` f is (n,).
    """
    return problem.box.multipliers(problem.box_gradient(scores))


def best_intercept(problem: DualProblem, scores: Vector) -> Interval:
    """Return all b that minimise Σ Cᵢ·loss(yᵢ, fᵢ + b) for scores f (n,), with one offset or none."""
    return best_offsets(problem, scores)[0] if problem.intercept else (0.0, 0.0)


def root_offsets(problem: DualProblem, scores: Vector, y: Vector | None = None) -> list[float]:
    """Return for each group a u_g that minimises c_g·u_g + Σ Cᵢℓ(yᵢ, fᵢ + u_g).

    `y` replaces the targets, e.g. by residuals.
    """
    costs, y = problem.costs, problem.y if y is None else y
    pairs = zip(problem.samples_of_groups(costs.size), costs.tolist(), strict=True)
    return [_root(problem, y, scores, i, cost) if i.size else 0.0 for i, cost in pairs]


def _root(problem: DualProblem, y: Vector, scores: Vector, members: Indices, cost: float) -> float:
    """Return the root of the slope of one group's objective, which is nondecreasing."""
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import

    y, scores, C = y[members], scores[members], problem.weight[members]
    relative_C, relative_cost = C / C.max(), cost / float(C.max())

    def slope(b: float) -> float:
        return relative_cost + float(relative_C @ problem.loss.subgradient(y, scores + b))

    # beyond the kinks of all samples most losses have a slope
    reach = float(np.abs(problem.loss.kinks(y) - scores).max()) or 1.0
    while reach < 1e300 and not slope(-reach) <= 0 <= slope(reach):
        reach *= 2.0  # losses that never reach 0 eventually underflow
    if not reach < 1e300:  # a larger one overflows
        return 0.0
    ends = [b for b in (-reach, reach) if slope(b) == 0]
    if ends:
        return ends[0]
    xtol = max(1e-15 * reach, float(np.finfo(float).tiny))
    return float(brentq(slope, -reach, reach, xtol=xtol, maxiter=1000))


def widest_margin(problem: DualProblem, scores: Any) -> tuple[Any, Any]:
    """Return the b that maximises the smallest yᵢ(fᵢ + b), and that margin."""
    y = problem.y
    if not problem.intercept:
        return 0.0, (y * scores).min()
    if one_class(problem):  # b alone attains any margin
        return y[0] * (1.0 - (y * scores).min()), 1.0
    low, high = scores[y < 0].max(), scores[y > 0].min()
    return -0.5 * (low + high), 0.5 * (high - low)


def one_class(problem: DualProblem) -> bool:
    """Whether all labels are equal."""
    return bool((problem.y == problem.y[0]).all())


def free_offset(problem: DualProblem, alpha: Vector) -> float:
    """Return LIBSVM's intercept of a dual point (Chang & Lin 2011, section 4.1.5).

    b = mean of yᵢ − tube·sign(βᵢ) − Σⱼ βⱼk(xⱼ, xᵢ) over samples i with 0 < |αᵢ| < Cᵢ; without any, the
    middle of the interval of optimal b.
    """
    beta, size = problem.beta(alpha), np.abs(alpha)
    used = np.flatnonzero(size)
    free = np.flatnonzero((size > 0) & (size < (1.0 - 1e-8) * problem.upper))  # up to rounding
    if free.size == 0:
        return middle(*best_intercept(problem, problem.gram(memory=0).matvec(beta)))
    free = free[:: -(-free.size // 500)]  # each alone determines b; at most 500 are averaged
    scores = problem.gram(memory=0).block(free, used) @ beta[used]
    kinks = np.where(beta > 0, *problem.loss.kinks(problem.y))[free]
    return float((kinks - scores).mean())
