"""Certificates of convex QPs: bounds on the normalised program, converted back to the original."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any, NamedTuple, cast

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.problem.certificate import Bounds, Certificate, make_certificate
from dualgap.problems.quadratic.arrays import Normalised
from dualgap.problems.quadratic.bounds import (
    ACCURATE_GAP,
    ConvexProgram,
    PerturbedSides,
)
from dualgap.problems.quadratic.eigenvalues import NotConvex
from dualgap.problems.quadratic.point import QPPoint

Multipliers = tuple[Vector, Vector]  # y of Ax = b (k,), z ≥ 0 of Gx ≤ h (m,)


@dataclass(frozen=True, eq=False)
class QPCertificate(Certificate):
    """The certificate of an answer to a convex QP; its bounds are always proven.

    Attributes
    ----------
    nearby : if no feasible point is proven to exist near x: the bounds of the problem whose right-hand
        sides are perturbed so that x is feasible.
    backward_error : the largest such perturbation, relative to the terms of its row.
    primal_residual, dual_residual, duality_gap : of the answer as given, absolute and in the problem's
        own units, see `optimality_conditions`; the last two are NaN without multipliers.
    """

    point: QPPoint = QPPoint()  # noqa: RUF009 - frozen
    nearby: QPCertificate | None = None
    backward_error: float = 0.0
    duality_gap: float = nan

    @property
    def as_nearby(self) -> str:
        """A sentence with the bounds of the perturbed problem."""
        return (
            f"within a backward error of {self.backward_error:.2g} the bounds are "
            f"{self.dual_objective:.10g} ≤ optimum ≤ {self.primal_objective:.10g}"
        )

    def __repr__(self) -> str:
        """Return one line with the bounds; that of no optimum also has those nearby."""
        text = super().__repr__()
        return f"{text[:-1]}; {self.nearby.as_nearby})" if self.infeasible and self.nearby else text


def _infeasible(point: QPPoint, nearby: QPCertificate | None = None) -> QPCertificate:
    """Return the certificate of a problem without a feasible point."""
    return QPCertificate(
        point=point,
        primal_objective=inf,
        dual_objective=inf,
        bound_source="proven: Farkas multipliers",
        infeasible=True,
        reason="it is proven that no point is feasible",
        nearby=nearby,
    )


def _unbounded(point: QPPoint) -> QPCertificate:
    """Return the certificate of a problem whose objective has no lower bound."""
    return QPCertificate(
        point=point,
        primal_objective=-inf,
        dual_objective=-inf,
        bound_source="proven: a direction of descent",
        infeasible=True,
        reason="it is proven that the objective is unbounded below",
    )


def without_point(program: ConvexProgram, reason: str) -> QPCertificate:
    """Return the certificate without an answer: it may still prove that there is no optimum."""
    program = program.normalised.program
    if program.is_infeasible:
        return _infeasible(QPPoint())
    start = np.clip(np.zeros(program.q.size), program.lb, program.ub)
    unbounded = program.is_unbounded and program.upper(start, np.zeros(program.b.size)) is not None
    if unbounded:
        return _unbounded(QPPoint())
    try:
        _ = program.curvature
    except NotConvex as indefinite:  # of which a solver may have complained
        reason = f"{reason}; {indefinite}"
    return QPCertificate(reason=reason)


def qp_bounds(program: ConvexProgram, x: Vector, multipliers: Multipliers | None) -> QPCertificate:
    """Return the certificate of an answer `x` (n,), with its multipliers if they are given.

    If these give a wide gap, multipliers derived from x are tried too; the best bounds count.
    """
    conditions = optimality_conditions(program, x, multipliers)
    normalised = program.normalised
    bounded = normalised.program.with_bounds
    if multipliers is not None:
        y, z = normalised.multipliers(*multipliers)
        multipliers = y, np.where(np.diff(bounded.G.indptr), z, 0.0)
    violation = _violation(program, x)
    c = _bounds(bounded, normalised.x(x), multipliers, violation)
    if c.point.z is not None and bounded is not normalised.program:
        c = replace(c, point=_with_row_multipliers(normalised.program, bounded, c.point))
    c = _in_original_units(c, normalised, x)
    reasons = [c.reason] if c.nearby is None else [c.reason, c.nearby.as_nearby]
    return replace(c, primal_residual=violation, reason="; ".join(reasons), **conditions)


def _with_row_multipliers(
    program: ConvexProgram, bounded: ConvexProgram, point: QPPoint
) -> QPPoint:
    """Return the point with z of the rows that became bounds, taken from the remaining gradient."""
    x, z, y = point.x, point.z, point.y
    assert x is not None
    assert z is not None
    z = z.copy()
    r = program.P @ x + program.q + program.A.T @ y + bounded.G.T @ z
    for row in np.flatnonzero(np.diff(program.G.indptr) > np.diff(bounded.G.indptr)).tolist():
        column, value = (
            part[program.G.indptr[row]] for part in (program.G.indices, program.G.data)
        )
        tight = (bounded.ub if value > 0 else bounded.lb)[column] * value == program.h[row]
        z[row] = max(-r[column] / value, 0.0) if tight else 0.0
        r[column] += value * z[row]
    return replace(point, z=z)


def _in_original_units(
    c: QPCertificate, scaled: Normalised[ConvexProgram], x: Vector
) -> QPCertificate:
    """Return a certificate of a normalised program in the units of the original and its `x` (n,)."""
    lower = scaled.original_value(c.dual_objective, -inf)
    upper = scaled.original_value(c.primal_objective, inf)
    assert c.point.x is not None
    certified_x, z, y = scaled.original_x(c.point.x), c.point.z, c.point.y
    moved = nan if np.isnan(c.projection_distance) else float(np.linalg.norm(certified_x - x))
    if y is not None and z is not None:
        y, z = scaled.original_multipliers(y, z)
    return replace(
        c,
        primal_objective=upper,
        dual_objective=lower if lower > -inf or c.infeasible else nan,
        gap=Bounds(lower, upper).gap,
        unit=abs(scaled.original_value(c.unit, inf)),
        point=QPPoint(certified_x, z, y),
        projection_distance=moved,
        nearby=c.nearby and _in_original_units(c.nearby, scaled, x),
    )


def _bounds(
    program: ConvexProgram, x: Vector, multipliers: Multipliers | None, violation: float
) -> QPCertificate:
    """Return the certificate of `x` for a normalised program; `violation` is quoted in its reason."""
    try:
        _ = program.curvature
    except NotConvex as indefinite:
        return QPCertificate(point=QPPoint(x), reason=str(indefinite))
    feasible = program.upper(x, np.zeros(program.b.size) if multipliers is None else multipliers[0])
    point = program.nearest(x) if feasible is None else feasible[1]
    gap_scale, at_nearest = _gap_scale(program, point), float(program.value(point).high)
    value = feasible[0] if feasible else at_nearest
    best = _best_lower(program, point, multipliers, value, gap_scale)
    nearby = None if feasible else _nearby(program, point, at_nearest, best, gap_scale)
    if feasible is None and program.is_infeasible:
        return _infeasible(QPPoint(x), nearby)
    if best.bound == -inf and feasible is not None and program.is_unbounded:
        return _unbounded(QPPoint(point))
    lower, upper = best.bound if best.bound > -inf else nan, feasible[0] if feasible else nan
    reasons = [
        f"no feasible point is proven to exist near x, which violates constraints by {violation:.2g}"
        if feasible is None
        else "",
        "no dual feasible point is proven to exist near y and z" if np.isnan(lower) else "",
        f"P ⪰ 0 is proven only up to {-program.curvature.min():.1g}, so variables need bounds"
        if np.isnan(lower) and program.curvature.min() < 0
        else "",
    ]
    return _certificate(
        Bounds(lower, upper, 0.0, proven=True),
        gap_scale,
        projection_distance=float(np.linalg.norm(point - x)),
        bound_source=f"proven: {best.source}",
        point=QPPoint(point, best.z, best.y),
        reason="; ".join(filter(None, reasons)),
        nearby=nearby,
    )


def _nearby(
    program: ConvexProgram, x: Vector, value: float, best: _LowerBound, gap_scale: float
) -> QPCertificate | None:
    """Return bounds for the sides perturbed so that `x` (n,) is feasible; None if there are none.

    `value` is an upper bound on f(x).
    """
    sides = program.perturbed_sides(x)
    below = _best_lower(program, x, (best.y, best.z), value, gap_scale, sides)
    if not np.isfinite([sides.backward_error, below.bound, value]).all():
        return None
    return _certificate(
        Bounds(below.bound, value, 0.0, proven=True),
        gap_scale,
        backward_error=sides.backward_error,
        bound_source=f"proven: {best.source}",
        point=QPPoint(x, below.z, below.y),
    )


def _certificate(bounds: Bounds, gap_scale: float, **changes: Any) -> QPCertificate:
    """Return a certificate with these bounds and the gaps that follow from them."""
    return cast("QPCertificate", make_certificate(bounds, gap_scale, QPCertificate(), **changes))


def _best_lower(
    program: ConvexProgram,
    x: Vector,
    multipliers: Multipliers | None,
    upper: float,
    gap_scale: float,
    sides: PerturbedSides | None = None,
) -> _LowerBound:
    """Return the best lower bound from the given `multipliers` and others derived from `x` (n,).

    Slower candidates are tried only while the gap to `upper` is wide.
    """
    zeros = np.zeros(program.b.size), np.zeros(program.h.size)
    source = "x, y and z" if multipliers else "recovered from x"
    best = _LowerBound(-inf, *(multipliers or zeros), source)
    for source, candidate, y, z in _multipliers(program, x, multipliers):
        for bound in _lower_bounds(program, candidate, y, z, sides):
            if bound > best.bound:
                best = _LowerBound(bound, y, z, source)
            size = max(abs(upper), abs(best.bound), gap_scale)
            if best.bound > -inf and upper - best.bound <= ACCURATE_GAP * size:
                return best
    return best


class _LowerBound(NamedTuple):
    """A lower bound, and the multipliers that give it."""

    bound: float
    y: Vector
    z: Vector
    source: str


def _multipliers(
    program: ConvexProgram, x: Vector, first: Multipliers | None
) -> Iterator[tuple[str, Vector, Vector, Vector]]:
    """Yield x̄, y and z: the given ones, then those by least squares and by linear programs."""
    if first is not None:
        yield "x, y and z", x, *first
    source = "recovered from x" if first is None else "x"
    yield source, x, *program.fitted_multipliers(x)
    for from_lp in program.multipliers(x):
        yield source, *from_lp


def _lower_bounds(
    program: ConvexProgram, x: Vector, y: Vector, z: Vector, sides: PerturbedSides | None
) -> Iterator[float]:
    """Yield lower bounds from the same multipliers: at x, at a better x̄, and without far bounds."""
    yield from program.lower_bounds(x, y, z, sides)
    if (better := program.stationary(x, y, z)) is not None:
        yield from program.lower_bounds(better, y, z, sides)
    if (relaxed := program.without_far_bounds(x)) is not None:
        yield from relaxed.lower_bounds(x, y, z, sides)


def _gap_scale(program: ConvexProgram, x: Vector) -> float:
    """Return the gap scale: Σ|terms| of f at `x` (n,), or if larger a magnitude of f from the data.

    The latter matters if all terms vanish: the smaller of |q|l and ½Pl² over the smallest
    nonzero entries, for the smallest length l ≤ 1 in the data: bounds, right-hand sides, or |q|/P.
    """
    with np.errstate(all="ignore"):
        terms = 0.5 * abs(float(x @ (program.P @ x))) + float(np.abs(program.q) @ np.abs(x))
        diagonal = program.P.diagonal()
        minima = np.abs(program.q) / diagonal
    limits = map(np.abs, (program.lb, program.ub, program.h, program.b))
    lengths = np.concatenate([[1.0], minima, *limits])
    length, slope, curve = (
        float(values[np.isfinite(values) & (values > 0)].min(initial=inf))
        for values in (lengths, np.abs(program.q), diagonal)
    )
    size = min(slope * length, 0.5 * curve * length * length)
    size = size if size < inf else 1.0
    return max(terms, size) if np.isfinite(terms) else size


def optimality_conditions(
    program: ConvexProgram, x: Vector, multipliers: Multipliers | None
) -> dict[str, float]:
    """Return `dual_residual` and `duality_gap` of an answer as qpbenchmark defines them.

        ‖Px + q + Aᵀy + Gᵀz + u‖_∞  and  |xᵀPx + qᵀx + bᵀy + hᵀz + lbᵀ min(u, 0) + ubᵀ max(u, 0)|

    where u (n,) are the multipliers of the bounds: an answer has none, so those with the least dual
    residual are taken. Nothing without multipliers. Caron et al., qpbenchmark.
    """
    if multipliers is None:
        return {}
    (y, z), lb, ub = multipliers, program.lb, program.ub
    gradient = program.P @ x + program.q
    stationarity = gradient + program.A.T @ y + program.G.T @ z
    has_lower, has_upper = np.isfinite(lb), np.isfinite(ub)
    u = np.clip(-stationarity, np.where(has_lower, -inf, 0.0), np.where(has_upper, inf, 0.0))
    at_lower = np.where(has_lower, lb, 0.0) @ np.minimum(u, 0.0)
    at_upper = np.where(has_upper, ub, 0.0) @ np.maximum(u, 0.0)
    gap = x @ gradient + program.b @ y + program.h @ z + at_lower + at_upper
    return {"dual_residual": float(np.abs(stationarity + u).max()), "duality_gap": float(abs(gap))}


def _violation(program: ConvexProgram, x: Vector) -> float:
    """Return the largest violation of a constraint at `x`."""
    parts = (
        np.abs(program.A @ x - program.b),
        program.G @ x - program.h,
        program.lb - x,
        x - program.ub,
    )
    return float(np.concatenate([np.zeros(1), *parts]).max())
