"""When z is optimal, and how far it is from that: all of it follows from the scores f = Kz.

Rising gains variable i upᵢ = −(f + q)ᵢ − tubeᵢ and falling loses it downᵢ = upᵢ where zᵢ > 0, each with
+tubeᵢ where zᵢ < 0; at 0 they differ. z is optimal where none gains more than another of its equality
loses, max up ≤ min down; the multiplier b is in the middle between them, 0 where there is no equality.
"""

from __future__ import annotations

import numba
import numpy as np
from numba.extending import register_jitable

from dualgap.problems.dataset import Indices, Vector
from dualgap.solvers.smo.variables import Terms, Variables


@numba.njit(cache=True, nogil=True)
def slopes(f: Vector, z: Vector, terms: Terms) -> tuple[Vector, Vector]:
    """Return what each variable gains by rising (−∞ where barred) and loses by falling (+∞)."""
    q, tube, lo, hi, _ = terms
    up, down = np.empty(z.size), np.empty(z.size)
    for t in range(z.size):
        u = -(f[t] + q[t])
        rising = u - (tube[t] if z[t] >= 0.0 else -tube[t])
        falling = u - (tube[t] if z[t] > 0.0 else -tube[t])
        up[t] = rising if z[t] < hi[t] else -np.inf
        down[t] = falling if z[t] > lo[t] else np.inf
    return up, down


@numba.njit(cache=True, nogil=True)
def multipliers(up: Vector, down: Vector, groups: Indices, count: int) -> tuple[Vector, float]:
    """Return b such that b[groups] is that of each variable, and the maximal violating pair.

    `count` is the number of equalities; in some of them there may be none of these variables.
    Without an equality the violation is at least PGmax − PGmin, whichever way a form counts variables.
    """
    b, most, least = np.empty(count + 1), np.empty(count + 1), np.empty(count + 1)
    for group in range(count + 1):  # the last one, at −1, is for no equality
        b[group], most[group], least[group] = 0.0, -np.inf, np.inf
    for t in range(up.size):
        group = groups[t]
        most[group] = up[t] if up[t] > most[group] else most[group]
        least[group] = down[t] if down[t] < least[group] else least[group]
    if count == 0:
        largest = most[0] if most[0] > -least[0] else -least[0]
        return b, 2.0 * largest if largest > 0.0 else 0.0
    violation = 0.0
    for group in range(count):
        difference = most[group] - least[group]
        violation = difference if difference > violation else violation
        if abs(most[group] + least[group]) < np.inf:
            b[group] = 0.5 * (most[group] + least[group])
    return b[:count], violation


@register_jitable
def violation_of(f: Vector, z: Vector, terms: Terms, count: int) -> tuple[Vector, float]:
    """Return the multipliers of so many equalities, and the maximal violating pair."""
    up, down = slopes(f, z, terms)
    return multipliers(up, down, terms.groups, count)


@numba.njit(cache=True, nogil=True)
def on_one_side(f: Vector, z: Vector, terms: Terms, b: Vector) -> tuple[Vector, Vector, Vector]:
    """Return scores relative to b, and bounds, on the side of its tube where each variable is.

    At 0, on the side to which it is drawn.
    """
    q, tube, lo, hi, groups = terms
    score, low, high = np.empty(z.size), np.empty(z.size), np.empty(z.size)
    for t in range(z.size):
        u = -(f[t] + q[t]) - b[groups[t]]
        above = z[t] > 0.0 or (z[t] == 0.0 and u > 0.0)
        score[t] = u - (tube[t] if above else -tube[t])
        low[t] = 0.0 if above and tube[t] > 0.0 else lo[t]
        high[t] = hi[t] if above or tube[t] <= 0.0 else 0.0
    return score, low, high


@numba.njit(cache=True, nogil=True)
def free_variables(z: Vector, terms: Terms) -> Indices:
    """Return the variables with room on both sides, on one side of their tube."""
    _, tube, lo, hi, _ = terms
    free, count = np.empty(z.size, np.int64), 0
    for t in range(z.size):
        if lo[t] < z[t] < hi[t] and (tube[t] == 0.0 or z[t] != 0.0):
            free[count] = t
            count += 1
    return free[:count]


@numba.njit(cache=True, nogil=True)
def largest(values: Vector, count: int) -> Indices:
    """Return the indices of the `count` largest values, of those that are not −∞, in one pass."""
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
def _gap_at(f: Vector, z: Vector, terms: Terms, b: Vector, slope: Vector) -> float:
    """Return the gap at multipliers `b`, and write its derivative by each of them to `slope`.

    Σ max over zᵢ' in the box of (uᵢ − b)(zᵢ' − zᵢ) − tubeᵢ(|zᵢ'| − |zᵢ|), taken at a bound or 0.
    """
    q, tube, lo, hi, groups = terms
    gap = 0.0
    for group in range(slope.size):
        slope[group] = 0.0
    for t in range(z.size):
        if lo[t] == -np.inf or hi[t] == np.inf:
            return np.inf
        u = -(f[t] + q[t]) - b[groups[t]]
        end = hi[t] if u > 0.0 else lo[t]
        if tube[t] > 0.0 and abs(u) <= tube[t]:  # the point of the box nearest to 0
            end = lo[t] if lo[t] > 0.0 else (hi[t] if hi[t] < 0.0 else 0.0)
        gap += u * (end - z[t]) - tube[t] * (abs(end) - abs(z[t]))
        slope[groups[t]] += z[t] - end
    return gap


def _least_gap(f: Vector, z: Vector, terms: Terms, b: Vector, width: float, enough: float) -> float:
    """Return the least gap at multipliers within `width`/2 of b, found by bisection.

    The gap is convex: its tangents tell where none is at most `enough`, or a hundredth less.
    """
    low, high, slope = b - 0.5 * width, b + 0.5 * width, np.empty(b.size)
    least = np.inf
    for _ in range(10 if width > 0.0 else 1):  # to a thousandth of the interval
        middle = 0.5 * (low + high)
        gap = _gap_at(f, z, terms, middle, slope)
        least = min(least, gap)
        if gap - 0.5 * float(np.abs(slope) @ (high - low)) > min(enough, 0.99 * least):
            break
        low, high = np.where(slope > 0.0, low, middle), np.where(slope > 0.0, middle, high)
    return least


def relative_gap(
    v: Variables, z: Vector, f: Vector, constant: float = 0.0, rounding: float = 0.0,
    terms: Terms | None = None, enough: float = np.inf,
) -> float:  # fmt: skip
    """Return the gap and its rounding relative to the dual objective; inf where a bound is infinite.

    At the best multipliers between those of the most violating pair, or only roughly where it is over
    `enough`. Of some variables, all others held, where their terms are given.
    """
    terms = v.terms if terms is None else terms
    count = int(terms.groups.max()) + 1
    up, down = slopes(f, z, terms)
    b, violation = multipliers(up, down, terms.groups, count)
    # where Σz = 0, a multiplier in the costs takes away what large targets have in common; it is not 0
    # where variables have centres, which have left a constant
    costs = terms.q if constant or v.form.delta.any() else terms.q + b[terms.groups]
    dual = abs(float((0.5 * f * z + costs * z + terms.tube * np.abs(z)).sum()) + constant)
    gap = _least_gap(f, z, terms, b, violation if count else 0.0, enough * dual)
    return (gap + rounding) / dual if np.isfinite(gap) and dual > 0 else np.inf
