"""The nearest point of {lb ≤ x ≤ ub, aᵀx = delta}: min ½‖x − z‖².

By duality x(μ) = clip(z − μa, lb, ub), where aᵀx(μ) falls with μ and is linear between 2n
breakpoints. A pivot breakpoint halves those in question, and what lies outside the bracket is
summed once and never looked at again: O(n) (Kiwiel 2008, "Breakpoint searching algorithms for the
continuous quadratic knapsack problem").
"""

from __future__ import annotations

import numba
import numpy as np

from problems.dataset import Vector


def project(
    z: Vector, lb: Vector, ub: Vector, a: Vector | None = None, delta: float = 0.0
) -> Vector:
    """Return the Euclidean projection of `z` (n,) onto the box, and the hyperplane if `a` is given.

    Raises
    ------
    ValueError
        If `z` is not finite, or the box and the hyperplane have no point in common.
    """
    if a is None:
        return np.clip(z, lb, ub)
    if not np.isfinite(z).all():
        raise ValueError("z: must be finite, got NaN or infinite entries")
    point, moving = z, a != 0  # 0 times an infinite bound is no number
    for _ in range(3):  # from far away, rounding leaves some of the equality to the next round
        clipped = np.clip(point, lb, ub)
        rounding = 8 * np.finfo(float).eps * (float(np.abs(a * clipped).sum()) + abs(delta))
        if abs(float(a @ clipped) - delta) <= rounding:
            return clipped  # a feasible point keeps its exact zeros
        lowest = float((a[moving] * np.where(a > 0, lb, ub)[moving]).sum())
        highest = float((a[moving] * np.where(a > 0, ub, lb)[moving]).sum())
        if not lowest <= delta <= highest:
            raise ValueError(
                f"delta: a'x = {delta:g} cannot be met within [{lowest:g}, {highest:g}]"
            )
        # copies: compiled once for writable contiguous arrays, whatever the caller holds
        copies = (np.array(v, dtype=np.float64) for v in (point, lb, ub, a))
        mu = _multiplier(*copies, float(delta))  # type: ignore[call-arg]
        # at either end of the range μ is ±inf: every variable sits at its bound
        step = np.where(moving, mu, 0.0) * np.where(moving, a, 1.0)
        point = np.clip(point - step, lb, ub)
    return point


@numba.njit(cache=True)
def _multiplier(z: Vector, lb: Vector, ub: Vector, a: Vector, delta: float) -> float:
    """Return the root μ of aᵀclip(z − μa, lb, ub) = delta."""
    n = z.size
    active = np.empty(n, np.int64)
    first = np.empty(n)  # where variable i leaves one bound ...
    last = np.empty(n)  # ... and where it reaches the other
    constant, count = -delta, 0
    for i in range(n):
        if a[i] != 0.0:
            ends = (z[i] - ub[i]) / a[i], (z[i] - lb[i]) / a[i]
            first[i], last[i] = min(ends), max(ends)
            active[count] = i
            count += 1
    slope = 0.0  # settled variables add constant − slope·μ
    low, high = -np.inf, np.inf
    while count > 0:
        middle = active[count // 2]
        pivot = float(first[middle] if first[middle] > low else last[middle])
        value = constant - slope * pivot
        for k in range(count):
            i = active[k]
            value += a[i] * min(max(z[i] - pivot * a[i], lb[i]), ub[i])
        if value >= 0.0:
            low = pivot
        if value <= 0.0:
            high = pivot
        kept = 0
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
                active[kept] = i
                kept += 1
        count = kept
        if low == high:
            return low
    if slope > 0.0:
        return float(min(max(constant / slope, low), high))
    return low if np.isfinite(low) else high
