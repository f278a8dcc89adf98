"""Platt's SMO: a random KKT violator, and the partner that promises the largest step.

    min ½xᵀQx + pᵀx  s.t. aᵀx = delta, 0 ≤ x ≤ ub,   every aᵢ = ±1

After L. Minku, "Support Vector Machines: Sequential Minimal Optimisation" (lecture notes): the first
index is drawn at random, alternately among all that violate the KKT conditions by more than tol and
among the violators with 0 < xᵢ < C; the second has the largest |Eᵢ − Eⱼ| among those that the bounds
let move (in the notes: the largest change of xⱼ). If the objective does not improve, each 0 < xⱼ < C
is tried in turn, then all others, then another first index. In the form's symbols the multipliers are
xᵢ, the labels yᵢ are aᵢ, C is ub, and the error Eᵢ = h(xᵢ) − yᵢ is aᵢgᵢ + b with the gradient
g = Qx + p; so the algorithm also covers the hard margin and regression. Bias and the case of no
curvature are Platt's (1998, sections 12.2.1 and 12.2.3).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from dualgap.problems.box import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.kernels import Block
from dualgap.solvers.base import ENTRIES_PER_YIELD, Solver
from dualgap.solvers.needs import TEXTBOOK_PAIRS
from dualgap.solvers.numerics.claims import has_small_gap
from dualgap.solvers.simplified_smo import bias, limits, partner


@dataclass(frozen=True)
class PlattSMO(Solver):
    """SMO with Platt's two heuristics for the pair and a cache of all errors.

    It claims "optimal" when, for some b, no sample violates the KKT conditions by more than tol: none
    with xᵢ < Cᵢ has aᵢEᵢ < −tol, none with xᵢ > 0 has aᵢEᵢ > tol. Then the gap is at most tol·ΣCᵢ
    and the maximal violating pair at most 2·tol; for the hard margin every margin is at least
    1 − tol. It claims "stopped" if the relative gap is nevertheless above 1e-2, as for a huge C, and if
    no pair with a violator improves the objective.

    Attributes
    ----------
    tol : margin of the KKT conditions.
    max_iter : pair steps after which it stops without a claim.
    seed : for drawing the first indices.
    """

    tol: float | None = None
    max_iter: int = 1_000_000
    seed: int = 0

    form: ClassVar = BoxQP
    needs: ClassVar = TEXTBOOK_PAIRS
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Platt 1998; Minku, lecture notes on SMO"

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each block of steps."""
        Q, t, C, x = form.Q.dense(), np.array(form.a), form.ub.copy(), form.first_point()
        draws = np.random.default_rng(self.seed)
        block = max(1, ENTRIES_PER_YIELD // form.n)
        errors = t * (Q @ x + form.p)  # E without b
        b, is_central, steps = _central_bias(t, C, x, errors), True, 0
        claim: Claim = "none"
        while claim == "none":
            size = min(block, self.max_iter - steps)
            E = errors + b
            count, change, exhausted = _steps(Q, t, C, x, E, self.tolerance, size, draws)
            errors = t * (Q @ x + form.p)  # from scratch: rounding errors accumulate in the cache
            steps, b = steps + count, b + change
            stuck = exhausted and is_central and count == 0
            is_central = exhausted
            if exhausted:
                b = _central_bias(t, C, x, errors)
            optimal = _violators(t, C, x, errors + b, self.tolerance, False).size == 0
            if optimal:  # for a huge C, small violations do not imply a small gap
                claim = "optimal" if has_small_gap(form, x, t * errors) else "stopped"
            elif stuck or steps >= self.max_iter:
                claim = "stopped"
            yield FormPoint(x.copy(), iterations=steps, claim=claim)


def _central_bias(t: Vector, C: Vector, x: Vector, errors: Vector) -> float:
    """Return the b that minimises the largest violation.

    If no multiplier is inside its box, b is determined only up to an interval, and the average for the
    last pair may show violators that no pair can improve.
    """
    must_rise = np.where(t > 0, x < C, x > 0)  # violated by a negative error
    must_fall = np.where(t > 0, x > 0, x < C)
    lowest = -errors[must_rise].min(initial=np.inf)
    highest = -errors[must_fall].max(initial=-np.inf)
    return middle(float(lowest), float(highest))


@numba.njit(cache=True)
def _steps(
    Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, tol: float, max_steps: int,
    draws: np.random.Generator,
) -> tuple[int, float, bool]:  # fmt: skip
    """Change pairs in place; return the steps, the change of b, and whether no pair improves."""
    change_of_b, inside_only = 0.0, False
    for step in range(max_steps):
        i, j, new_j = _choose_pair(Q, t, C, x, E, tol, inside_only, draws)
        if i < 0 and inside_only:
            i, j, new_j = _choose_pair(Q, t, C, x, E, tol, False, draws)
        if i < 0:
            return step, change_of_b, True
        new_i = partner(x[i], x[j], new_j, C[i], t[i], t[j])
        change_i, change_j = new_i - x[i], new_j - x[j]
        b = bias(Q, t, C, i, j, change_i, change_j, new_i, new_j, E[i], E[j], 0.0)
        for k in range(x.size):
            E[k] += t[k] * (Q[i, k] * change_i + Q[j, k] * change_j) + b
        x[i], x[j] = new_i, new_j
        change_of_b += b
        inside_only = not inside_only
    return max_steps, change_of_b, False


@numba.njit(cache=True)
def _choose_pair(
    Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, tol: float, inside_only: bool,
    draws: np.random.Generator,
) -> tuple[int, int, float]:  # fmt: skip
    """Return a pair and the new xⱼ; i = −1 if no pair with a violator improves."""
    violators = _violators(t, C, x, E, tol, inside_only)
    for remaining in range(violators.size, 0, -1):
        position = int(draws.random() * remaining)
        i = violators[position]
        violators[position] = violators[remaining - 1]
        j, new_j = _choose_partner(Q, t, C, x, E, i)
        if j >= 0:
            return i, j, new_j
    return -1, -1, 0.0


@numba.njit(cache=True)
def _violators(
    t: Vector, C: Vector, x: Vector, E: Vector, tol: float, inside_only: bool
) -> Indices:
    """Return the samples that violate the KKT conditions by more than tol."""
    violators, count = np.empty(x.size, np.int64), 0
    for i in range(x.size):
        if inside_only and not 0.0 < x[i] < C[i]:
            continue
        if (x[i] < C[i] and t[i] * E[i] < -tol) or (x[i] > 0.0 and t[i] * E[i] > tol):
            violators[count] = i
            count += 1
    return violators[:count]


@numba.njit(cache=True)
def _choose_partner(
    Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, i: int
) -> tuple[int, float]:
    """Return the first partner that improves the objective, and its new value; −1 if none does."""
    n, largest, farthest = x.size, 0.0, -1
    for j in range(n):  # the largest step that the bounds allow
        L, H = limits(x[i], x[j], C[i], C[j], t[i], t[j])
        can_move = x[j] < H if t[j] * (E[i] - E[j]) > 0.0 else x[j] > L
        if can_move and abs(E[i] - E[j]) > largest:
            largest, farthest = abs(E[i] - E[j]), j
    if farthest >= 0:
        new_j = _best_value(Q, t, C, x, E, i, farthest)
        if new_j != x[farthest]:
            return farthest, new_j
    for inside in (True, False):
        for shift in range(1, n):  # from i on, so that no sample always comes first
            j = (i + shift) % n
            if inside == (0.0 < x[j] < C[j]):
                new_j = _best_value(Q, t, C, x, E, i, j)
                if new_j != x[j]:
                    return j, new_j
    return -1, 0.0


@numba.njit(cache=True)
def _best_value(Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, i: int, j: int) -> float:
    """Return the best xⱼ along the pair, or xⱼ itself if that does not improve the objective."""
    zero_rtol = 1e-12  # a smaller curvature or change of xⱼ counts as zero
    L, H = limits(x[i], x[j], C[i], C[j], t[i], t[j])
    slope = t[j] * (E[i] - E[j])
    curvature = Q[i, i] + Q[j, j] - 2.0 * t[i] * t[j] * Q[i, j]
    if curvature > zero_rtol * (Q[i, i] + Q[j, j]):
        new_j = min(max(x[j] + slope / curvature, L), H)
    else:  # linear or concave: the better end
        at_L = (L - x[j]) * (slope - 0.5 * curvature * (L - x[j]))
        at_H = (H - x[j]) * (slope - 0.5 * curvature * (H - x[j]))
        new_j = L if at_L > at_H else H
    change = new_j - x[j]
    gain = change * (slope - 0.5 * curvature * change)
    improves = gain > 0.0 and abs(change) > zero_rtol * (new_j + x[j])
    return new_j if improves and np.isfinite(new_j) else x[j]
