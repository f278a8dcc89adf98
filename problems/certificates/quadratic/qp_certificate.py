"""Certificates of convex QPs: bounds in units of a program's own, put back into those of its data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan
from typing import NamedTuple

import numpy as np

from dualgap.problems.certificates.certificate import Bounds, Certificate, assembled
from dualgap.problems.certificates.quadratic.arrays import Normalised
from dualgap.problems.certificates.quadratic.convex_qp import ACCURATE_GAP, Program, Sides
from dualgap.problems.certificates.quadratic.eigenvalues import NotConvex
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import Point

Multipliers = tuple[Vector, Vector]  # y of Ax = b (k,), z ≥ 0 of Gx ≤ h (m,)

_INFEASIBLE = Certificate(
    primal_objective=inf,
    dual_objective=inf,
    bound_source="proven: Farkas multipliers",
    infeasible=True,
    reason="no point is feasible, proven",
)
_UNBOUNDED = Certificate(
    primal_objective=-inf,
    dual_objective=-inf,
    bound_source="proven: a direction of descent",
    infeasible=True,
    reason="the objective is unbounded below, proven",
)


def without_point(program: Program, reason: str) -> Certificate:
    """Return the certificate of no answer: it may be proven all the same that there is no optimum."""
    program = program.normalised.program
    if program.is_infeasible:
        return _INFEASIBLE
    start = np.clip(np.zeros(program.q.size), program.lb, program.ub)
    unbounded = program.is_unbounded and program.upper(start, np.zeros(program.b.size)) is not None
    return _UNBOUNDED if unbounded else Certificate(reason=reason)


def qp_bounds(program: Program, x: Vector, given: Multipliers | None) -> Certificate:
    """Return the certificate of an answer `x` (n,), with y and z if they are `given`.

    Where these give a wide gap, those that x itself suggests are tried too; the best bounds count.
    """
    own = program.normalised
    bounded = own.program.with_bounds
    if given is not None:
        y, z = own.multipliers(*given)
        given = y, np.where(np.diff(bounded.G.indptr), z, 0.0)
    violation = _violation(program, x)
    c = _bounds(bounded, own.x(x), given, violation)
    if c.point.w is not None and bounded is not own.program:
        c = replace(c, point=_with_row_multipliers(own.program, bounded, c.point))
    c = _in_original_units(c, own, x)
    reasons = [c.reason] if c.nearby is None else [c.reason, c.nearby.as_nearby]
    return replace(c, primal_residual=violation, reason="; ".join(reasons))


def _with_row_multipliers(program: Program, bounded: Program, point: Point) -> Point:
    """Return a point with z of the rows that were taken as bounds: what is left of the gradient."""
    assert point.alpha is not None
    assert point.w is not None
    x, z, y = point.alpha, point.w[: program.h.size].copy(), point.w[program.h.size :]
    r = program.P @ x + program.q + program.A.T @ y + bounded.G.T @ z
    for row in np.flatnonzero(np.diff(program.G.indptr) > np.diff(bounded.G.indptr)).tolist():
        column, value = (
            part[program.G.indptr[row]] for part in (program.G.indices, program.G.data)
        )
        tight = (bounded.ub if value > 0 else bounded.lb)[column] * value == program.h[row]
        z[row] = max(-r[column] / value, 0.0) if tight else 0.0
        r[column] += value * z[row]
    return replace(point, w=np.concatenate([z, y]))


def _in_original_units(c: Certificate, own: Normalised[Program], x: Vector) -> Certificate:
    """Return a certificate of a normalised program as one of the original, of its `x` (n,)."""
    lower = own.original_value(c.dual_objective, -inf)
    upper = own.original_value(c.primal_objective, inf)
    assert c.point.alpha is not None
    alpha = own.original_x(c.point.alpha)
    point = replace(c.point, alpha=alpha)
    moved = nan if np.isnan(c.projection_distance) else float(np.linalg.norm(alpha - x))
    if point.w is not None:
        y, z = own.original_multipliers(point.w[own.of_G.size :], point.w[: own.of_G.size])
        point = replace(point, w=np.concatenate([z, y]))
    return replace(
        c,
        primal_objective=upper,
        dual_objective=lower if lower > -inf or c.infeasible else nan,
        gap=Bounds(lower, upper).gap,
        unit=abs(own.original_value(c.unit, inf)),
        point=point,
        projection_distance=moved,
        nearby=c.nearby and _in_original_units(c.nearby, own, x),
    )


def _bounds(
    program: Program, x: Vector, given: Multipliers | None, violation: float
) -> Certificate:
    """Return the certificate of `x`, which has a `violation`, in the units of a normalised program."""
    try:
        _ = program.curvature
    except NotConvex as indefinite:
        return Certificate(point=Point(x), reason=str(indefinite))
    found = program.upper(x, np.zeros(program.b.size) if given is None else given[0])
    point = program.nearest(x) if found is None else found[1]
    unit, here = _unit(program, point), float(program.value(point).high)
    best = _best_lower(program, point, given, found[0] if found else here, unit)
    nearby = None if found else _nearby(program, point, here, best, unit)
    if found is None and program.is_infeasible:
        return replace(_INFEASIBLE, point=Point(x), nearby=nearby)
    if best.bound == -inf and found is not None and program.is_unbounded:
        return replace(_UNBOUNDED, point=Point(point))
    lower, upper = best.bound if best.bound > -inf else nan, found[0] if found else nan
    reasons = [
        f"no exactly feasible point is proven near x, which violates constraints by {violation:.2g}"
        if found is None
        else "",
        "no dual feasible point is proven near y and z" if np.isnan(lower) else "",
        f"P ⪰ 0 is proven but for {-program.curvature.min():.1g}, which needs bounds on variables"
        if np.isnan(lower) and program.curvature.min() < 0
        else "",
    ]
    return assembled(
        Bounds(lower, upper, 0.0, proven=True),
        unit,
        projection_distance=float(np.linalg.norm(point - x)),
        bound_source=f"proven: {best.source}",
        point=Point(point, np.concatenate([best.z, best.y])),
        reason="; ".join(filter(None, reasons)),
        nearby=nearby,
    )


def _nearby(
    program: Program, x: Vector, value: float, best: _Below, unit: float
) -> Certificate | None:
    """Return bounds on the optimum where sides are moved so that `x` (n,) is feasible; None if unknown.

    `value` is at least f(x).
    """
    sides = program.moved_sides(x)
    below = _best_lower(program, x, (best.y, best.z), value, unit, sides)
    if not np.isfinite([sides.move, below.bound, value]).all():
        return None
    return assembled(
        Bounds(below.bound, value, 0.0, proven=True),
        unit,
        backward_error=sides.move,
        bound_source=f"proven: {best.source}",
        point=Point(x, np.concatenate([below.z, below.y])),
    )


def _best_lower(
    program: Program,
    x: Vector,
    given: Multipliers | None,
    upper: float,
    unit: float,
    sides: Sides | None = None,
) -> _Below:
    """Return the best bound below: of the multipliers that are `given`, then of our own at `x` (n,).

    What takes longer is tried only while the gap to `upper` is wide.
    """
    zeros = np.zeros(program.b.size), np.zeros(program.h.size)
    best = _Below(-inf, *(given or zeros), "x, y and z" if given else "recovered from x")
    for source, y, z in _multipliers(program, x, given):
        for bound in _lower_bounds(program, x, y, z, sides):
            if bound > best.bound:
                best = _Below(bound, y, z, source)
            size = max(abs(upper), abs(best.bound), unit)
            if best.bound > -inf and upper - best.bound <= ACCURATE_GAP * size:
                return best
    return best


class _Below(NamedTuple):
    """A bound below, and the multipliers that it is of."""

    bound: float
    y: Vector
    z: Vector
    source: str


def _multipliers(
    program: Program, x: Vector, given: Multipliers | None
) -> Iterator[tuple[str, Vector, Vector]]:
    """Yield those that are given, those by least squares, and those of a linear program."""
    if given is not None:
        yield "x, y and z", *given
    source = "recovered from x" if given is None else "x"
    yield source, *program.fitted_multipliers(x)
    if (own := program.multipliers(x)) is not None:
        yield source, *own


def _lower_bounds(
    program: Program, x: Vector, y: Vector, z: Vector, sides: Sides | None
) -> Iterator[float]:
    """Yield bounds below from the same multipliers, at x, a better x̄, and without far bounds."""
    yield program.lower(x, y, z, sides)
    if (better := program.stationary(x, y, z)) is not None:
        yield program.lower(better, y, z, sides)
    if (relaxed := program.without_far_bounds(x)) is not None:
        yield relaxed.lower(x, y, z, sides)


def _unit(program: Program, x: Vector) -> float:
    """Return what a gap is relative to at least: Σ|terms| of f at `x` (n,), or f's size in the data.

    The latter is where all terms vanish: the smaller of |q|l and ½Pl², of the smallest entries that are
    not 0, for the smallest length l in the data, at most 1: of bounds, of sides of rows, or |q|/P.
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


def _violation(program: Program, x: Vector) -> float:
    """Return the largest violation of a constraint at `x`."""
    parts = (
        np.abs(program.A @ x - program.b),
        program.G @ x - program.h,
        program.lb - x,
        x - program.ub,
    )
    return float(np.concatenate([np.zeros(1), *parts]).max())
