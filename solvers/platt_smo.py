"""Platt's SMO: a random KKT violator, and the partner that promises the largest step.

    min ½xᵀQx + pᵀx  s.t. aᵀx = delta, 0 ≤ x ≤ ub,   every aᵢ = ±1

After L. Minku, "Support Vector Machines: Sequential Minimal Optimisation" (lecture notes): the first
index is drawn at random, alternately among all that violate the KKT conditions by more than tol and
among the violators with 0 < xᵢ < C; the second is the one with the largest |Eᵢ − Eⱼ| (of those that
the bounds let move: the note wants the largest change of xⱼ), then each 0 < xⱼ < C in turn, then all,
until the objective improves; else another first index is drawn. In the form's symbols the
multipliers are xᵢ, the labels yᵢ are aᵢ, C is ub, and the error Eᵢ = h(xᵢ) − yᵢ is aᵢgᵢ + b with the
gradient g = Qx + p; so it is also the algorithm for the hard margin and for regression. Bias and the
case of no curvature are Platt's (1998, sections 12.2.1 and 12.2.3).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from dualgap.problems.box_gap import middle
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.kernels import Block
from dualgap.solvers.base import Solver
from dualgap.solvers.numerics.claims import is_near
from dualgap.solvers.simplified_smo import bias, limits, pair_refusal, partner

_ROUNDING = 1e-12  # relative size below which a curvature or a change of xⱼ is taken for zero
_BLOCK_ENTRIES = 2**19  # samples visited between two yields: about a millisecond


@dataclass(frozen=True)
class PlattSMO(Solver):
    """SMO with Platt's two heuristics for the pair and a cache of all errors.

    It claims "optimal" when, for some b, no sample violates the KKT conditions by more than tol: none
    with xᵢ < Cᵢ has aᵢEᵢ < −tol, none with xᵢ > 0 has aᵢEᵢ > tol. Then the gap is at most tol·ΣCᵢ
    and the maximal violating pair at most 2·tol; for the hard margin every margin is at least
    1 − tol. It claims "stopped" where that leaves a relative gap above 1e-2, as C is huge, and when no
    pair with a violator improves the objective.

    Attributes
    ----------
    tol : margin of the KKT conditions.
    max_iter : changed pairs after which it stops without a claim.
    seed : of the first indices.
    """

    tol: float | None = None
    max_iter: int = 1_000_000
    seed: int = 0

    form: ClassVar = BoxQP
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Platt 1998; Minku, lecture notes on SMO"

    def refuses(self, form: BoxQP) -> str | None:
        """Pairs need the equality, with coefficients ±1, lower bounds 0, and the whole Q."""
        return pair_refusal(form, "PlattSMO")

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each block of steps."""
        Q, t, C, x = form.Q.dense(), np.array(form.a), form.ub.copy(), form.first_point()
        draws = np.random.default_rng(self.seed)
        block = max(1, _BLOCK_ENTRIES // form.n)
        errors = t * (Q @ x + form.p)  # E without b
        b, central, steps = _central_bias(t, C, x, errors), True, 0
        claim: Claim = "none"
        while claim == "none":
            size = min(block, self.max_iter - steps)
            E = errors + b
            taken, change, exhausted = _steps(Q, t, C, x, E, self.tolerance, size, draws)
            errors = t * (Q @ x + form.p)  # afresh: rounding errors gather in the cache
            steps, b = steps + taken, b + change
            stuck = exhausted and central and taken == 0
            central = exhausted
            if exhausted:
                b = _central_bias(t, C, x, errors)
            optimal = _violators(t, C, x, errors + b, self.tolerance, False).size == 0
            if optimal:  # where C is huge, a small violation does not make it so
                claim = "optimal" if is_near(form, x, t * errors) else "stopped"
            elif stuck or steps >= self.max_iter:
                claim = "stopped"
            yield FormPoint(x.copy(), iterations=steps, claim=claim)


def _central_bias(t: Vector, C: Vector, x: Vector, errors: Vector) -> float:
    """Return the b with the smallest largest violation.

    Where no multiplier is inside its box, b is known only within an interval, and the average of the
    last pair's may show violators that no pair can improve.
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
    """Change pairs in place; return their number, the change of b, and whether no pair is left."""
    change_of_b, inside_only = 0.0, False
    for step in range(max_steps):
        i, j, new_j = _choose(Q, t, C, x, E, tol, inside_only, draws)
        if i < 0 and inside_only:
            i, j, new_j = _choose(Q, t, C, x, E, tol, False, draws)
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
def _choose(
    Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, tol: float, inside_only: bool,
    draws: np.random.Generator,
) -> tuple[int, int, float]:  # fmt: skip
    """Return a pair and the new xⱼ; i = −1 if no violator has a partner that improves."""
    violators = _violators(t, C, x, E, tol, inside_only)
    for left in range(violators.size, 0, -1):
        drawn = int(draws.random() * left)
        i = violators[drawn]
        violators[drawn] = violators[left - 1]
        j, new_j = _second(Q, t, C, x, E, i)
        if j >= 0:
            return i, j, new_j
    return -1, -1, 0.0


@numba.njit(cache=True)
def _violators(
    t: Vector, C: Vector, x: Vector, E: Vector, tol: float, inside_only: bool
) -> Indices:
    """Return the samples that violate the KKT conditions by more than tol."""
    found, count = np.empty(x.size, np.int64), 0
    for i in range(x.size):
        if inside_only and not 0.0 < x[i] < C[i]:
            continue
        if (x[i] < C[i] and t[i] * E[i] < -tol) or (x[i] > 0.0 and t[i] * E[i] > tol):
            found[count] = i
            count += 1
    return found[:count]


@numba.njit(cache=True)
def _second(Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, i: int) -> tuple[int, float]:
    """Return the first partner that improves the objective, and its new value; −1 if none does."""
    n, largest, farthest = x.size, 0.0, -1
    for j in range(n):  # the largest step, among those that the bounds allow
        L, H = limits(x[i], x[j], C[i], C[j], t[i], t[j])
        can_move = x[j] < H if t[j] * (E[i] - E[j]) > 0.0 else x[j] > L
        if can_move and abs(E[i] - E[j]) > largest:
            largest, farthest = abs(E[i] - E[j]), j
    if farthest >= 0:
        new_j = _improved(Q, t, C, x, E, i, farthest)
        if new_j != x[farthest]:
            return farthest, new_j
    for inside in (True, False):
        for shift in range(1, n):  # in turn from i on, for no sample to come first always
            j = (i + shift) % n
            if inside == (0.0 < x[j] < C[j]):
                new_j = _improved(Q, t, C, x, E, i, j)
                if new_j != x[j]:
                    return j, new_j
    return -1, 0.0


@numba.njit(cache=True)
def _improved(Q: Block, t: Vector, C: Vector, x: Vector, E: Vector, i: int, j: int) -> float:
    """Return the best xⱼ along the pair, or xⱼ itself if that does not improve the objective."""
    L, H = limits(x[i], x[j], C[i], C[j], t[i], t[j])
    slope = t[j] * (E[i] - E[j])
    curvature = Q[i, i] + Q[j, j] - 2.0 * t[i] * t[j] * Q[i, j]
    if curvature > _ROUNDING * (Q[i, i] + Q[j, j]):
        new_j = min(max(x[j] + slope / curvature, L), H)
    else:  # a line, or a parabola the other way up: the better end
        at_L = (L - x[j]) * (slope - 0.5 * curvature * (L - x[j]))
        at_H = (H - x[j]) * (slope - 0.5 * curvature * (H - x[j]))
        new_j = L if at_L > at_H else H
    change = new_j - x[j]
    gain = change * (slope - 0.5 * curvature * change)
    enough = gain > 0.0 and abs(change) > _ROUNDING * (new_j + x[j])
    return new_j if enough and np.isfinite(new_j) else x[j]
