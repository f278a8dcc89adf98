"""Certificates of convex QPs: bounds in units of a program's own, put back into those of its data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan
from typing import NamedTuple

import numpy as np

from problems.certificates.certificate import Bounds, Certificate, assembled
from problems.certificates.convex_qp import Program
from problems.certificates.eigenvalues import NotConvex
from problems.dataset import Vector
from problems.forms import Point

Multipliers = tuple[Vector, Vector]  # y of Ax = b (k,), z ≥ 0 of Gx ≤ h (m,)

_ACCURATE = 1e-9  # relative gap above which other multipliers are tried as well

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
    c = _bounds(own.program, x, given and own.multipliers(*given))
    lower = own.original_value(c.dual_objective, -inf)
    upper = own.original_value(c.primal_objective, inf)
    point = c.point
    if point.w is not None:
        y, z = own.original_multipliers(point.w[program.h.size :], point.w[: program.h.size])
        point = replace(point, w=np.concatenate([z, y]))
    return replace(
        c,
        primal_objective=upper,
        dual_objective=lower if lower > -inf or c.infeasible else nan,
        gap=Bounds(lower, upper).gap,
        unit=abs(own.original_value(c.unit, inf)),
        point=point,
        primal_residual=_violation(program, x),
    )


def _bounds(program: Program, x: Vector, given: Multipliers | None) -> Certificate:
    """Return the certificate of `x` in the units of a normalised program."""
    try:
        _ = program.curvature
    except NotConvex as indefinite:
        return Certificate(point=Point(x), reason=str(indefinite))
    found = program.upper(x, np.zeros(program.b.size) if given is None else given[0])
    if found is None and program.is_infeasible:
        return replace(_INFEASIBLE, point=Point(x))
    upper, point = (nan, x) if found is None else found
    with np.errstate(invalid="ignore"):
        magnitude = 0.5 * np.abs(point) @ (abs(program.P) @ np.abs(point))
    unit = min(1.0, float(magnitude + np.abs(program.q) @ np.abs(point)))
    best = _best_lower(program, point, given, upper, unit)
    if best.bound == -inf and found is not None and program.is_unbounded:
        return replace(_UNBOUNDED, point=Point(point))
    lower = best.bound if best.bound > -inf else nan
    reasons = [
        f"no exactly feasible point is proven near x, which violates constraints by "
        f"{_violation(program, x):.2g}"
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
    )


def _best_lower(
    program: Program, x: Vector, given: Multipliers | None, upper: float, unit: float
) -> _Below:
    """Return the best bound below: of the multipliers that are `given`, then of our own at `x` (n,).

    What takes longer is tried only while the gap to `upper` is wide.
    """
    zeros = np.zeros(program.b.size), np.zeros(program.h.size)
    best = _Below(-inf, *(given or zeros), "x, y and z" if given else "recovered from x")
    for source, y, z in _multipliers(program, x, given):
        for bound in _lower_bounds(program, x, y, z):
            if bound > best.bound:
                best = _Below(bound, y, z, source)
            size = max(abs(upper), abs(best.bound), unit)
            if best.bound > -inf and upper - best.bound <= _ACCURATE * size:
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


def _lower_bounds(program: Program, x: Vector, y: Vector, z: Vector) -> Iterator[float]:
    """Yield bounds below from the same multipliers, at x, a better x̄, and without far bounds."""
    yield program.lower(x, y, z)
    if (better := program.stationary(x, y, z)) is not None:
        yield program.lower(better, y, z)
    if (relaxed := program.without_far_bounds(x)) is not None:
        yield relaxed.lower(x, y, z)


def _violation(program: Program, x: Vector) -> float:
    """Return the largest violation of a constraint at `x`."""
    parts = (
        np.abs(program.A @ x - program.b),
        program.G @ x - program.h,
        program.lb - x,
        x - program.ub,
    )
    return float(np.concatenate([np.zeros(1), *parts]).max())
