"""A box cut by one equality for each of some disjoint groups: projection onto it, and optimality on it.

The set is {lb ≤ x ≤ ub, Σ_{i∈g} aᵢxᵢ = delta_g for every group g}. Each group is projected by itself. By
duality its projection is x(μ) = clip(z − μa, lb, ub), where aᵀx(μ) falls with μ and is linear between 2n
breakpoints. Each pivot halves the candidates, and variables outside the bracket are summed once: O(n)
(Kiwiel 2008, "Breakpoint searching algorithms for the continuous quadratic knapsack problem").

For min ½xᵀQx + pᵀx on this set, with gradient g = Qx + p, any ν_g and rᵢ(ν) = gᵢ + ν_g·aᵢ, the duality
gap is
    gap(ν) = Σᵢ (xᵢ − lbᵢ)·max(rᵢ, 0) + (ubᵢ − xᵢ)·max(−rᵢ, 0)  ≥  0,
with the Lagrange multipliers of the bounds eliminated (Boyd & Vandenberghe 2004, section 5.5). It is
convex and piecewise linear in each ν_g, so sorting each group finds the best ν exactly. For an SVM with
one group ν is the intercept b. Every measure needs the point and the gradient alone.
"""

from collections.abc import Iterator
from itertools import pairwise

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector


def project(
    z: Vector,
    lb: Vector,
    ub: Vector,
    a: Vector | None = None,
    delta: float | Vector = 0.0,
    groups: Indices | None = None,
) -> Vector:
    """Return the Euclidean projection of `z` (n,) onto the box and, given `a`, the hyperplanes.

    Parameters
    ----------
    z, lb, ub : (n,) the point and the box; bounds may be infinite.
    a : (n,) coefficients of the equalities, or None.
    delta : a number for one equality, else (groups,).
    groups : (n,) index of each variable's equality, −1 for none; None for one equality over all.

    Raises
    ------
    ValueError
        If `z` is not finite, or the box and a hyperplane do not intersect.
    """
    if a is None:
        return np.clip(z, lb, ub)
    totals = np.atleast_1d(np.asarray(delta, dtype=np.float64))
    if groups is None:
        return _project_group(z, lb, ub, a, float(totals[0]))
    x = np.clip(z, lb, ub)
    for members, total in zip(members_of(groups, totals.size), totals, strict=True):
        x[members] = _project_group(z[members], lb[members], ub[members], a[members], float(total))
    return x


def members_of(groups: Indices, count: int | None = None) -> list[Indices]:
    """Return the sorted variables of each of the groups 0, ..., count − 1; −1 means no group."""
    order = np.argsort(groups, kind="stable")
    count = int(groups.max(initial=-1)) + 1 if count is None else count
    ends = np.searchsorted(groups[order], np.arange(count + 1))
    return [order[first:last] for first, last in pairwise(ends)]


def _project_group(z: Vector, lb: Vector, ub: Vector, a: Vector, delta: float) -> Vector:
    if not np.isfinite(z).all():
        raise ValueError("z must be finite, but has NaN or infinite entries")
    point, moving = z, a != 0  # 0 times an infinite bound is NaN
    for _ in range(3):  # rounding of a far point may leave a residual for the next pass
        clipped = np.clip(point, lb, ub)
        # not a @ clipped: BLAS would wake threads that keep spinning
        terms = a * clipped
        rounding = 8 * np.finfo(float).eps * (float(np.abs(terms).sum()) + abs(delta))
        if abs(float(terms.sum()) - delta) <= rounding:
            return clipped  # a feasible point keeps its exact zeros
        lowest = float((a[moving] * np.where(a > 0, lb, ub)[moving]).sum())
        highest = float((a[moving] * np.where(a > 0, ub, lb)[moving]).sum())
        if not lowest - rounding <= delta <= highest + rounding:
            raise ValueError(
                f"delta = {delta:g} is outside the range [{lowest:g}, {highest:g}] of a'x"
            )
        # the compiled function takes writable contiguous arrays only
        copies = (np.array(v, dtype=np.float64) for v in (point, lb, ub, a))
        space = np.empty(a.size), np.empty(a.size), np.empty(a.size, np.int64)
        mu = _multiplier(*copies, *space, float(min(max(delta, lowest), highest)))
        # at either end of the range μ is ±inf and every variable is at a bound
        step = np.where(moving, mu, 0.0) * np.where(moving, a, 1.0)
        point = np.clip(point - step, lb, ub)
    return point


@numba.njit(cache=True, error_model="numpy")
def _multiplier(
    z: Vector, lb: Vector, ub: Vector, a: Vector, first: Vector, last: Vector, active: Indices,
    delta: float,
) -> float:  # fmt: skip
    """Return the root μ of aᵀclip(z − μa, lb, ub) = delta.

    `first` (n,), `last` (n,) and `active` (n,) are work arrays: the μ at which each variable leaves one
    bound and reaches the other, and the variables still undecided.
    """
    count = 0
    for i in range(z.size):
        if a[i] != 0.0:
            one, other = (z[i] - ub[i]) / a[i], (z[i] - lb[i]) / a[i]
            first[i] = one if one < other else other
            last[i] = other if one < other else one
            active[count] = i
            count += 1
    constant, slope = -delta, 0.0  # decided variables add constant − slope·μ
    low, high = -np.inf, np.inf
    while count > 0 and low < high:
        candidate = active[count // 2]
        pivot = first[candidate] if first[candidate] > low else last[candidate]
        value = constant - slope * pivot
        for k in range(count):
            i = active[k]
            x, lower, upper = z[i] - pivot * a[i], lb[i], ub[i]
            x = lower if x < lower else x
            value += a[i] * (upper if x > upper else x)
        if value >= 0.0:
            low = pivot
        if value <= 0.0:
            high = pivot
        remaining = 0
        for k in range(count):
            i = active[k]
            if last[i] <= low:
                constant += a[i] * (lb[i] if a[i] > 0 else ub[i])
            elif first[i] >= high:
                constant += a[i] * (ub[i] if a[i] > 0 else lb[i])
            elif first[i] <= low and last[i] >= high:
                constant += a[i] * z[i]
                slope += a[i] * a[i]
            else:
                active[remaining] = i
                remaining += 1
        count = remaining
    if slope > 0.0 and low < high:
        root = constant / slope
        return float(low if root < low else high if root > high else root)
    return float(low if low > -np.inf else high)


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
    at 4000 points, when the slope at the pivot is 0 up to rounding, or when all points are equal.
    """
    while points.size > 4000:
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
    of ν that keep each entry at or below t intersect. While they do not, the two that are farthest apart
    give a larger lower bound on t, which soon is the minimum itself; bisection in between bounds the
    number of steps.
    """
    if a is None:
        return float(np.abs(np.clip(g, -above, below)).max(initial=0.0))
    if groups is not None:
        parts = _by_group(a, groups)
        return max(kkt_violation(g[i], a_g, below[i], above[i]) for i, a_g in parts)
    fixed = a == 0
    low = float(np.abs(np.clip(g, -above, below))[fixed].max(initial=0.0))
    g, a, below, above = g[~fixed], a[~fixed], below[~fixed], above[~fixed]
    if g.size == 0:
        return low
    # aᵢν is to be within t of −gᵢ, unless the room on that side is at most t
    size, score = np.abs(a), -g / a
    room_up, room_down = np.where(a > 0, above, below), np.where(a > 0, below, above)
    high = max(low, float(np.minimum(np.abs(g), np.maximum(below, above)).max()))
    while True:
        following = _next_level(low, size, score, room_down, room_up)
        if following <= low:
            return low
        low = min(following, high)
        level = low + 0.5 * (high - low)
        if high - low <= 1e-12 * high or level in (low, high) or high <= np.finfo(float).tiny:
            return high
        following = _next_level(level, size, score, room_down, room_up)
        low, high = (low, level) if following <= level else (min(following, high), high)


def _next_level(t: float, size: Vector, score: Vector, room_down: Vector, room_up: Vector) -> float:
    """Return t if some ν keeps every entry at or below t, else a larger lower bound on such a level.

    Entry i allows ν from score − t/size, unless it can move up by t at most, to score + t/size.
    """
    lower = np.where(room_up <= t, -np.inf, score - t / size)
    upper = np.where(room_down <= t, np.inf, score + t / size)
    i, j = int(lower.argmax()), int(upper.argmin())
    if lower[i] <= upper[j]:
        return t
    meeting = float((score[i] - score[j]) / (1.0 / size[i] + 1.0 / size[j]))
    return max(np.nextafter(t, np.inf), min(meeting, float(room_up[i]), float(room_down[j])))


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
