"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The dual point is made exactly feasible in rationals; any (w, u) is a primal point as it stands. Both
objectives are evaluated in balls and rounded outwards: lower ≤ optimum ≤ upper. The precision is
doubled until the balls are narrower than float64 resolves, or, at the last, taken as they are.

Cost: two seconds for n = 2000 with an RBF kernel, see `balls`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
from flint import arb, ctx

from problems.certificates.certificate import WRONG_GAP, Certificate, not_proven, relative
from problems.certificates.hard_margin import no_margin
from problems.certificates.proofs.balls import Unprovable, above, below
from problems.certificates.proofs.fenchel import enclosure
from problems.certificates.proofs.kernels import eigenvalue_shift
from problems.dataset import Vector
from problems.dual_problem.dual import DualProblem
from problems.forms import Point

__all__ = ["Bounds", "Unprovable", "proven", "proven_bounds"]

_PRECISIONS = (106, 212, 424, 848)  # bits; at the first, inner products of float64 keep all digits
_NARROW = 2.0**-60  # width of a bound, relative to its size, that float64 does not show


@dataclass(frozen=True)
class Bounds:
    """Proven bounds: lower ≤ optimum ≤ upper.

    Attributes
    ----------
    spare : how much of `upper` stands for eigenvalues that may be below 0.
    """

    lower: float
    upper: float
    spare: float = 0.0

    @property
    def gap(self) -> float:
        """A float64 that is at least upper − lower."""
        gap = self.upper - self.lower
        if gap == inf or Fraction(gap) >= Fraction(self.upper) - Fraction(self.lower):
            return gap
        return nextafter(gap, inf)


def proven(problem: DualProblem, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds in place of the float64 ones."""
    point, source = certificate.point, f"proven: {certificate.bound_source}"
    if certificate.infeasible:  # in rationals already
        return replace(certificate, bound_source=source)
    assert point.alpha is not None
    is_own = certificate.bound_source != "alpha"
    try:
        bounds = proven_bounds(
            problem, point.alpha, point.w, certificate.offsets, certificate.scale, is_own
        )
    except (Unprovable, NotImplementedError) as missing:
        return not_proven(certificate, missing)
    resolution = relative(bounds.spare, bounds.upper, bounds.lower, certificate.unit)
    if (is_own and point.w is not None) or certificate.is_undecided(WRONG_GAP):
        resolution += certificate.resolution  # float64 has no better point next to this one
    if np.isinf(problem.weight).any():
        point = _stretched(point, bounds)
    return replace(
        certificate,
        point=point,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=bounds.gap,
        relative_gap=relative(bounds.gap, bounds.upper, bounds.lower, certificate.unit),
        resolution=resolution,
        bound_source=source,
        reason="" if np.isfinite(bounds.upper) else no_margin(bounds.lower),
    )


def _stretched(point: Point, bounds: Bounds) -> Point:
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
    scale: float = 1.0,
    is_own: bool = True,
) -> Bounds:
    """Return proven bounds from a dual point `alpha` and, for a linear kernel, weights `w`.

    Without `w` the primal point is w = `scale`·Σ βᵢφ(xᵢ) for the exactly feasible α; a `w` that is
    not `is_own` is that one rounded, and the better of both counts. `offsets`, one a group, are where
    the search for the best ones begins; the hard margin's is found anew.

    Raises
    ------
    Unprovable
        If the kernel is not known to be positive semidefinite, has no ball arithmetic, or the point
        is beyond float64.
    NotImplementedError
        If the loss has no ball arithmetic.
    """
    given = np.concatenate([alpha.ravel(), offsets, [scale], [] if w is None else w.ravel()])
    if not np.isfinite(given).all():
        raise Unprovable("the point is beyond float64's range")
    shift = eigenvalue_shift(problem.kernel, problem.X)
    evaluate = enclosure(problem, alpha, w, offsets, scale, is_own, shift)
    lower = upper = arb.nan()
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            lower, upper = evaluate()
        if _is_narrow(lower) and _is_narrow(upper):
            break
    if not lower.is_finite():
        raise Unprovable("αᵀQα cannot be distinguished from 0")
    # ½δ Σ max αᵢ², as much of ½‖w‖², and twice that of the losses
    spare = 2 * shift * float(np.sum(problem.upper**2)) if shift else 0.0
    return Bounds(below(lower), above(upper) if upper.is_finite() else inf, spare)


def _is_narrow(value: Any) -> bool:
    return not value.is_nan() and bool(value.rad() <= _NARROW * abs(value))
