"""What a point is worth: bounds on the optimum from the point and the original data alone.

Weak duality: for any feasible α, and any (w, b),
    dual(α) = Σ −Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) − ½βᵀKβ  ≤  optimum  ≤  primal(w, b) = ½‖w‖² + Σ Cᵢℓ(yᵢ, fᵢ + b).
A point off the feasible set is projected first, b is always the exact minimiser of the primal, and a
solver's own multipliers and bias are never used. All faces of a problem are certified in the scale
½‖w‖² + Σ Cᵢ·lossᵢ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from problems.certificates.dual_point import dual_from_weights, feasible_dual
from problems.certificates.fenchel import risk_bounds
from problems.certificates.margin_bounds import (
    NO_HYPERPLANE,
    hard_bounds,
    is_infeasible,
    no_margin,
    relative_gap,
    soft_bounds,
)
from problems.forms import Point
from problems.formulations.formulation import Formulation
from problems.formulations.multiclass import Multiclass, summed_bounds
from problems.formulations.structured import ChainMargin, chain_bounds
from problems.notebook import html_table, shown

NAN = float("nan")
INF = float("inf")


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds on a problem's optimum, and how far a point is from optimal.

    Attributes
    ----------
    primal_objective, dual_objective : dual ≤ optimum ≤ primal, in the scale ½‖w‖² + Σ Cᵢ·lossᵢ.
    gap : primal − dual; relative_gap : gap / max(|primal|, |dual|), 0 when the gap is 0.
    kkt_violation : the natural residual, see `box_gap.kkt_violation`.
    violating_pair : the maximal violating pair, see `box_gap.violating_pair`.
    primal_residual : largest violation of α's box and equality before it was projected.
    dual_residual : largest violation of a margin that no slack may absorb (hard margin; else 0).
    complementarity : largest product of a variable's distance to a bound and that bound's multiplier.
    projection_distance : ‖α − projection of α‖.
    bound_source : "alpha" (both bounds from α), "alpha and w" (the primal at the solver's own w),
        "recovered from w" (no α was given), "none"; "proven: ..." where the bounds are theorems.
    point : the point that is certified: α feasible, w for linear kernels, b the best one.
    b_interval : all best b for that w.
    length : of the primal's w, as a multiple of Σ βᵢφ(xᵢ) or the solver's w: 1 but for rounding.
    infeasible : True if no point separates the samples, proven exactly.
    reason : why a bound is missing, or empty.
    parts : for several binary problems the certificate of each; this one is their sum.
    """

    primal_objective: float = NAN
    dual_objective: float = NAN
    gap: float = NAN
    relative_gap: float = NAN
    kkt_violation: float = NAN
    violating_pair: float = NAN
    primal_residual: float = NAN
    dual_residual: float = NAN
    complementarity: float = NAN
    projection_distance: float = NAN
    bound_source: str = "none"
    point: Point = Point()  # noqa: RUF009 - frozen
    b_interval: tuple[float, float] = (NAN, NAN)
    length: float = 1.0
    infeasible: bool = False
    reason: str = ""
    parts: tuple[Certificate, ...] = ()

    def _repr_html_(self) -> str:
        rows = {
            "optimum ≤": shown(self.primal_objective, ".10g") or "unknown",
            "optimum ≥": shown(self.dual_objective, ".10g") or "unknown",
            "infeasible": "proven" if self.infeasible else "",
            "gap": shown(self.gap),
            "relative gap": shown(self.relative_gap),
            "KKT violation": shown(self.kkt_violation),
            "distance of the projection": shown(self.projection_distance),
            "bounds from": self.bound_source,
            "reason": self.reason,
        }
        return html_table("Certificate", rows.items())


def certify(problem: Formulation, solution_or_point: Any, rigorous: bool = False) -> Certificate:
    """Return the certificate of an answer to a problem, in float64 from the problem's own data.

    Parameters
    ----------
    problem : any formulation.
    solution_or_point : a `Solution`, a `Point`, or anything else with `alpha` or `w`, None where not
        known. An array is neither: every face of a problem has both.
    rigorous : evaluate both bounds in ball arithmetic, rounded outwards, so that they are theorems
        about the stored data; see `rigorous` for the cost.

    Raises
    ------
    TypeError
        If it has neither `alpha` nor `w`.
    ValueError
        If `alpha` or `w` has the wrong shape.
    """
    point = _as_point(problem, solution_or_point)
    given = [v for v in (point.alpha, point.w) if v is not None]
    if not given:
        return _without_point(problem, "the solver gave no point")
    if not all(np.isfinite(v).all() for v in given):
        return _without_point(problem, "the point has NaN or infinite entries")
    with np.errstate(over="ignore", invalid="ignore"):
        own_w = point.w if problem.is_linear else None
        if isinstance(problem, Multiclass):
            pairs = zip(problem.parts, problem.split(point), strict=True)
            parts = [certify(part.problem, answer, rigorous) for part, answer in pairs]
            return Certificate(**summed_bounds(problem, parts))
        if isinstance(problem, ChainMargin):
            certificate = Certificate(**chain_bounds(problem, point.alpha, own_w))
            return _proven(problem, certificate) if rigorous else certificate
        if problem.family in ("risk", "softmax"):
            certificate = Certificate(**risk_bounds(problem, point.alpha, own_w))
            return _proven(problem, certificate) if rigorous else certificate
        if point.alpha is None:
            assert own_w is not None
            dual, source = dual_from_weights(problem, own_w), "recovered from w"
        else:
            dual = feasible_dual(problem, point.alpha)
            source = "alpha" if own_w is None else "alpha and w"
        bounds = hard_bounds if problem.family == "hard_margin" else soft_bounds
        certificate = Certificate(**bounds(problem, dual, own_w), bound_source=source)
    return _proven(problem, certificate) if rigorous else certificate


def _proven(problem: Formulation, certificate: Certificate) -> Certificate:
    """Return the certificate with proven bounds in place of the float64 ones."""
    from problems.certificates.rigorous import Unprovable, proven_bounds  # noqa: PLC0415 - needs python-flint

    point, source = certificate.point, f"proven: {certificate.bound_source}"
    if certificate.infeasible:  # in rationals already
        return replace(certificate, bound_source=source)
    assert point.alpha is not None
    try:
        b = float(point.b or 0.0)
        bounds = proven_bounds(problem, point.alpha, point.w, b, certificate.length)
    except Unprovable as missing:
        reason = "; ".join(filter(None, (certificate.reason, f"not proven: {missing}")))
        unknown = {"primal_objective": NAN, "dual_objective": NAN, "gap": NAN, "relative_gap": NAN}
        return replace(certificate, **unknown, reason=reason)
    separates = np.isfinite(bounds.upper)
    return replace(
        certificate,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=bounds.gap,
        relative_gap=relative_gap(problem, bounds.gap, bounds.upper, bounds.lower),
        bound_source=source,
        reason="" if separates else no_margin(bounds.lower),
    )


def _without_point(problem: Formulation, reason: str) -> Certificate:
    """Return a certificate without bounds, but for a hard margin that is proven infeasible."""
    if problem.family == "hard_margin" and is_infeasible(problem):
        return Certificate(INF, INF, infeasible=True, reason=NO_HYPERPLANE)
    return Certificate(reason=reason)


def _as_point(problem: Formulation, answer: Any) -> Point:
    answer = getattr(answer, "point", answer)
    if not (hasattr(answer, "alpha") or hasattr(answer, "w")):
        raise TypeError(
            f"solution_or_point: must be a Solution, a Point, or have alpha or w, got "
            f"{type(answer).__name__}; tell what an array holds: Point(alpha=...) or Point(w=...)"
        )
    point = Point(*(getattr(answer, name, None) for name in ("alpha", "w", "b")))
    for name, size in (("alpha", problem.n * problem.outputs), ("w", problem.n_weights)):
        value = getattr(point, name)
        if value is not None and value.size != size:
            raise ValueError(f"{name}: has {value.size} entries, expected {size}")
    if point.w is not None and point.alpha is None and not problem.is_linear:
        raise ValueError("alpha: is needed with a kernel, where w has no coordinates")
    return point
