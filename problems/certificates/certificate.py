"""What a point is worth: bounds on the optimum, and how far the point is from optimal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import fsum, inf, isfinite, isnan, nan, nextafter
from operator import add
from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.forms import Point
from dualgap.problems.html_table import html_table, shown

_LARGEST = [
    "kkt_violation",
    "violating_pair",
    "primal_residual",
    "dual_residual",
    "complementarity",
]
WRONG_GAP = 1e-2  # relative gap above which a claim of optimality is called wrong


class Bounds(NamedTuple):
    """Bounds on an optimum: lower ≤ optimum ≤ upper, NaN where one is not known.

    Attributes
    ----------
    rounding : the part of their gap that may be float64's rounding error alone.
    proven : whether they are theorems about the stored data.
    """

    lower: float
    upper: float
    rounding: float = 0.0
    proven: bool = False

    @property
    def gap(self) -> float:
        """A float64 that is at least upper − lower; NaN where they cross, which no true ones do."""
        if not self.upper >= self.lower:
            return nan
        gap = self.upper - self.lower
        short = isfinite(gap) and fsum((self.upper, -self.lower, -gap)) > 0
        return nextafter(gap, inf) if short else gap

    def relative(self, amount: float, unit: float = 0.0) -> float:
        """Return amount / max(|upper|, |lower|, unit), infinite where that is 0, and 0 for 0."""
        if amount == 0 or not isfinite(amount):
            return amount
        size = max(abs(self.upper), abs(self.lower), unit)
        return amount / size if size else inf

    def __add__(self, other: Bounds) -> Bounds:  # type: ignore[override]
        """Return the bounds of a sum of two problems, rounded outwards."""
        sums = Bounds(self.lower + other.lower, self.upper + other.upper)
        ends = nextafter(sums.lower, -inf), nextafter(sums.upper, inf)
        rounding = self.rounding + other.rounding
        return Bounds(*ends, rounding, self.proven and other.proven)


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
    unit : what a gap is relative to where the optimum may be 0 itself; else 0.
    scale : of the primal's w, as a multiple of Σ βᵢφ(xᵢ) or the solver's w: 1 but for rounding.
    resolution : the part of the relative gap that may be float64's rounding error alone; 0 of proven
        bounds.
    infeasible : True if there is no optimum, proven: no point separates the samples, or is feasible
        (both bounds are ∞), or a convex QP is unbounded below (both are −∞).
    nearby : of a convex QP, where no upper bound is proven as no feasible point is: the bounds of the
        problem whose sides are moved so that the point is feasible, with `backward_error`, the most that
        a side is moved by, relative to the terms of its row.
    reason : why a bound is missing, or empty.
    parts : for several binary problems the certificate of each; this one is their sum.
    """

    primal_objective: float = nan
    dual_objective: float = nan
    gap: float = nan
    relative_gap: float = nan
    kkt_violation: float = nan
    violating_pair: float = nan
    primal_residual: float = nan
    dual_residual: float = nan
    complementarity: float = nan
    projection_distance: float = nan
    bound_source: str = "none"
    point: Point = Point()  # noqa: RUF009 - frozen
    b_interval: tuple[float, float] = (nan, nan)
    offsets: tuple[float, ...] = ()
    norm2: tuple[float, float] = (nan, nan)
    unit: float = 0.0
    scale: float = 1.0
    resolution: float = 0.0
    infeasible: bool = False
    backward_error: float = 0.0
    nearby: Certificate | None = None
    reason: str = ""
    parts: tuple[Certificate, ...] = ()

    @property
    def bounds(self) -> Bounds:
        """Both bounds as numbers to reckon with."""
        lower, upper = self.dual_objective, self.primal_objective
        rounding = self.resolution * max(abs(upper), abs(lower), self.unit)
        return Bounds(lower, upper, rounding, self.bound_source.startswith("proven"))

    def is_undecided(self, gap: float) -> bool:
        """Return whether only float64's rounding may put the relative gap above `gap`."""
        if not np.isfinite(self.resolution):
            return self.relative_gap > gap
        return self.relative_gap - self.resolution <= gap < self.relative_gap

    @property
    def as_nearby(self) -> str:
        """The bounds in words, of the problem whose sides are moved."""
        return (
            f"within a backward error of {self.backward_error:.2g} the bounds are "
            f"{self.dual_objective:.10g} ≤ optimum ≤ {self.primal_objective:.10g}"
        )

    def __repr__(self) -> str:
        """Say on one line between which bounds the optimum is, and what they come from."""
        if self.infeasible:
            unbounded = self.primal_objective < 0
            nearby = f"; {self.nearby.as_nearby}" if self.nearby else ""
            return (
                f"Certificate({'unbounded below' if unbounded else 'infeasible'}, proven{nearby})"
            )
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


def assembled(
    bounds: Bounds, unit: float = 0.0, known: Certificate | None = None, **rest: Any
) -> Certificate:
    """Return the certificate of bounds, with what else is known of a point.

    Parameters
    ----------
    unit : what the gap is relative to where the optimum is 0 itself.
    known : a certificate with other bounds, by default an empty one.
    rest : attributes to replace in it.
    """
    gap = bounds.gap
    return replace(
        known or Certificate(),
        **rest,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=gap,
        relative_gap=bounds.relative(gap, unit),
        resolution=bounds.relative(bounds.rounding, unit),
        unit=unit,
    )


def unit_beside(bounds: Bounds, unit: float) -> float:
    """Return the unit of a gap: none where the optimum is below 0, whose own size counts."""
    return 0.0 if bounds.upper < 0 else unit


def summed(certificates: Sequence[Certificate], names: Sequence[str] = ()) -> Certificate:
    """Return the certificate of a sum of problems; it has no point.

    `names` say in its reason which problem lacks a bound; by default their numbers do.
    """
    names = names or [f"problem {number}" for number in range(1, len(certificates) + 1)]
    pairs = zip(names, certificates, strict=True)
    largest: dict[str, Any] = {
        n: float(np.max([getattr(own, n) for own in certificates])) for n in _LARGEST
    }
    # NaN counts as the largest
    worst = certificates[int(np.argmax([own.relative_gap for own in certificates]))]
    distances = [own.projection_distance for own in certificates]
    return assembled(
        reduce(add, [own.bounds for own in certificates]),
        sum(own.unit for own in certificates),
        **largest,
        projection_distance=float(np.linalg.norm(distances)),
        bound_source=worst.bound_source,
        reason=next((f"{name}: {own.reason}" for name, own in pairs if own.reason), ""),
        parts=tuple(certificates),
    )


def not_proven(known: Certificate, why: object) -> Certificate:
    """Return a certificate without bounds, as there is no proof of them."""
    reason = "; ".join(filter(None, (known.reason, f"not proven: {why}")))
    unknown = assembled(Bounds(nan, nan), known.unit, known, reason=reason)
    return replace(unknown, resolution=known.resolution)


def missing_bound(problem: Any, bounds: Bounds) -> str:
    """Return why there is no gap between bounds, or an empty string."""
    if not problem.is_psd:
        return "indefinite kernel, stationarity only"
    if bounds.gap == inf:
        return "the primal value is beyond float64's range"
    if isnan(bounds.lower) or isnan(bounds.upper):
        return "the bounds are beyond float64's range"
    return "the bounds cross: float64 is not enough here" if isnan(bounds.gap) else ""
