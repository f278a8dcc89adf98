"""What a gap is relative to where the optimum itself has no size, as it is 0.

A relative gap is relative to the larger of both bounds, or to this unit where that is larger. It is in
the problem's own unit, and 0 where the optimum says enough.
"""

from __future__ import annotations

import numpy as np

from problems.arithmetic import Intervals
from problems.certificates.bounds import Float64, corrections, middles
from problems.dual_problem.dual import DualProblem

_MEASURED = 256  # samples
_UNSEEN = 1e-12  # of the mean squared length of the samples, what their variance may be wrong by


def unit_of_gaps(given: DualProblem, problem: DualProblem, A: Float64) -> tuple[float, str]:
    """Return what a gap is relative to where w = 0 is optimal and has no loss, else 0; and a reason.

    That is the objective at w = 0 without an offset, or the weights' sum times the tube's width; of
    offsets with costs see `_size_of_offsets`.

    Parameters
    ----------
    problem : the one that is given, with targets near 0. A : its arithmetic.
    """
    if problem.costs.any():
        return _size_of_offsets(problem), ""
    zero = np.zeros((problem.n, problem.outputs) if problem.outputs > 1 else problem.n)
    best = middles(corrections(problem, A, Intervals(zero)))
    for offsets in (best, 0.0 * best):
        decision = zero + problem.shifts(offsets)
        if problem.pieces is not None:  # whose offsets are rounded
            decision = Intervals(decision, np.spacing(np.abs(decision)))
        losses = problem.loss.value(problem.y, decision)
        if not np.any(losses if problem.pieces is None else losses.low > 0):
            break
    else:
        return 0.0, ""
    without = float(given.weight @ given.loss.value(given.y, zero))
    unit = without or float(given.weight.sum()) * (given.tube or 1.0)
    return unit, "" if problem.pieces else "w = 0 is optimal: no sample has a loss there"


def _size_of_offsets(problem: DualProblem) -> float:
    """Return the least that a gap is relative to where offsets have costs.

    Where the losses are 0 at w = 0 and u = 0, as of ν-SVC and the one-class machine, the optimum −½‖w‖²
    may be 0, and no scale is left but this: ½Σ|c|·C times the variance of the samples in feature space,
    the mean squared distance to their mean. No constant feature changes it. It is measured on a few
    samples, and less what rounding may have added.

    Where they are not, as of SVDD, it is 0; but for samples that are all alike, whose ball is a point
    and whose gap is rounding, a share of the objective at w = 0.
    """
    without = float(problem.weight @ problem.loss.value(problem.y, np.zeros(problem.n)))
    if without:
        X = problem.X
        alike = isinstance(X, np.ndarray) and bool((X[0] == X).all())
        return _UNSEEN**3 * without if alike else 0.0
    few = np.unique(np.linspace(0, problem.n - 1, min(problem.n, _MEASURED)).astype(np.intp))
    K = problem.kernel.bind(problem.X).block(few, few)
    length2 = float(np.mean(np.diag(K)))
    variance = max(0.0, length2 - float(np.mean(K)) - _UNSEEN * abs(length2))
    return 0.5 * float(np.abs(problem.costs).sum() * problem.weight.mean()) * variance
