"""Optimality conditions and the duality gap, computed from the scores f = Kz; loops are compiled.

Raising variable i gains upᵢ = −(f + q)ᵢ − epsᵢ per unit and lowering it loses downᵢ = upᵢ if zᵢ > 0;
both have +epsᵢ if zᵢ < 0, and at 0 they differ. z is optimal if no variable gains more than another of
its equality loses, max up ≤ min down; the multiplier b is halfway between, or 0 without an equality. If
no variable can rise, or none can fall, b is the one that is finite.
"""

from __future__ import annotations

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import GroupedTerms, KernelQP


@numba.njit(cache=True, nogil=True)
def slopes(
    f: Vector, z: Vector, terms: GroupedTerms, count: int
) -> tuple[Vector, Vector, Vector, float]:
    """Return the slopes up and down, the multipliers b and the violation of the maximal violating pair.

    A variable at its bound gains −∞ from rising, or loses +∞ from falling. `count` is the number of
    equalities, some of which may contain none of these variables. Without an equality the violation is
    at least PGmax − PGmin, however the form counts its variables.
    """
    q, eps, lo, hi, groups = terms
    up, down = np.empty(z.size), np.empty(z.size)
    b, highest, lowest = np.empty(count + 1), np.empty(count + 1), np.empty(count + 1)
    for group in range(count + 1):  # the last entry, at −1, serves problems without an equality
        b[group], highest[group], lowest[group] = 0.0, -np.inf, np.inf
    for t in range(z.size):
        u, group = -(f[t] + q[t]), groups[t]
        rising = u - (eps[t] if z[t] >= 0.0 else -eps[t])
        falling = u - (eps[t] if z[t] > 0.0 else -eps[t])
        up[t] = rising if z[t] < hi[t] else -np.inf
        down[t] = falling if z[t] > lo[t] else np.inf
        highest[group] = up[t] if up[t] > highest[group] else highest[group]
        lowest[group] = down[t] if down[t] < lowest[group] else lowest[group]
    if count == 0:
        largest = highest[0] if highest[0] > -lowest[0] else -lowest[0]
        return up, down, b, 2.0 * largest if largest > 0.0 else 0.0
    violation = 0.0
    for group in range(count):
        top, bottom = highest[group], lowest[group]
        violation = top - bottom if top - bottom > violation else violation
        bottom = top if bottom == np.inf else bottom
        top = bottom if top == -np.inf else top
        if abs(top + bottom) < np.inf:
            b[group] = 0.5 * (top + bottom)
    return up, down, b[:count], violation


@numba.njit(cache=True, nogil=True)
def on_one_side(
    f: Vector, z: Vector, terms: GroupedTerms, b: Vector
) -> tuple[Vector, Vector, Vector]:
    """Return scores relative to b, and bounds, restricted to each variable's side of its tube.

    At 0 that is the side toward which the score pulls.
    """
    q, eps, lo, hi, groups = terms
    score, low, high = np.empty(z.size), np.empty(z.size), np.empty(z.size)
    for t in range(z.size):
        u = -(f[t] + q[t]) - b[groups[t]]
        above = z[t] > 0.0 or (z[t] == 0.0 and u > 0.0)
        score[t] = u - (eps[t] if above else -eps[t])
        low[t] = 0.0 if above and eps[t] > 0.0 else lo[t]
        high[t] = hi[t] if above or eps[t] <= 0.0 else 0.0
    return score, low, high


@numba.njit(cache=True, nogil=True)
def free_variables(z: Vector, terms: GroupedTerms) -> Indices:
    """Return the variables strictly between their bounds, and off 0 if they have a tube."""
    _, eps, lo, hi, _ = terms
    free, count = np.empty(z.size, np.int64), 0
    for t in range(z.size):
        if lo[t] < z[t] < hi[t] and (eps[t] == 0.0 or z[t] != 0.0):
            free[count] = t
            count += 1
    return free[:count]


@numba.njit(cache=True, nogil=True)
def largest(values: Vector, count: int) -> Indices:
    """Return the indices of the `count` largest values other than −∞, in one pass."""
    best, indices = np.empty(count), np.empty(count, np.int64)
    for k in range(count):
        best[k] = -np.inf
    size = 0
    for t in range(values.size if count else 0):
        if values[t] > best[count - 1]:
            k = size if size < count else count - 1
            size = k + 1
            while k > 0 and best[k - 1] < values[t]:
                best[k], indices[k] = best[k - 1], indices[k - 1]
                k -= 1
            best[k], indices[k] = values[t], t
    return indices[:size]


@numba.njit(cache=True, nogil=True)
def _gap_at(f: Vector, z: Vector, terms: GroupedTerms, b: Vector, slope: Vector) -> float:
    """Return the gap at multipliers `b`, and write its derivatives with respect to them to `slope`.

    Σ max over zᵢ' in the box of (uᵢ − b)(zᵢ' − zᵢ) − epsᵢ(|zᵢ'| − |zᵢ|), taken at a bound or 0.
    """
    q, eps, lo, hi, groups = terms
    gap = 0.0
    for group in range(slope.size):
        slope[group] = 0.0
    for t in range(z.size):
        if lo[t] == -np.inf or hi[t] == np.inf:
            return np.inf
        u = -(f[t] + q[t]) - b[groups[t]]
        end = hi[t] if u > 0.0 else lo[t]
        if eps[t] > 0.0 and abs(u) <= eps[t]:  # the point of the box nearest to 0
            end = lo[t] if lo[t] > 0.0 else (hi[t] if hi[t] < 0.0 else 0.0)
        gap += u * (end - z[t]) - eps[t] * (abs(end) - abs(z[t]))
        slope[groups[t]] += z[t] - end
    return gap


@numba.njit(cache=True, nogil=True)
def gap_and_dual(
    f: Vector, z: Vector, terms: GroupedTerms, sums: Vector, constant: float, threshold: float
) -> tuple[float, float]:
    """Return the gap and |dual objective|, or inf and 1 if that is 0; the gap is inf if a bound is.

    The gap is the smallest at multipliers between those of the maximal violating pair, found by
    bisection. It is convex: bisection stops once tangents exclude a relative gap of at most
    `threshold`, or 1 % below. `terms` may be those of some variables, all others fixed; `sums` and
    `constant`, which the objective lacks, are the form's.
    """
    q, eps, _, _, groups = terms
    _, _, b, violation = slopes(f, z, terms, sums.size)
    is_centred = constant == 0.0
    for total in sums:
        is_centred &= total == 0.0
    objective = constant
    for t in range(z.size):
        # if Σz = 0, adding the multiplier to the costs cancels a large common offset of the targets
        cost = q[t] + b[groups[t]] if is_centred else q[t]
        objective += (0.5 * f[t] + cost) * z[t] + eps[t] * abs(z[t])
    dual, smallest, slope = abs(objective), np.inf, np.empty(b.size)
    half_width = 0.5 * violation if sums.size else 0.0
    for _ in range(10 if dual > 0.0 else 0):  # to a thousandth of the interval
        gap = _gap_at(f, z, terms, b, slope)
        smallest = gap if gap < smallest else smallest
        tangent = gap
        for group in range(slope.size):
            tangent -= half_width * abs(slope[group])
        if half_width == 0.0 or tangent > threshold * dual or tangent > 0.99 * smallest:
            break
        half_width *= 0.5
        for group in range(slope.size):
            b[group] += -half_width if slope[group] > 0.0 else half_width
    return smallest, dual if dual > 0.0 else 1.0


def best_multiple(form: KernelQP, z: Vector, f: Vector, terms: GroupedTerms) -> float:
    """Return the t in [0, 1] for which tz minimises the objective, given f = Kz; 1 if t is near 1.

    A start that was scaled to a larger box is too long if the optimum grows less than the box. It stays
    as it is if 0 is not feasible.
    """
    length2 = float(z @ f)
    has_zero = not form.sums.any() and bool((form.lo <= 0.0).all() and (form.hi >= 0.0).all())
    if not has_zero or length2 <= 0.0:
        return 1.0
    t = -float(terms.q @ z + terms.eps @ np.abs(z)) / length2
    return t if 0.0 < t < 0.99 else 1.0
