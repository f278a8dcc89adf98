"""Certificates of convex QPs: bounds in units of a program's own, put back into those of its data."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import numpy as np

from problems.certificates.certificate import Bounds, Certificate, assembled
from problems.certificates.convex_qp import NotConvex, Program
from problems.dataset import Vector
from problems.forms import Point

_ACCURATE = 1e-9  # relative gap above which multipliers of our own are tried as well

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


def qp_bounds(program: Program, x: Vector, given: tuple[Vector, Vector] | None) -> Certificate:
    """Return the certificate of an answer `x` (n,), with y and z if they are `given`.

    Where these give a wide gap, those of a linear program at x are tried too; the better bounds count.
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


def _bounds(program: Program, x: Vector, given: tuple[Vector, Vector] | None) -> Certificate:
    """Return the certificate of `x` in the units of a normalised program."""
    try:
        _ = program.shift
    except NotConvex as indefinite:
        return Certificate(point=Point(x), reason=str(indefinite))
    y, z = given or (np.zeros(program.b.size), np.zeros(program.h.size))
    source = "x, y and z" if given else "recovered from x"
    found = program.upper(x, y)
    if found is None and program.is_infeasible:
        return replace(_INFEASIBLE, point=Point(x))
    upper, point = (nan, x) if found is None else found
    y, z = given or program.multipliers(point) or (y, z)
    lower = program.lower(point, y, z)
    narrow = lower > -inf and upper - lower <= _ACCURATE * max(abs(upper), abs(lower))
    if given and not narrow and (own := program.multipliers(point)) is not None:
        better = program.lower(point, *own)
        lower, (y, z), source = max((lower, (y, z), source), (better, own, "x"), key=lambda v: v[0])
    if lower == -inf and found is not None and program.is_unbounded:
        return replace(_UNBOUNDED, point=Point(point))
    lower = lower if lower > -inf else nan
    reasons = [
        f"no exactly feasible point is proven near x, which violates constraints by "
        f"{_violation(program, x):.2g}"
        if found is None
        else "",
        "no dual feasible point is proven near y and z" if np.isnan(lower) else "",
        f"P ⪰ 0 is proven but for {program.shift.max():.1g}, which needs bounds on variables"
        if np.isnan(lower) and program.shift.any()
        else "",
    ]
    with np.errstate(invalid="ignore"):
        magnitude = 0.5 * np.abs(point) @ (abs(program.P) @ np.abs(point))
    unit = min(1.0, float(magnitude + np.abs(program.q) @ np.abs(point)))
    return assembled(
        Bounds(lower, upper, 0.0, proven=True),
        unit,
        projection_distance=float(np.linalg.norm(point - x)),
        bound_source=f"proven: {source}",
        point=Point(point, np.concatenate([z, y])),
        reason="; ".join(filter(None, reasons)),
    )


def _violation(program: Program, x: Vector) -> float:
    """Return the largest violation of a constraint at `x`."""
    parts = (
        np.abs(program.A @ x - program.b),
        program.G @ x - program.h,
        program.lb - x,
        x - program.ub,
    )
    return float(np.concatenate([np.zeros(1), *parts]).max())
