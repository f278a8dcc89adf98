"""Projection onto {lb ≤ x ≤ ub, Σ_{i∈g} aᵢxᵢ = delta_g for every group g}: min ½‖x − z‖².

The groups are disjoint, so each is projected separately.

By duality x(μ) = clip(z − μa, lb, ub), where aᵀx(μ) falls with μ and is linear between 2n
breakpoints. Each pivot halves the candidates, and variables outside the bracket are summed once: O(n)
(Kiwiel 2008, "Breakpoint searching algorithms for the continuous quadratic knapsack problem").
"""

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
