"""The certificate of a point: bounds on the optimum, and how far the point is from optimal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import fsum, inf, isfinite, isnan, nan, nextafter
from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.forms import Point
from dualgap.problems.html_table import format_number, html_table

# relative gap above which a claim of optimality is wrong, and no solver here makes one
WRONG_GAP = 1e-2


class Bounds(NamedTuple):
    """Bounds on an optimum, lower ≤ optimum ≤ upper; an unknown bound is NaN.

    Attributes
    ----------
    rounding : the part of the gap that may be float64 rounding error alone.
    proven : whether the bounds are theorems about the stored data.
    """

    lower: float
    upper: float
    rounding: float = 0.0
    proven: bool = False

    @property
    def gap(self) -> float:
        """upper − lower, rounded up; NaN if the bounds cross, which true bounds never do."""
        if not self.upper >= self.lower:
            return nan
        gap = self.upper - self.lower
        lost = isfinite(gap) and fsum((self.upper, -self.lower, -gap)) > 0
        return nextafter(gap, inf) if lost else gap

    def relative(self, amount: float, scale: float = 0.0) -> float:
        """Return amount / max(|upper|, |lower|, scale); 0 for 0, infinite if only the divisor is 0."""
        if amount == 0 or not isfinite(amount):
            return amount
        size = max(abs(self.upper), abs(self.lower), scale)
        return amount / size if size else inf

    def plus(self, other: Bounds) -> Bounds:
        """Return bounds on the optimum of the sum of two problems, rounded outwards."""
        sums = Bounds(self.lower + other.lower, self.upper + other.upper)
        ends = nextafter(sums.lower, -inf), nextafter(sums.upper, inf)
        rounding = self.rounding + other.rounding
        return Bounds(*ends, rounding, self.proven and other.proven)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Bounds on a problem's optimum, and how far a point is from optimal.

    Attributes
    ----------
    primal_objective, dual_objective : dual ≤ optimum ≤ primal, scaled as ½‖w‖² + Σ Cᵢ·lossᵢ.
    gap : primal − dual; relative_gap : gap / max(|primal|, |dual|, unit), 0 when the gap is 0.
    kkt_violation : the natural residual, see `box.kkt_violation`.
    violating_pair : the maximal violating pair, see `box.violating_pair`.
    primal_residual : largest violation of α's box and equalities before projection.
    dual_residual : largest violation of a margin constraint without slack (hard margin; else 0).
    complementarity : largest product of a variable's distance to a bound and that bound's multiplier.
    projection_distance : ‖α − projection of α‖.
    bound_source : "alpha" (both bounds from α), "alpha and w" (primal bound at the solver's w),
        "recovered from w" (no α was given), "none"; "proven: ..." if the bounds are theorems.
    point : the certified point: a `Point` with a feasible α, w for linear kernels, and the best b; a
        `QPPoint` for a convex QP.
    b_interval : the interval of all optimal b for that w.
    offsets : the best offset of each group; b is their mean.
    norm2 : an enclosure of ‖w‖² for the w of both bounds; NaN if the bounds use different w.
    unit : the gap scale, the least divisor of the gap if the optimum may be 0; else 0.
    scale : the primal's w as a multiple of Σ βᵢφ(xᵢ) or the solver's w: 1 up to rounding.
    resolution : the part of the relative gap that may be float64 rounding error alone; 0 if proven.
    infeasible : whether it is proven that there is no optimum: no point separates the samples or is
        feasible (both bounds are ∞), or the problem is unbounded below (both are −∞).
    reason : why a bound is missing, or empty.
    parts : the certificates of several binary problems, of which this one is the sum.
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
    point: Any = Point()  # noqa: RUF009 - frozen
    b_interval: tuple[float, float] = (nan, nan)
    offsets: tuple[float, ...] = ()
    norm2: tuple[float, float] = (nan, nan)
    unit: float = 0.0
    scale: float = 1.0
    resolution: float = 0.0
    infeasible: bool = False
    reason: str = ""
    parts: tuple[Certificate, ...] = ()

    @property
    def bounds(self) -> Bounds:
        """Both bounds as a `Bounds`, which has arithmetic."""
        lower, upper = self.dual_objective, self.primal_objective
        rounding = self.resolution * max(abs(upper), abs(lower), self.unit)
        return Bounds(lower, upper, rounding, self.bound_source.startswith("proven"))

    def is_undecided(self, gap: float) -> bool:
        """Whether the relative gap may exceed `gap` through float64 rounding alone."""
        if not np.isfinite(self.resolution):
            return self.relative_gap > gap
        return self.relative_gap - self.resolution <= gap < self.relative_gap

    def __repr__(self) -> str:
        """Return one line with the bounds, their relative gap and their source."""
        if self.infeasible:
            unbounded = self.primal_objective < 0
            return f"Certificate({'unbounded below' if unbounded else 'infeasible'}, proven)"
        bounds = f"{self.dual_objective:.10g} ≤ optimum ≤ {self.primal_objective:.10g}"
        parts = f", sum of {len(self.parts)} problems" if self.parts else ""
        reason = f"; {self.reason}" if self.reason else ""
        gap = f"relative gap {self.relative_gap:.2g}"
        return f"Certificate({bounds}, {gap}, bounds from {self.bound_source}{parts}{reason})"

    def _repr_html_(self) -> str:
        rows = {
            "optimum ≤": format_number(self.primal_objective, ".10g") or "unknown",
            "optimum ≥": format_number(self.dual_objective, ".10g") or "unknown",
            "infeasible": "proven" if self.infeasible else "",
            "gap": format_number(self.gap),
            "relative gap": format_number(self.relative_gap),
            "KKT violation": format_number(self.kkt_violation),
            "projection distance": format_number(self.projection_distance),
            "bounds from": self.bound_source,
            "reason": self.reason,
        }
        return html_table("Certificate", rows.items())


def make_certificate(
    bounds: Bounds, gap_scale: float = 0.0, base: Certificate | None = None, **changes: Any
) -> Certificate:
    """Return a certificate with these bounds and the gaps that follow from them.

    Parameters
    ----------
    gap_scale : becomes `Certificate.unit`.
    base : the certificate to copy, by default an empty one.
    changes : further attributes to replace in the copy.
    """
    gap = bounds.gap
    return replace(
        base or Certificate(),
        **changes,
        primal_objective=bounds.upper,
        dual_objective=bounds.lower,
        gap=gap,
        relative_gap=bounds.relative(gap, gap_scale),
        resolution=bounds.relative(bounds.rounding, gap_scale),
        unit=gap_scale,
    )


def gap_scale_for(bounds: Bounds, gap_scale: float) -> float:
    """Return the gap scale, or 0 if the optimum is negative and float64 resolves its magnitude.

    It resolves a magnitude below 2⁻³⁰ times the scale to under six digits. Were the scale dropped at any
    negative upper bound, better bounds on such an optimum could have a larger relative gap than worse
    ones.
    """
    return 0.0 if bounds.upper < -(2.0**-30) * gap_scale else gap_scale


def sum_certificates(certificates: Sequence[Certificate], names: Sequence[str] = ()) -> Certificate:
    """Return the certificate of the sum of several problems, without a point.

    `names` identify the problems in its reason; by default they are numbered.
    """
    names = names or [f"problem {number}" for number in range(1, len(certificates) + 1)]
    pairs = zip(names, certificates, strict=True)
    violations = ("kkt_violation", "violating_pair", "primal_residual", "dual_residual")
    largest: dict[str, Any] = {
        name: float(np.max([getattr(c, name) for c in certificates]))
        for name in (*violations, "complementarity")
    }
    # argmax treats NaN as the largest
    worst = certificates[int(np.argmax([c.relative_gap for c in certificates]))]
    distances = [c.projection_distance for c in certificates]
    return make_certificate(
        reduce(Bounds.plus, [c.bounds for c in certificates]),
        sum(c.unit for c in certificates),
        **largest,
        projection_distance=float(np.linalg.norm(distances)),
        bound_source=worst.bound_source,
        reason=next((f"{name}: {c.reason}" for name, c in pairs if c.reason), ""),
        parts=tuple(certificates),
    )


def not_proven(certificate: Certificate, cause: object) -> Certificate:
    """Return the certificate without its bounds, with the cause of the failed proof as a reason."""
    reason = "; ".join(filter(None, (certificate.reason, f"not proven: {cause}")))
    unproven = make_certificate(Bounds(nan, nan), certificate.unit, certificate, reason=reason)
    return replace(unproven, resolution=certificate.resolution)


def missing_bound(is_psd: bool, bounds: Bounds) -> str:
    """Return why the gap between the bounds is undefined, or an empty string."""
    if not is_psd:
        return "the kernel is indefinite: only stationarity can be checked"
    if bounds.gap == inf:
        return "the primal value overflows float64"
    if isnan(bounds.lower) or isnan(bounds.upper):
        return "the bounds overflow float64"
    return "the bounds cross: float64 is not accurate enough" if isnan(bounds.gap) else ""
