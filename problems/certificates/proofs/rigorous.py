"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The dual point is made exactly feasible in rationals; any (w, u) is a primal point as it stands. Both
objectives are evaluated in balls (`balls`) and rounded outwards: lower ≤ optimum ≤ upper. The precision
is doubled until the balls are narrower than float64 resolves, or, at the last, taken as they are.

A precomputed matrix K is positive semidefinite only up to rounding. With λ_min(K) ≥ −δ proven
(`semidefinite`) and D, P the dual and primal objectives,
    D_K(α) = D_{K+δI}(α) + ½δ‖α‖²  ≤  P_{K+δI}(w, u) + ½δ Σ max αᵢ²   for all feasible α,
so the largest value of the dual of K itself, which is what such a problem asks for, is enclosed.

Cost: two seconds for n = 2000 with an RBF kernel, see `balls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb, ctx, fmpq

from problems.certificates.certificate import NAN, Certificate, relative
from problems.certificates.hard_margin import no_margin
from problems.certificates.proofs.balls import (
    Unprovable,
    above,
    ball_scores,
    below,
    dot,
    linear_scores,
)
from problems.certificates.proofs.exact import Exact, exact_value
from problems.certificates.proofs.semidefinite import smallest_eigenvalue_bound
from problems.dataset import Indices, Vector
from problems.forms import Point
from problems.kernels import Precomputed, as_dense

if TYPE_CHECKING:
    from problems.formulations.formulation import Formulation

__all__ = ["Bounds", "Unprovable", "proven", "proven_bounds"]

_PRECISIONS = (106, 212, 424, 848)  # bits; at the first, inner products of float64 keep all digits
_NARROW = 2.0**-60  # width of a bound, relative to its size, that float64 does not show
_REACHES = (1e-12, 1e-10, 1e-8)  # how short of one a margin may be to be stretched to it


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


def proven(problem: Formulation, certificate: Certificate) -> Certificate:
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
    except Unprovable as missing:
        reason = "; ".join(filter(None, (certificate.reason, f"not proven: {missing}")))
        unknown = {"primal_objective": NAN, "dual_objective": NAN, "gap": NAN, "relative_gap": NAN}
        return replace(certificate, **unknown, reason=reason)
    resolution = relative(bounds.spare, bounds.upper, bounds.lower, certificate.unit)
    if is_own and point.w is not None:  # float64 has no better one next to it
        resolution += certificate.resolution
    if not problem.is_bounded:
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
    """Return a hard margin's point with α at its best norm and w at a smallest margin of one."""
    alpha, w, b = point.alpha, point.w, point.b
    if alpha is not None and alpha.any() and bounds.lower < inf:
        alpha = alpha * (2 * bounds.lower / float(alpha.sum()))
    if w is not None and w.any() and bounds.upper < inf:
        stretch = np.sqrt(2 * bounds.upper) / float(np.linalg.norm(w))
        w, b = stretch * w, None if b is None else stretch * b
    return Point(alpha, w, b)


def proven_bounds(
    problem: Formulation,
    alpha: Vector,
    w: Vector | None,
    offsets: tuple[float, ...],
    scale: float = 1.0,
    is_own: bool = True,
) -> Bounds:
    """Return proven bounds from a dual point `alpha` (n,) and, for a linear kernel, weights `w` (d,).

    Without `w` the primal point is w = `scale`·Σ βᵢφ(xᵢ) for the exactly feasible α; a `w` that is
    not `is_own` is that one rounded, and the better of both counts. `offsets`, one a group, are where
    the search for the best ones begins; the hard margin's is found anew.

    Raises
    ------
    Unprovable
        If the kernel is not known to be positive semidefinite, has no ball arithmetic, or the point
        is beyond float64.
    """
    if problem.pieces is None:
        raise Unprovable(f"the {problem.loss.name} loss has no ball arithmetic")
    given = np.concatenate([alpha, offsets, [scale], np.zeros(0) if w is None else w])
    if not np.isfinite(given).all():
        raise Unprovable("the point is beyond float64's range")
    exact = Exact(problem)
    shift = _shift(problem)
    beta = exact.beta(alpha)
    lower = upper = arb.nan()
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            lower, upper = _bounds(exact, beta, w, offsets, scale, shift, is_own)
        if _is_narrow(lower) and _is_narrow(upper):
            break
    if not lower.is_finite():
        raise Unprovable("αᵀQα cannot be distinguished from 0")
    # ½δ Σ max αᵢ², as much of ½‖w‖², and twice that of the losses
    spare = 2 * shift * float(np.sum(problem.upper**2)) if shift else 0.0
    return Bounds(below(lower), above(upper) if upper.is_finite() else inf, spare)


def _is_narrow(value: Any) -> bool:
    return not value.is_nan() and bool(value.rad() <= _NARROW * abs(value))


def _shift(problem: Formulation) -> float:
    """Return δ ≥ 0 such that K + δI is proven to be positive semidefinite."""
    if problem.kernel.is_psd:
        return 0.0
    if not isinstance(problem.kernel, Precomputed):
        raise Unprovable("the kernel is not known to be positive semidefinite on all samples")
    smallest = smallest_eigenvalue_bound(as_dense(problem.X))
    if not np.isfinite(smallest):
        raise Unprovable("the precomputed kernel has eigenvalues below 0, by more than rounding")
    if smallest < 0 and not problem.is_bounded:
        raise Unprovable(f"the precomputed kernel may have eigenvalues down to {smallest:.1e}")
    return max(0.0, -smallest)


def _bounds(
    exact: Exact,
    beta: list[Any],
    w: Vector | None,
    offsets: tuple[float, ...],
    scale: float,
    shift: float,
    is_own: bool,
) -> tuple[Any, Any]:
    """Return both bounds as balls; of an upper bound there may be none, which is infinite."""
    problem = exact.problem
    scores = ball_scores(problem.X, problem.kernel, beta)
    lower = _dual_value(exact, beta, scores)
    uppers: list[Any] = []
    if w is None or not is_own:
        s = arb(scale)
        own = [s * (f + shift * v) for f, v in zip(scores, map(arb, beta), strict=True)]
        uppers.append(_upper(exact, own, s * dot(beta, own), offsets))
    if w is not None:
        weights = [arb(v) for v in w.tolist()]
        own = linear_scores(problem.X, weights)
        uppers.append(_upper(exact, own, dot(weights, weights), offsets))
    upper = min(uppers, key=lambda value: value.upper())
    if shift:
        largest = [max(-low, high) for low, high in zip(exact.low, exact.high, strict=True)]
        upper += shift / 2 * sum((arb(c) ** 2 for c in largest), arb(0))
    return lower, upper


def _upper(exact: Exact, scores: list[Any], norm2: Any, offsets: tuple[float, ...]) -> Any:
    """Return the primal objective of weights with these scores and this norm."""
    if exact.is_bounded:
        return _primal_value(exact, scores, norm2, offsets)
    return _hard_primal_value(exact.problem, scores, norm2)


def _dual_value(exact: Exact, beta: list[Any], scores: list[Any]) -> Any:
    """Return the dual objective; without bounds, of the hard margin, the best over the norm of α."""
    quadratic, linear = dot(beta, scores), fmpq(0)
    for piece, x in zip(exact.pieces, exact.variables(beta), strict=True):
        targets = zip(piece.sign.tolist(), piece.target.tolist(), x, strict=True)
        linear += sum((int(s) * exact_value(t) * v for s, t, v in targets), fmpq(0))
        linear -= exact_value(piece.offset) * sum(x, fmpq(0))
    if exact.is_bounded:
        return arb(linear) - quadratic / 2
    return arb(linear) ** 2 / (2 * quadratic) if linear else arb(0)


def _primal_value(exact: Exact, scores: list[Any], norm2: Any, offsets: tuple[float, ...]) -> Any:
    """Return the primal objective at (w, u), or at a better point that only rounding keeps it from."""
    chosen = _best_offsets(exact, scores, offsets)
    cost = sum((arb(c) * u for c, u in zip(exact.costs, chosen, strict=True)), arb(0))
    residuals = exact.residuals(exact.shifted(scores, chosen))
    values = [norm2 / 2 + cost + exact.risks(residuals)] + [
        s * s * norm2 / 2 + s * cost + exact.risks([[s * r + s - 1 for r in residuals[0]]])
        for s in _stretches(exact, residuals)
    ]
    return min(values, key=lambda value: value.upper())


def _best_offsets(exact: Exact, scores: list[Any], offsets: tuple[float, ...]) -> list[Any]:
    """Return for each group the offset that is given, or the best one if that is better.

    float64 may not have it. The risk's slope rises at each kink; its least is where it passes 0.
    """
    best: list[Any] = []
    residuals = exact.residuals(scores)
    for members, cost, given in zip(exact.groups, exact.costs, offsets, strict=True):
        slope, kinks = cost, list[tuple[Any, Any]]()
        for piece, own in zip(exact.pieces, residuals, strict=True):
            low, high = exact_value(piece.low), exact_value(piece.high)
            for i in members:
                s = int(piece.sign[i])
                slope += exact.C[i] * (-high if s > 0 else low)
                kinks.append((-s * own[i], exact.C[i] * (high - low)))
        kinks.sort(key=lambda kink: kink[0].mid())
        choices = [arb(given)]
        for kink, rise in kinks:
            slope += rise
            if slope >= 0:
                choices.append(kink)
                break

        def value(offset: Any, members: Indices = members, cost: Any = cost) -> Any:
            decision = list(scores)
            for i in members:
                decision[i] = scores[i] + offset
            return (cost * offset + exact.risks(exact.residuals(decision), members)).upper()

        best.append(min(choices, key=value))
    return best


def _stretches(exact: Exact, residuals: list[list[Any]]) -> Iterator[Any]:
    """Yield scales that take margins just short of one to one: a large C weighs each of them."""
    if not exact.problem.loss.unit_margin:
        return
    short = [(-r).upper() for r in residuals[0]]
    for reach in _REACHES:
        near = [v for v in short if 0 < v < reach]
        if near:
            yield 1 / (1 - max(near))


def _hard_primal_value(problem: Formulation, scores: list[Any], norm2: Any) -> Any:
    """Return ‖w‖²/2 over the squared smallest margin; infinite if no margin is positive."""
    b = _middle(problem, scores)
    margins = [int(y) * (f + b) for y, f in zip(problem.y.tolist(), scores, strict=True)]
    least = margins[0]
    for margin in margins:
        least = least.min(margin)
    if least > 0:
        return norm2 / (2 * least**2)
    return arb.pos_inf() if least <= 0 else arb.nan()


def _middle(problem: Formulation, scores: list[Any]) -> Any:
    """Return the intercept that makes the smallest margin largest, up to the balls' width."""
    if not problem.intercept:
        return arb(0)
    positive, negative = (
        [f.mid() for f, y in zip(scores, problem.y, strict=True) if y == s] for s in (1, -1)
    )
    if positive and negative:
        return ((min(positive) + max(negative)) / -2).mid()
    return 1 - min(positive) if positive else -1 - max(negative)
