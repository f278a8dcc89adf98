"""Bounds on the optimum that are theorems about the stored data, not float64 estimates.

The dual point is made exactly feasible in rationals; any (w, b) is a primal point as it stands. Both
objectives are evaluated in balls (`balls`) and rounded outwards: lower ≤ optimum ≤ upper. The precision
is doubled until the balls are narrower than float64 can tell, or, at the last, taken as they are.

A precomputed matrix K is positive semidefinite only up to rounding. With λ_min(K) ≥ −δ proven
(`semidefinite`) and D, P the dual and primal objectives,
    D_K(α) = D_{K+δI}(α) + ½δ‖α‖²  ≤  P_{K+δI}(w, b) + ½δ Σ Cᵢ²   for all feasible α,
so the largest value of the dual of K itself, which is what such a problem asks for, is enclosed.

Cost: two seconds for n = 2000 with an RBF kernel, see `balls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from problems.certificates.balls import Unprovable, above, ball_scores, below, dot, linear_scores
from problems.certificates.semidefinite import smallest_eigenvalue_bound
from problems.dataset import Vector
from problems.formulations.erm import HingeERM, RegularizedERM
from problems.formulations.formulation import Formulation
from problems.kernels import Precomputed, as_dense

__all__ = ["Bounds", "Unprovable", "proven_bounds"]

_PRECISIONS = (106, 212, 424, 848)  # bits; at the first, inner products of float64 keep all digits
_NARROW = 2.0**-60  # width of a bound, relative to its size, that float64 does not show
_REACHES = (1e-12, 1e-10, 1e-8)  # how short of one a margin may be to be stretched to it


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


def proven_bounds(
    problem: Formulation, alpha: Vector, w: Vector | None, b: float, length: float = 1.0
) -> Bounds:
    """Return proven bounds from a dual point `alpha` (n,) and, for a linear kernel, weights `w` (d,).

    Without `w` the primal point is w = `length`·Σ βᵢφ(xᵢ) for the exactly feasible α. `b` is where the
    best intercept is looked for; the hard margin's is found anew.

    Raises
    ------
    Unprovable
        If the kernel is not known to be positive semidefinite, has no ball arithmetic, or the point
        is beyond float64.
    """
    if problem.family in ("risk", "softmax"):
        raise Unprovable(f"the {problem.loss.name} loss has no ball arithmetic")
    given = np.concatenate([alpha, [b, length], np.zeros(0) if w is None else w])
    if not np.isfinite(given).all():
        raise Unprovable("the point is beyond float64's range")
    shift = _shift(problem)
    beta = _exact_beta(problem, alpha)
    lower = upper = arb.nan()
    for bits in _PRECISIONS:
        with ctx.workprec(bits):
            lower, upper = _bounds(problem, beta, w, b, length, shift)
        if _is_narrow(lower) and _is_narrow(upper):
            break
    if not lower.is_finite():
        raise Unprovable("αᵀQα cannot be told from 0")
    return Bounds(below(lower), above(upper) if upper.is_finite() else inf)


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
    if smallest < 0 and problem.family == "hard_margin":
        raise Unprovable(f"the precomputed kernel may have eigenvalues down to {smallest:.1e}")
    return max(0.0, -smallest)


def _bounds(
    problem: Formulation,
    beta: list[Any],
    w: Vector | None,
    b: float,
    length: float,
    shift: float,
) -> tuple[Any, Any]:
    """Return both bounds as balls; of an upper bound there may be none, which is infinite."""
    scores = ball_scores(problem.X, problem.kernel, beta)
    lower = _dual_value(problem, beta, scores)
    if w is None:
        s = arb(length)
        scores = [s * (f + shift * v) for f, v in zip(scores, map(arb, beta), strict=True)]
        norm2 = s * dot(beta, scores)
    else:
        weights = [arb(v) for v in w.tolist()]
        scores, norm2 = linear_scores(problem.X, weights), dot(weights, weights)
    upper = _primal_value(problem, scores, norm2, b)
    if shift:
        upper += shift / 2 * sum((arb(c) ** 2 for c in _exact_bounds(problem)), arb(0))
    return lower, upper


def _exact(value: float) -> Any:
    return fmpq(*float(value).as_integer_ratio())


def _exact_bounds(problem: Formulation) -> list[Any]:
    """Return Cᵢ as rationals (None for no bound); of hinge ERM 1/(n·lam), which need not be a float."""
    if isinstance(problem, (HingeERM, RegularizedERM)):
        return [1 / (problem.n * _exact(problem.lam))] * problem.n
    return [None if np.isinf(c) else _exact(c) for c in problem.upper.tolist()]


def _exact_beta(problem: Formulation, alpha: Vector) -> list[Any]:
    """Return βᵢ as rationals that satisfy the box and, with an intercept, Σ βᵢ = 0 exactly."""
    sign = [1] * problem.n if problem.is_regression else [int(s) for s in problem.y]
    x = [_exact(v) for v in alpha.tolist()]
    boxes = [_box(problem, c) for c in _exact_bounds(problem)]
    x = [_clip(v, *box) for v, box in zip(x, boxes, strict=True)]
    if problem.intercept:
        # the entries of largest size give way; 0 is feasible, so moving all of them is enough
        excess = sum((s * v for s, v in zip(sign, x, strict=True)), fmpq(0))
        for i in np.argsort(-np.abs(alpha)):
            if excess == 0:
                break
            moved = _clip(x[i] - sign[i] * excess, *boxes[i])
            excess += sign[i] * (moved - x[i])
            x[i] = moved
        assert excess == 0
    return [s * v for s, v in zip(sign, x, strict=True)]


def _box(problem: Formulation, c: Any) -> tuple[Any, Any]:
    return (-c if problem.is_regression else fmpq(0)), c


def _clip(value: Any, low: Any, high: Any) -> Any:
    value = max(value, low)
    return value if high is None else min(value, high)


def _dual_value(problem: Formulation, beta: list[Any], scores: list[Any]) -> Any:
    """Return the dual objective; of the hard margin the best over the length of α."""
    quadratic = dot(beta, scores)
    linear = sum((abs(v) for v in beta), fmpq(0))
    if problem.is_regression:
        targets = [_exact(v) for v in problem.y.tolist()]
        linear *= -_exact(problem.tube)
        linear += sum((t * v for t, v in zip(targets, beta, strict=True)), fmpq(0))
    if problem.family != "hard_margin":
        return arb(linear) - quadratic / 2
    return arb(linear) ** 2 / (2 * quadratic) if linear else arb(0)


def _primal_value(problem: Formulation, scores: list[Any], norm2: Any, b: float) -> Any:
    """Return the primal objective at (w, b), or at a better point that only rounding keeps it from."""
    if problem.family == "hard_margin":
        return _hard_primal_value(problem, scores, norm2)
    C = [arb(c) for c in _exact_bounds(problem)]

    def risk(excess: list[Any]) -> Any:
        return dot(C, [e.max(arb(0)) for e in excess])

    intercepts = _intercepts(problem, scores, b)
    choices = [_excess(problem, [f + c for f in scores]) for c in intercepts]
    excess = min(choices, key=lambda e: risk(e).upper())
    values = [norm2 / 2 + risk(excess)] + [
        s * s * norm2 / 2 + risk([1 - s + s * e for e in excess])
        for s in _stretches(problem, excess)
    ]
    return min(values, key=lambda value: value.upper())


def _excess(problem: Formulation, decision: list[Any]) -> list[Any]:
    """Return what the loss is the positive part of: 1 − y·f, or |y − f| − epsilon."""
    pairs = zip(problem.y.tolist(), decision, strict=True)
    if problem.is_regression:
        return [abs(y - f) - problem.tube for y, f in pairs]
    return [1 - y * f for y, f in pairs]


def _intercepts(problem: Formulation, scores: list[Any], b: float) -> list[Any]:
    """Return b, and the kink of the risk nearest to it: float64 may not have the best intercept."""
    if not problem.intercept:
        return [arb(0)]
    kinks = [y - f for y, f in zip(problem.y.tolist(), scores, strict=True)]
    if problem.is_regression:
        kinks = [k + side for k in kinks for side in (problem.tube, -problem.tube)]
    return [arb(b), min(kinks, key=lambda k: abs(float(k - b)))]


def _stretches(problem: Formulation, excess: list[Any]) -> Iterator[Any]:
    """Yield lengths that take margins just short of one to one: a large C weighs each of them."""
    short = np.array([float(e) for e in excess])
    for reach in () if problem.is_regression else _REACHES:
        near = short[(short > 0) & (short < reach)]
        if near.size:
            yield 1 / (1 - arb(float(near.max())))


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
