"""The best offsets for scores f = Xw or Kβ: by sorting, as a root, of a margin by its middle."""

from typing import Any

import numpy as np

from dualgap.problems.box_gap import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.dual_problem.dual import DualProblem

Interval = tuple[float, float]
_LARGEST_OFFSET = 1e300  # an intercept beyond it overflows
_BOUND_TOLERANCE = 1e-8  # relative distance to Cᵢ that is rounding
_FREE_SAMPLES = 500  # each free support vector gives the intercept; the mean of so many does well


def best_offsets(problem: DualProblem, scores: Vector) -> list[Interval]:
    """Return for each group the interval of u_g that minimise c_g·u_g + Σ Cᵢℓ(yᵢ, fᵢ + u_g).

    For losses with pieces, which make the objective piecewise linear in u_g; `scores` f is (n,).
    """
    return problem.box.multipliers(problem.box_gradient(scores))


def best_intercept(problem: DualProblem, scores: Vector) -> Interval:
    """Return all b that minimise Σ Cᵢ·loss(yᵢ, fᵢ + b) for scores f (n,), of one group or none."""
    return best_offsets(problem, scores)[0] if problem.intercept else (0.0, 0.0)


def root_offsets(problem: DualProblem, scores: Vector, y: Vector | None = None) -> list[float]:
    """Return for each group a u_g that minimises c_g·u_g + Σ Cᵢℓ(yᵢ, fᵢ + u_g).

    `y` stands for the targets where what is left of them is asked for.
    """
    costs, y = problem.costs, problem.y if y is None else y
    pairs = zip(problem.samples_of_groups(costs.size), costs.tolist(), strict=True)
    return [_root(problem, y, scores, own, cost) if own.size else 0.0 for own, cost in pairs]


def _root(problem: DualProblem, y: Vector, scores: Vector, own: Indices, cost: float) -> float:
    """Return the root of the slope of one group's objective, which never falls."""
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import

    y, scores, C = y[own], scores[own], problem.weight[own]
    share, price = C / C.max(), cost / float(C.max())

    def slope(b: float) -> float:
        return price + float(share @ problem.loss.subgradient(y, scores + b))

    # where every sample is beyond its kinks, most losses rise or fall
    reach = float(np.abs(problem.loss.kinks(y) - scores).max()) or 1.0
    while reach < _LARGEST_OFFSET and not slope(-reach) <= 0 <= slope(reach):
        reach *= 2.0  # losses that never reach 0 underflow in the end
    if not reach < _LARGEST_OFFSET:
        return 0.0
    ends = [b for b in (-reach, reach) if slope(b) == 0]
    if ends:
        return ends[0]
    xtol = max(1e-15 * reach, float(np.finfo(float).tiny))
    return float(brentq(slope, -reach, reach, xtol=xtol, maxiter=1000))


def widest_margin(problem: DualProblem, scores: Any) -> tuple[Any, Any]:
    """Return the b that makes the smallest yᵢ(fᵢ + b) largest, and that margin."""
    y = problem.y
    if not problem.intercept:
        return 0.0, (y * scores).min()
    if one_class(problem):  # any margin can be had by b alone
        return y[0] * (1.0 - (y * scores).min()), 1.0
    low, high = scores[y < 0].max(), scores[y > 0].min()
    return -0.5 * (low + high), 0.5 * (high - low)


def one_class(problem: DualProblem) -> bool:
    """Return whether all labels are the same."""
    return bool((problem.y == problem.y[0]).all())


def free_offset(problem: DualProblem, alpha: Vector) -> float:
    """Return LIBSVM's intercept of a dual point (Chang & Lin 2011, section 4.1.5).

    b = mean of yᵢ − tube·sign(βᵢ) − Σⱼ βⱼk(xⱼ, xᵢ) over samples i with 0 < |αᵢ| < Cᵢ; the middle of all
    best b if there are none.
    """
    beta, size = problem.beta(alpha), np.abs(alpha)
    used = np.flatnonzero(size)
    free = np.flatnonzero((size > 0) & (size < (1.0 - _BOUND_TOLERANCE) * problem.upper))
    if free.size == 0:
        return middle(*best_intercept(problem, problem.gram(memory=0).matvec(beta)))
    free = free[:: -(-free.size // _FREE_SAMPLES)]
    scores = problem.gram(memory=0).block(free, used) @ beta[used]
    kinks = np.where(beta > 0, *problem.loss.kinks(problem.y))[free]
    return float((kinks - scores).mean())
