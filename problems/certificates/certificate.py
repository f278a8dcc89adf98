"""What a point is worth: bounds on the optimum, and how far the point is from optimal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np

from problems.forms import Point
from problems.html_table import html_table, shown

NAN = float("nan")
_ADDED = ("primal_objective", "dual_objective", "gap")
_LARGEST = (
    "kkt_violation",
    "violating_pair",
    "primal_residual",
    "dual_residual",
    "complementarity",
)
WRONG_GAP = 1e-2  # relative gap above which a claim of optimality is called wrong


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds on a problem's optimum, and how far a point is from optimal.

    Attributes
    ----------
    primal_objective, dual_objective : dual ≤ optimum ≤ primal, in the scale ½‖w‖² + Σ Cᵢ·lossᵢ.
    gap : primal − dual; relative_gap : gap / max(|primal|, |dual|), 0 when the gap is 0.
    kkt_violation : the natural residual, see `box_gap.kkt_violation`.
    violating_pair : the maximal violating pair, see `box_gap.violating_pair`.
    primal_residual : largest violation of α's box and equalities before it was projected.
    dual_residual : largest violation of a margin that no slack may absorb (hard margin; else 0).
    complementarity : largest product of a variable's distance to a bound and that bound's multiplier.
    projection_distance : ‖α − projection of α‖.
    bound_source : "alpha" (both bounds from α), "alpha and w" (the primal at the solver's own w),
        "recovered from w" (no α was given), "none"; "proven: ..." where the bounds are theorems.
    point : the point that is certified: α feasible, w for linear kernels, b the best one.
    b_interval : all best b for that w.
    offsets : the best offset of each group, whose mean b is.
    norm2 : an enclosure of ‖w‖², for the w of both bounds; NaN where these have two.
    unit : what a gap is relative to where the optimum is 0 itself; else 0.
    scale : of the primal's w, as a multiple of Σ βᵢφ(xᵢ) or the solver's w: 1 but for rounding.
    resolution : the part of the relative gap that may be float64's rounding error alone; 0 of proven
        bounds.
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
    offsets: tuple[float, ...] = ()
    norm2: tuple[float, float] = (NAN, NAN)
    unit: float = 0.0
    scale: float = 1.0
    resolution: float = 0.0
    infeasible: bool = False
    reason: str = ""
    parts: tuple[Certificate, ...] = ()

    @property
    def rounding(self) -> float:
        """The part of the gap that may be float64's rounding error alone."""
        return self.resolution * max(
            abs(self.primal_objective), abs(self.dual_objective), self.unit
        )

    def is_undecided(self, gap: float) -> bool:
        """Return whether only float64's rounding may put the relative gap above `gap`."""
        if not np.isfinite(self.resolution):
            return self.relative_gap > gap
        return self.relative_gap - self.resolution <= gap < self.relative_gap

    def __repr__(self) -> str:
        """Say on one line between which bounds the optimum is, and what they come from."""
        if self.infeasible:
            return "Certificate(infeasible, proven)"
        bounds = f"{self.dual_objective:.10g} ≤ optimum ≤ {self.primal_objective:.10g}"
        parts = f", sum of {len(self.parts)} problems" if self.parts else ""
        reason = f"; {self.reason}" if self.reason else ""
        gap = f"relative gap {self.relative_gap:.2g}"
        return f"Certificate({bounds}, {gap}, bounds from {self.bound_source}{parts}{reason})"

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


def summed(certificates: Sequence[Certificate], names: Sequence[str] = ()) -> Certificate:
    """Return the certificate of a sum of problems, whose bounds are rounded outwards too.

    It has no point. `names` say in its reason which problem lacks a bound; by default their numbers do.
    """
    names = names or [f"problem {number}" for number in range(1, len(certificates) + 1)]
    sums = {name: _sum([getattr(own, name) for own in certificates]) for name in _ADDED}
    outwards = {"dual_objective": -np.inf}
    sums = {k: float(np.nextafter(v, outwards.get(k, np.inf))) for k, v in sums.items()}
    bounds = sums["primal_objective"], sums["dual_objective"]
    largest = {n: float(np.max([getattr(own, n) for own in certificates])) for n in _LARGEST}
    # NaN counts as the largest
    worst = certificates[int(np.argmax([own.relative_gap for own in certificates]))]
    pairs = zip(names, certificates, strict=True)
    distances, unit = (
        [own.projection_distance for own in certificates],
        sum(own.unit for own in certificates),
    )
    values: dict[str, Any] = {**sums, **largest}
    return Certificate(
        **values,
        relative_gap=relative(sums["gap"], *bounds, unit),
        resolution=relative(sum(own.rounding for own in certificates), *bounds, unit),
        unit=unit,
        projection_distance=float(np.linalg.norm(distances)),
        bound_source=worst.bound_source,
        reason=next((f"{name}: {own.reason}" for name, own in pairs if own.reason), ""),
        parts=tuple(certificates),
    )


def _sum(values: Sequence[float]) -> float:
    """Return a sum, rounded once; NaN where it leaves float64's range on the way."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):
        return NAN


def relative(gap: float, primal: float, dual: float, unit: float = 0.0) -> float:
    """Return gap / max(|primal|, |dual|, unit), infinite where that is 0, and 0 for a gap of 0."""
    if gap == 0 or not np.isfinite(gap):
        return gap
    size = max(abs(primal), abs(dual), unit)
    return float(gap / size) if size else float("inf")


def gap_between(primal: float, dual: float) -> float:
    """Return primal − dual rounded upwards; NaN where the bounds cross, which no true ones do."""
    if not primal >= dual:
        return NAN
    return moved_out(primal, -dual) if primal > dual else 0.0


def moved_out(value: float, error: float) -> float:
    """Return a float64 that is at least value + error, for an error above 0 or a value that is exact.

    For a lower bound of v it is −moved_out(−v, error).
    """
    return float(np.nextafter(value + error, np.inf)) if error else value


def with_bounds(
    known: Certificate, primal: float, dual: float, unit: float, error: float = 0.0
) -> Certificate:
    """Return a certificate with other bounds, which may be wrong by `error`: they are moved outwards."""
    primal, dual = moved_out(primal, error), -moved_out(-dual, error)
    gap = NAN if np.isnan(known.gap) else gap_between(primal, dual)
    return replace(
        known,
        primal_objective=primal,
        dual_objective=dual,
        gap=gap,
        relative_gap=relative(gap, primal, dual, unit),
        unit=unit,
        resolution=relative(known.rounding + 2 * error, primal, dual, unit),
    )


def not_proven(known: Certificate, why: object) -> Certificate:
    """Return a certificate without bounds, as there is no proof of them."""
    reason = "; ".join(filter(None, (known.reason, f"not proven: {why}")))
    unknown = {"primal_objective": NAN, "dual_objective": NAN, "gap": NAN, "relative_gap": NAN}
    return replace(known, **unknown, reason=reason)


def missing_bound(problem: Any, gap: float, *bounds: float) -> str:
    """Return why there is no gap between bounds, or an empty string."""
    if not problem.is_psd:
        return "indefinite kernel, stationarity only"
    if np.isposinf(gap):
        return "the primal value is beyond float64's range"
    if np.isnan(bounds).any():
        return "the bounds are beyond float64's range"
    return "the bounds cross: float64 is not enough here" if np.isnan(gap) else ""
