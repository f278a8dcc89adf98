"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The dual point is made exactly feasible in rationals; any (w, u) is a primal point as it stands. Both
objectives are evaluated in balls and rounded outwards: lower ≤ optimum ≤ upper. The precision is
doubled until the balls are narrower than float64 resolves, or, at the last, taken as they are. How both
are evaluated is the formulation's `enclosure`: by default Fenchel's (`fenchel`).

Cost: two seconds for n = 2000 with an RBF kernel, see `balls`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx

from problems.certificates.certificate import NAN, Certificate, relative
from problems.certificates.hard_margin import no_margin
from problems.certificates.proofs.balls import Unprovable, above, below
from problems.dataset import Vector

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation

__all__ = ["Bounds", "Unprovable", "proven", "proven_bounds"]

_PRECISIONS = (106, 212, 424, 848)  # bits; at the first, inner products of float64 keep all digits
_NARROW = 2.0**-60  # width of a bound, relative to its size, that float64 does not show


@dataclass(frozen=True)
class Bounds:
    """Proven bounds: lower ≤ optimum ≤ upper."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """A float64 that is at least upper − lower."""
        gap = self.upper - self.lower
        if gap == inf or Fraction(gap) >= Fraction(self.upper) - Fraction(self.lower):
            return gap
        return nextafter(gap, inf)


def proven(problem: Formulation, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds in place of the float64 ones."""
    point, source = certificate.point, f"proven: {certificate.bound_source}"
    if certificate.infeasible:  # in rationals already
        return replace(certificate, bound_source=source)
    assert point.alpha is not None
    try:
        bounds = proven_bounds(
            problem, point.alpha, point.w, certificate.offsets, certificate.scale
        )
    except (Unprovable, NotImplementedError) as missing:
        reason = "; ".join(filter(None, (certificate.reason, f"not proven: {missing}")))
        unknown = {"primal_objective": NAN, "dual_objective": NAN, "gap": NAN, "relative_gap": NAN}
        return replace(certificate, **unknown, reason=reason)
    return replace(
        certificate,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=bounds.gap,
        relative_gap=relative(bounds.gap, bounds.upper, bounds.lower, certificate.unit),
        bound_source=source,
        reason="" if np.isfinite(bounds.upper) else no_margin(bounds.lower),
    )


def proven_bounds(
    problem: Formulation,
    alpha: Vector,
    w: Vector | None,
    offsets: tuple[float, ...] = (),
    scale: float = 1.0,
) -> Bounds:
    """Return proven bounds from a dual point `alpha` and, for a linear kernel, weights `w`.

    Without `w` the primal point is w = `scale`·Σ βᵢφ(xᵢ) for the exactly feasible α. `offsets`, one a
    group, are where the search for the best ones begins; the hard margin's is found anew.

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
    evaluate = problem.enclosure(alpha, w, offsets, scale)
    lower = upper = arb.nan()
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            lower, upper = evaluate()
        if _is_narrow(lower) and _is_narrow(upper):
            break
    if not lower.is_finite():
        raise Unprovable("αᵀQα cannot be distinguished from 0")
    return Bounds(below(lower), above(upper) if upper.is_finite() else inf)


def _is_narrow(value: Any) -> bool:
    return not value.is_nan() and bool(value.rad() <= _NARROW * abs(value))
