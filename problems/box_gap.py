"""Optimality measures of a feasible point of a box QP, from the point and its gradient alone.

For min ½xᵀQx + pᵀx s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub, with gradient
g = Qx + p, any ν_g and rᵢ(ν) = gᵢ + ν_g·aᵢ, the duality gap is
    gap(ν) = Σᵢ (xᵢ − lbᵢ)·max(rᵢ, 0) + (ubᵢ − xᵢ)·max(−rᵢ, 0)  ≥  0,
with the Lagrange multipliers of the bounds eliminated (Boyd & Vandenberghe 2004, section 5.5). It is
convex and piecewise linear in each ν_g, and the groups are disjoint, so sorting each group finds the
best ν exactly. For an SVM with one group ν is the intercept b.
"""

from collections.abc import Iterator

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.projection import members_of


def best_multiplier(
    g: Vector, a: Vector, width: Vector, constant: float = 0.0
) -> tuple[float, float]:
    """Return the interval [ν₁, ν₂] of minimisers of the gap for the variables of one group.

    Up to a constant the gap is Σᵢ widthᵢ·max(−rᵢ(ν), 0) + ν·constant with width = ub − lb and
    constant = delta − aᵀlb: its slope rises by |aᵢ|·widthᵢ at each breakpoint νᵢ = −gᵢ/aᵢ.
    The ends may be infinite; they are equal if the minimiser is unique.
    """
    moving = (a != 0) & (width > 0)
    if not moving.any():
        return 0.0, 0.0
    g, a, width = (v if moving.all() else v[moving] for v in (g, a, width))
    points, jumps = -g / a, np.abs(a) * width
    leftmost = constant - float(jumps[a > 0].sum())
    rounding = np.finfo(float).eps * points.size * float(jumps.sum())
    points, jumps, leftmost = _around_minimum(points, jumps, leftmost, rounding)
    order = np.argsort(points, kind="stable")
    points, jumps = points[order], jumps[order]
    slopes = leftmost + np.cumsum(jumps)  # right of each breakpoint
    if leftmost >= -rounding:
        return -np.inf, float(points[0])
    first = int(np.searchsorted(slopes, -rounding))
    if first == points.size:
        return float(points[-1]), np.inf
    flat = slopes[first] <= rounding
    if not flat:
        return float(points[first]), float(points[first])
    return float(points[first]), float(points[first + 1]) if first + 1 < points.size else np.inf


def _around_minimum(
    points: Vector, jumps: Vector, leftmost: float, rounding: float
) -> tuple[Vector, Vector, float]:
    """Return breakpoints among which the slope changes sign, their jumps, and the slope left of them.

    Each pivot discards those on one side of it: with 50,000 this halves the time of sorting. It stops
    at 1000 points, when the slope at the pivot is 0 up to rounding, or when all points are equal.
    """
    while points.size > 1000:
        pivot = np.median(points[:: points.size // 100])
        right = points > pivot
        slope = leftmost + float(jumps[~right].sum())  # right of the pivot
        if slope < -rounding and right.any():
            points, jumps, leftmost = points[right], jumps[right], slope
        elif slope > rounding and right.any():
            points, jumps = points[~right], jumps[~right]
        else:
            break
    return points, jumps, leftmost


def middle(low: float, high: float) -> float:
    """Return the middle of an interval, its finite end if the other is infinite, 0 if both are."""
    if np.isfinite(low) and np.isfinite(high):
        return low + 0.5 * (high - low)
    return low if np.isfinite(low) else high if np.isfinite(high) else 0.0


def gap_terms(r: Vector, below: Vector, above: Vector) -> Vector:
    """Return each variable's term of the gap, with below = x − lb and above = ub − x (finite)."""
    return below * np.maximum(r, 0.0) + above * np.maximum(-r, 0.0)


def kkt_violation(
    g: Vector, a: Vector | None, below: Vector, above: Vector, groups: Indices | None = None
) -> float:
    """Return the natural residual min over ν of maxᵢ |xᵢ − clip(xᵢ − rᵢ(ν), lbᵢ, ubᵢ)|.

    |xᵢ − clip(…)| = |clip(rᵢ, −aboveᵢ, belowᵢ)|. Some ν attains the level t if and only if the intervals
    of ν that keep each entry at or below t intersect, so t is found by bisection.
    """
    if a is None:
        return float(np.abs(np.clip(g, -above, below)).max(initial=0.0))
    if groups is not None:
        parts = _by_group(a, groups)
        return max(kkt_violation(g[i], a_g, below[i], above[i]) for i, a_g in parts)
    fixed = a == 0
    base = float(np.abs(np.clip(g, -above, below))[fixed].max(initial=0.0))
    g, a, below, above = g[~fixed], a[~fixed], below[~fixed], above[~fixed]
    if g.size == 0 or _reachable(base, g, a, below, above):
        return base
    low, high = base, max(base, float(np.minimum(np.abs(g), np.maximum(below, above)).max()))
    while high - low > 1e-12 * high and high > np.finfo(float).tiny:
        level = low + 0.5 * (high - low)
        if level in (low, high):
            break
        if _reachable(level, g, a, below, above):
            high = level
        else:
            low = level
    return high


def _reachable(t: float, g: Vector, a: Vector, below: Vector, above: Vector) -> bool:
    """Whether some ν keeps every |clip(gᵢ + νaᵢ, −aboveᵢ, belowᵢ)| at or below t."""
    largest = np.where(below <= t, np.inf, t)  # of r
    smallest = np.where(above <= t, -np.inf, -t)
    ends = (smallest - g) / a, (largest - g) / a
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    return float(lower.max()) <= float(upper.min())


def _by_group(a: Vector, groups: Indices) -> Iterator[tuple[Indices, Vector | None]]:
    """Yield the variables in no group, then those of each group, with their coefficients."""
    yield np.flatnonzero(groups < 0), None
    for members in members_of(groups):
        yield members, a[members]


def violating_pair(
    g: Vector, a: Vector | None, below: Vector, above: Vector, groups: Indices | None = None
) -> float:
    """Return the violation of the most violating pair, see `violators`."""
    return violators(g, a, below, above, groups)[0]


def violators(
    g: Vector, a: Vector | None, below: Vector, above: Vector, groups: Indices | None = None
) -> tuple[float, Indices]:
    """Return the violation of the most violating pair over all groups, and the pair.

    With an equality it is max(0, m − M), with m = max −gᵢ/aᵢ over variables that can raise aᵢxᵢ and M
    the minimum over those that can lower it (Keerthi et al. 2001; as in LIBSVM). Without one it is the
    largest minus the smallest projected gradient, both including 0 (as in LIBLINEAR), and the "pair" is
    the variable with the largest |projected gradient|. At an optimum the pair is empty.
    """
    none = 0.0, np.empty(0, np.int64)
    if a is not None and (groups is not None or not a.all()):
        # variables with a = 0 are not in the equality
        parts = _by_group(a, np.where(a == 0, -1, 0) if groups is None else groups)
        violations = [(i, *violators(g[i], a_g, below[i], above[i])) for i, a_g in parts]
        members, violation, pair = max(violations, key=lambda group: group[1])
        return violation, members[pair]
    if not g.size:
        return none
    if a is None:
        projected = np.where(below <= 0, np.minimum(g, 0.0), g)
        projected = np.where(above <= 0, np.maximum(projected, 0.0), projected)
        projected[(below <= 0) & (above <= 0)] = 0.0
        worst = int(np.abs(projected).argmax())
        gap = max(0.0, float(projected.max())) - min(0.0, float(projected.min()))
        return (gap, np.array([worst])) if gap > 0 else none
    score = -g / a
    can_raise = np.where(a > 0, above > 0, below > 0)
    can_lower = np.where(a > 0, below > 0, above > 0)
    i = int(np.where(can_raise, score, -np.inf).argmax())
    j = int(np.where(can_lower, score, np.inf).argmin())
    violate = can_raise.any() and can_lower.any() and score[i] > score[j]
    return (float(score[i] - score[j]), np.array([i, j])) if violate else none
