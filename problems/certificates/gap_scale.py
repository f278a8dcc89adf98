"""The scale of the gap of a problem whose optimum may be 0, to which no gap can be relative."""

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.certificates.bounds import Float64, corrections, middles
from dualgap.problems.risk.risk import Risk, absorbs_shifts, by_side, shifts


def gap_scale(original: Risk, risk: Risk, A: Float64) -> tuple[float, str]:
    """Return the least divisor of gaps, 0 if none is needed, and a reason to report.

    A relative gap is relative to the larger bound or, if that is larger, to this scale. If w = 0 is
    optimal, without a loss beyond rounding of the targets, the scale is the objective at w = 0 without
    an offset; if that is 0, or an offset absorbs a constant added to all targets and the tube has a
    width, it is the sum of the weights times the tube (or 1). If every loss is below 2⁻³⁰ times target
    plus tube, it is that. If each side has an offset and all targets are equal, the optimum is 0,
    and the scale is the objective at w = 0 without an offset. For other offsets with costs see
    `_scale_with_costs`.

    Parameters
    ----------
    risk : the original one with targets near 0. A : its arithmetic.
    """
    if by_side(original):
        sizes = original.C @ np.abs(original.y)
        return 0.0 if np.ptp(original.y) else float(sizes or original.C.sum()), ""
    if risk.costs.any():
        return _scale_with_costs(risk), ""
    zero = np.zeros((risk.n, risk.loss.outputs) if risk.loss.outputs > 1 else risk.n)
    best = middles(corrections(risk, A, Intervals(zero)))
    size, rtol = np.abs(risk.y) + original.loss.tube, 0.0
    for offsets in (best, 0.0 * best):
        decision = zero + shifts(risk, offsets)
        if risk.terms is None:
            if not np.any(risk.loss.value(risk.y, decision)):
                break
            continue
        # targets, tube and offsets are rounded
        rounding = np.spacing(np.abs(decision)) + 2 * np.spacing(
            np.abs(original.y) + original.loss.tube
        )
        losses = risk.loss.value(risk.y, Intervals(decision, rounding)).low
        if not np.any(losses > 0):
            break
        # float64 resolves a loss below 2⁻³⁰ of its target to under six digits
        if original.loss.is_regression and np.all(losses <= 2.0**-30 * size):
            rtol = 2.0**-30
    else:
        return rtol * float(original.C @ size), ""
    in_tube = absorbs_shifts(original) and original.loss.tube
    at_zero = 0.0 if in_tube else float(original.C @ original.loss.value(original.y, zero))
    scale = at_zero or float(original.C.sum()) * (original.loss.tube or 1.0)
    return scale, "" if risk.terms else "w = 0 is optimal: no sample has a loss there"


def _scale_with_costs(risk: Risk) -> float:
    """Return the gap scale of a problem whose offsets have costs.

    If the losses are 0 at w = 0 and u = 0 (ν-SVC, one-class SVM), the optimum −½‖w‖² may be 0. The scale
    is then ½‖w‖² for orthogonal samples with the variance of the data that share Σ|c| equally:
    ½(Σ|c|)²/n times the mean squared distance to the mean in feature space, which constant features do
    not change. It is estimated from a subsample, minus its possible rounding error.

    Otherwise (SVDD) it is 0, except for identical samples: their ball is a point and the gap is
    rounding, so a fraction of the objective at w = 0 is used.
    """
    at_zero = float(risk.C @ risk.loss.value(risk.y, np.zeros(risk.n)))
    if at_zero:
        X = risk.samples.X
        identical = isinstance(X, np.ndarray) and bool((X[0] == X).all())
        return 1e-36 * at_zero if identical else 0.0
    subset = np.unique(np.linspace(0, risk.n - 1, min(risk.n, 256)).astype(np.intp))
    gram = risk.samples.gram().part(subset)
    K, radius = gram.bound.block(slice(None), slice(None)), gram.radius(2 * subset.size)
    rounding = float(np.mean(radius**2) + np.mean(radius) ** 2)
    variance = float(np.mean(np.diag(K)) - np.mean(K.mean(axis=1))) - rounding
    return 0.5 * float(np.abs(risk.costs).sum()) ** 2 / risk.n * max(0.0, variance)
