"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The formulas are those of `bounds` and `hard_margin`, in balls that are rounded outwards: lower ≤ optimum
≤ upper. The precision is doubled until the balls are narrower than float64 resolves, or, at the last,
taken as they are.

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
from dualgap.problems.certificates.certificate import (
    WRONG_GAP,
    Bounds,
    Certificate,
    assembled,
    not_proven,
    unit_beside,
)
from dualgap.problems.certificates.hard_margin import hard_dual, hard_primal, no_margin
from dualgap.problems.dataset import Vector
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.dual_problem.recovery import Weights
from dualgap.problems.forms import Point
from dualgap.problems.gram.semidefinite import psd_shift

_PRECISIONS = (106, 212, 424, 848)  # bits; at the first, inner products of float64 keep all digits
_CORRECTIONS = 2  # of offsets: the primal may ask for more digits of them than float64 has
_NARROW = 2.0**-60  # width of a bound, relative to its size, that float64 does not show


def proven(problem: DualProblem, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds in place of the float64 ones."""
    point, source = certificate.point, f"proven: {certificate.bound_source}"
    if certificate.infeasible:  # in rationals already
        return replace(certificate, bound_source=source)
    assert point.alpha is not None
    is_own = certificate.bound_source != "alpha"
    try:
        bounds, scale = proven_bounds(problem, point.alpha, point.w, certificate.offsets, is_own)
    except (Unprovable, ArithmeticError) as missing:
        return not_proven(certificate, missing)
    if np.isinf(problem.weight).any():
        point = _to_bounds(point, bounds)
    reason = "" if np.isfinite(bounds.upper) else no_margin(bounds.lower)
    said = {"point": point, "bound_source": source, "reason": reason}
    said |= {"scale": certificate.scale if scale is None else scale}
    made = assembled(bounds, unit_beside(bounds, certificate.unit), certificate, **said)
    if (is_own and point.w is not None) or certificate.is_undecided(WRONG_GAP):
        # float64 has no better point next to this one
        made = replace(made, resolution=made.resolution + certificate.resolution)
    return made


def _to_bounds(point: Point, bounds: Bounds) -> Point:
    """Return a hard margin's point with α at its best norm and w at a smallest margin of one.

    What would leave float64's range that way stays as it is.
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
    problem: DualProblem,
    alpha: Vector,
    w: Vector | None,
    offsets: tuple[float, ...] = (),
    is_own: bool = True,
) -> tuple[Bounds, float | None]:
    """Return proven bounds from a dual point `alpha` and, for a linear kernel, weights `w`.

    Without `w` the primal point is a w = s·Σ βᵢφ(xᵢ), and s is returned too; a `w` that is not `is_own`
    is that one rounded, and the better of both counts. `offsets`, one a group, are where the search for
    the best ones begins; the hard margin's is found anew.

    Raises
    ------
    Unprovable
        If the kernel is not known to be positive semidefinite, has no ball arithmetic, or the point is
        beyond float64.
    ArithmeticError
        If no exactly feasible point is found.
    """
    given = np.concatenate([alpha.ravel(), offsets, [] if w is None else w.ravel()])
    if not np.isfinite(given).all():
        raise Unprovable("the point is beyond float64's range")
    delta = psd_shift(problem.gram(memory=0), proven=True)
    if delta and not problem.is_bounded:
        raise Unprovable(f"the kernel's matrix may have eigenvalues down to {-delta:.1e}")
    lower = upper = Balls(np.nan)
    scale: float | None = None
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            A = Arb(problem)
            beta = A.coefficients(problem, alpha)
            own = combination(problem, beta)
            points = [] if w is None else [weights_of(problem, w)]
            if w is None or not is_own:  # what is certified as a primal point need not be feasible
                given = Balls(problem.beta(alpha))
                same = bool((beta.entries == given.entries).all())
                whole = own if same else combination(problem, given)
                points.append(shifted(whole, given, delta))
            if problem.may_be_infeasible:
                lower, _ = hard_dual(problem, A, beta, own)
            else:
                linear, norm2 = dual_terms(problem, A, beta, own)
                lower = linear - 0.5 * norm2
            start = Balls(np.array(offsets))
            uppers = [_best(problem, A, point, start) for point in points]
            best = min(range(len(uppers)), key=lambda k: uppers[k].value.item().upper())
            upper, scale = uppers[best].value, uppers[best].scale
            scale = scale if points[best].w is None else None
            if delta:
                upper = upper + delta / 2 * (Balls(problem.upper) ** 2).sum()
        if _is_narrow(lower) and _is_narrow(upper):
            break
    if not lower.item().is_finite():
        raise Unprovable("αᵀQα cannot be distinguished from 0")
    # ½δ Σ max αᵢ², as much of ½‖w‖², and twice that of the losses
    spare = 2 * delta * float(np.sum(problem.upper**2)) if delta else 0.0
    high = float(upper.high) if upper.item().is_finite() else inf
    return Bounds(float(lower.low), high, spare, proven=True), scale


def _best(problem: DualProblem, A: Arb, weights: Weights, start: Balls) -> Primal:
    """Return the primal objective at the offsets that are given, or at better ones.

    Each correction has as many digits as float64. The hard margin's offset is found anew.
    """
    if problem.may_be_infeasible:
        value, margin, b = hard_primal(problem, A, weights)
        if not margin.item() > 0:
            value = Balls(inf if margin.item() <= 0 else np.nan)
        return Primal(value, b)
    choices = [start]
    for _ in range(_CORRECTIONS if start.size else 0):
        choices.append(choices[-1] + middles(corrections(problem, A, weights.scores, choices[-1])))
    allowed = [own for own in choices if problem.allows(own.entries)]
    return best_primal(problem, A, weights, allowed)


def _is_narrow(value: Balls) -> bool:
    ball = value.item()
    return not ball.is_nan() and bool(ball.rad() <= _NARROW * abs(ball))
