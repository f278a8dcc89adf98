"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The formulas are those of `bounds` and `hard_margin`, evaluated in balls that are rounded outwards. The
precision is doubled until the balls are narrower than float64 resolves, up to the last one.

Cost: two seconds for n = 2000 with an RBF kernel, see `arb`.
"""

from dataclasses import replace
from math import inf

import numpy as np
from flint import ctx

from dualgap.problems.arithmetic import Balls
from dualgap.problems.arithmetic.balls import Unprovable
from dualgap.problems.certificates.arb import Arb, combination, weights_of
from dualgap.problems.certificates.bounds import (
    Primal,
    best_primal,
    corrections,
    dual_terms,
    middles,
    shifted,
)
from dualgap.problems.certificates.hard_margin import describe_margin_limit, hard_dual, hard_primal
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point
from dualgap.problems.gram.semidefinite import psd_shift
from dualgap.problems.problem.certificate import (
    WRONG_GAP,
    Bounds,
    Certificate,
    gap_scale_for,
    make_certificate,
    not_proven,
)
from dualgap.problems.risk.dual_point import Weights
from dualgap.problems.risk.risk import Risk


def proven(risk: Risk, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds instead of the float64 ones."""
    point, source = certificate.point, f"proven: {certificate.bound_source}"
    if certificate.infeasible:  # proven in rational arithmetic already
        return replace(certificate, bound_source=source)
    assert point.alpha is not None
    exact_w = certificate.bound_source != "alpha"
    try:
        bounds, scale = proven_bounds(risk, point.alpha, point.w, certificate.offsets, exact_w)
    except (Unprovable, ArithmeticError) as error:
        return not_proven(certificate, error)
    if np.isinf(risk.C).any():
        point = _rescale_hard_margin(point, bounds)
    reason = "" if np.isfinite(bounds.upper) else describe_margin_limit(bounds.lower)
    changes = {"point": point, "bound_source": source, "reason": reason}
    changes |= {"scale": certificate.scale if scale is None else scale}
    gap_scale = gap_scale_for(bounds, certificate.unit)
    result = make_certificate(bounds, gap_scale, certificate, **changes)
    if (exact_w and point.w is not None) or certificate.is_undecided(WRONG_GAP):
        # float64 has no better point near this one
        result = replace(result, resolution=result.resolution + certificate.resolution)
    return result


def _rescale_hard_margin(point: Point, bounds: Bounds) -> Point:
    """Return a hard margin's point with α scaled to its best norm and w to a smallest margin of 1.

    A variable that would overflow float64 is left unscaled.
    """
    alpha, w, b = point.alpha, point.w, point.b
    if alpha is not None and 0 < alpha.sum() < inf and bounds.lower < inf:
        longer = alpha * (2 * bounds.lower / float(alpha.sum()))
        alpha = longer if np.isfinite(longer).all() else alpha
    if w is not None and w.any() and bounds.upper < inf:
        stretch = np.sqrt(2 * bounds.upper) / float(np.linalg.norm(w))
        longer = stretch * w
        if np.isfinite(longer).all():
            w, b = longer, None if b is None else stretch * b
    return Point(alpha, w, b)


def proven_bounds(
    risk: Risk,
    alpha: Vector,
    w: Vector | None,
    offsets: tuple[float, ...] = (),
    exact_w: bool = True,
) -> tuple[Bounds, float | None]:
    """Return proven bounds from a dual point `alpha` and, for a linear kernel, weights `w`.

    Without `w` the primal point is w = s·Σ βᵢφ(xᵢ), and s is returned too. If `exact_w` is false, `w` is
    that sum rounded, and the better of both is used. `offsets`, one per group, start the search for the
    best ones; that of a hard margin is recomputed.

    Raises
    ------
    Unprovable
        If the kernel has no ball arithmetic or no proof of semidefiniteness, or the point is not finite.
    ArithmeticError
        If no exactly feasible point is found.
    """
    numbers = np.concatenate([alpha.ravel(), offsets, [] if w is None else w.ravel()])
    if not np.isfinite(numbers).all():
        raise Unprovable("the point overflows float64")
    delta = psd_shift(risk.samples.gram(memory=0), proven=True)
    limits = risk.C * risk.loss.lipschitz  # of |αᵢ|
    if delta and not np.isfinite(limits).all():
        raise Unprovable(f"the kernel matrix may have eigenvalues down to {-delta:.1e}")
    lower = upper = Balls(np.nan)
    scale: float | None = None
    for doublings in range(4):  # 106 bits keep all digits of products of float64 numbers
        with ctx.workprec(106 << doublings):
            A = Arb(risk)
            beta = A.coefficients(risk, alpha)
            weights = combination(risk, beta)
            lower = _dual_value(risk, A, beta, weights)
            points = [] if w is None else [weights_of(risk, w)]
            if w is None or not exact_w:  # a primal point need not come from a feasible β
                unclipped = Balls(risk.beta(alpha))
                same = bool((beta.entries == unclipped.entries).all())
                primal = weights if same else combination(risk, unclipped)
                points.append(shifted(primal, unclipped, delta))
            uppers = [_best_primal(risk, A, point, Balls(np.array(offsets))) for point in points]
            best = min(range(len(uppers)), key=lambda k: uppers[k].value.item().upper())
            upper = uppers[best].value
            scale = uppers[best].scale if points[best].w is None else None
            if delta:
                upper = upper + delta / 2 * (Balls(limits) ** 2).sum()
        if _is_narrow(lower) and _is_narrow(upper):
            break
    if not lower.item().is_finite():
        raise Unprovable("αᵀQα is not distinguishable from 0")
    # ½δ Σ max αᵢ², once more for ½‖w‖², and twice for the losses
    rounding = 2 * delta * float(np.sum(limits**2)) if delta else 0.0
    high = float(upper.high) if upper.item().is_finite() else inf
    return Bounds(float(lower.low), high, rounding, proven=True), scale


def _dual_value(risk: Risk, A: Arb, beta: Balls, weights: Weights[Balls]) -> Balls:
    """Return the dual objective at a feasible point next to β, which is scaled for a hard margin."""
    if risk.is_hard:
        return hard_dual(risk, A, beta, weights)[0]
    linear, norm2 = dual_terms(risk, A, beta, weights)
    return linear - 0.5 * norm2


def _best_primal(risk: Risk, A: Arb, weights: Weights[Balls], start: Balls) -> Primal[Balls, Balls]:
    """Return the primal objective at the given offsets or at better ones.

    Two corrections add the digits of a float64 each. The offset of a hard margin is recomputed.
    """
    if risk.is_hard:
        value, margin, b = hard_primal(risk, A, weights)
        if not margin.item() > 0:
            value = Balls(inf if margin.item() <= 0 else np.nan)
        return Primal(value, b)
    choices = [start]
    for _ in range(2 if start.size else 0):
        choices.append(choices[-1] + middles(corrections(risk, A, weights.scores, choices[-1])))
    return best_primal(risk, A, weights, choices)


def _is_narrow(value: Balls) -> bool:
    """Whether float64 does not resolve the radius."""
    ball = value.item()
    return not ball.is_nan() and bool(ball.rad() <= 2.0**-60 * abs(ball))
