"""Optimality of a feasible point of a box QP, from the point and its gradient alone.

For min ½xᵀQx + pᵀx s.t. Σ_{i∈g} aᵢxᵢ = delta_g for every group g, lb ≤ x ≤ ub, with gradient
g = Qx + p, any ν_g and rᵢ(ν) = gᵢ + ν_g·aᵢ, the duality gap is
    gap(ν) = Σᵢ (xᵢ − lbᵢ)·max(rᵢ, 0) + (ubᵢ − xᵢ)·max(−rᵢ, 0)  ≥  0,
with the Lagrange multipliers of the bounds eliminated (Boyd & Vandenberghe 2004, section 5.5). It is
convex and piecewise linear in each ν_g, and the groups are disjoint, so that the best ν is found
exactly, by sorting each group. For an SVM with one group ν is the intercept b.
"""

from collections.abc import Iterator

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.projection import members_of

_MOST_SORTED = 1000  # breakpoints up to which sorting takes less time than leaving some out


def best_multiplier(
    g: Vector, a: Vector, width: Vector, constant: float = 0.0
) -> tuple[float, float]:
    """Return the interval [ν₁, ν₂] of minimisers of the gap, of variables in one group.

    Up to a constant the gap is Σᵢ widthᵢ·max(−rᵢ(ν), 0) + ν·constant with width = ub − lb and
    constant = delta − aᵀlb: its slope rises by |aᵢ|·widthᵢ at each breakpoint νᵢ = −gᵢ/aᵢ.
    The ends may be infinite; both are the same number where the minimiser is unique.
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
    """Return the breakpoints among which the slope changes sign, and the slope left of them.

    A pivot leaves those on one side of it: with 50,000 this halves the time. Where the slope at it is
    within rounding of 0, or all points are equal, nothing more is left out.
    """
    while points.size > _MOST_SORTED:
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
    """Return each variable's share of the gap, with below = x − lb and above = ub − x (finite)."""
    return below * np.maximum(r, 0.0) + above * np.maximum(-r, 0.0)


def kkt_violation(
    g: Vector, a: Vector | None, below: Vector, above: Vector, groups: Indices | None = None
) -> float:
    """Return the natural residual min over ν of maxᵢ |xᵢ − clip(xᵢ − rᵢ(ν), lbᵢ, ubᵢ)|.

    |xᵢ − clip(…)| = |clip(rᵢ, −aboveᵢ, belowᵢ)|. A level t is reached by some ν exactly if the
    intervals of ν that keep each entry at or below t have a point in common, so t is bisected.
    """
    if a is None:
        return float(np.abs(np.clip(g, -above, below)).max(initial=0.0))
    if groups is not None:
        pieces = _pieces(a, groups)
        return max(kkt_violation(g[i], own, below[i], above[i]) for i, own in pieces)
    fixed = a == 0
    least = float(np.abs(np.clip(g, -above, below))[fixed].max(initial=0.0))
    g, a, below, above = g[~fixed], a[~fixed], below[~fixed], above[~fixed]
    if g.size == 0 or _reachable(least, g, a, below, above):
        return least
    low, high = least, max(least, float(np.minimum(np.abs(g), np.maximum(below, above)).max()))
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
    most = np.where(below <= t, np.inf, t)  # r may not exceed this ...
    least = np.where(above <= t, -np.inf, -t)  # ... nor fall below this
    ends = (least - g) / a, (most - g) / a
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    return float(lower.max()) <= float(upper.min())


def _pieces(a: Vector, groups: Indices) -> Iterator[tuple[Indices, Vector | None]]:
    """Yield the variables in no group, then those of each, with their coefficients."""
    yield np.flatnonzero(groups < 0), None
    for members in members_of(groups):
        yield members, a[members]


def violating_pair(
    g: Vector, a: Vector | None, below: Vector, above: Vector, groups: Indices | None = None
) -> float:
    """Return how far the most violating pair is from optimal, see `violators`."""
    return violators(g, a, below, above, groups)[0]


def violators(
    g: Vector, a: Vector | None, below: Vector, above: Vector, groups: Indices | None = None
) -> tuple[float, Indices]:
    """Return how far the most violating pair is from optimal, of several groups the farthest; and it.

    With an equality max(0, m − M), m = max −gᵢ/aᵢ over variables that can raise aᵢxᵢ and M the
    minimum over those that can lower it (Keerthi et al. 2001; LIBSVM's measure). Without it the
    largest minus the smallest projected gradient, 0 counted among both (LIBLINEAR's); then one
    variable violates alone, the one with the largest |projected gradient|. None does at an optimum.
    """
    none = 0.0, np.empty(0, np.int64)
    if a is not None and (groups is not None or not a.all()):
        # variables with a = 0 take no part in the equality: as without it
        pieces = _pieces(a, np.where(a == 0, -1, 0) if groups is None else groups)
        found = [(i, *violators(g[i], own, below[i], above[i])) for i, own in pieces]
        members, most, of_it = max(found, key=lambda piece: piece[1])
        return most, members[of_it]
    if not g.size:
        return none
    if a is None:
        projected = np.where(below <= 0, np.minimum(g, 0.0), g)
        projected = np.where(above <= 0, np.maximum(projected, 0.0), projected)
        projected[(below <= 0) & (above <= 0)] = 0.0
        worst = int(np.abs(projected).argmax())
        spread = max(0.0, float(projected.max())) - min(0.0, float(projected.min()))
        return (spread, np.array([worst])) if spread > 0 else none
    score = -g / a
    can_raise = np.where(a > 0, above > 0, below > 0)
    can_lower = np.where(a > 0, below > 0, above > 0)
    i = int(np.where(can_raise, score, -np.inf).argmax())
    j = int(np.where(can_lower, score, np.inf).argmin())
    violate = can_raise.any() and can_lower.any() and score[i] > score[j]
    return (float(score[i] - score[j]), np.array([i, j])) if violate else none
