"""Bounds on the optimum by Fenchel duality, for every formulation with a convex loss.

    −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ)  ≤  optimum  ≤  ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ),    f = Kβ + u_g
for Σ_{i∈g} βᵢ = c_g (Rockafellar 1970, theorem 31.3; Shalev-Shwartz & Zhang 2013), with an offset u_g
for each group of samples and a linear cost c_g of it.

Both sides are written once, and evaluated in an arithmetic A that knows its own rounding: in `Float64`,
or in `Arb`, where they are theorems. An equality holds up to rounding only: one coefficient that has
room is what the others leave of it, so that the lower bound is that of an exactly feasible point.
"""

from collections.abc import Iterable
from math import inf, nextafter
from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.box_gap import middle
from dualgap.problems.dataset import Vector
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.dual_problem.offsets import Interval, root_offsets
from dualgap.problems.dual_problem.recovery import Weights
from dualgap.problems.losses import ScalarLoss

_REACHES = (1e-12, 1e-10, 1e-8)  # too short to excuse weights of a wrong norm
_ROOM = 2.0**-49  # of a coefficient's largest size, that C = 1/(n·lam) may be wrong by
_MOST_MOVED = 32  # coefficients that an equality takes
_FAR, _LEFT = 1e100, 2.0**-40  # a prediction where slopes alone count; what rounding leaves of them


class Float64:
    """Arithmetic of float64 numbers with radii.

    Attributes
    ----------
    array : the class of its arrays.
    worth : of the primal value, that another norm of w has to gain.
    y, C, costs : a problem's targets, weights (1 where there is no bound) and costs of the offsets.
    """

    array = Intervals
    worth = 1e-12

    def __init__(self, problem: DualProblem, y: Any) -> None:
        self.y = y
        self.C: Any = np.where(np.isinf(problem.weight), 1.0, problem.weight)
        self.costs = Intervals(problem.costs)

    def coefficients(self, problem: DualProblem, alpha: Vector) -> Intervals:
        """Return β for `alpha`, within limits but for their rounding."""
        return Intervals(problem.beta(alpha))

    def norm2(self, problem: DualProblem, at: Any, moves: Intervals) -> Intervals:
        """Return a ball around ‖Σ movesᵢφ(xᵢ)‖², by no more than the sum of the lengths."""
        rows = at[0] if isinstance(at, tuple) else at
        length = abs(moves).high @ np.sqrt(problem.kernel.diagonal(problem.X)[rows])
        half = 0.51 * float(length * length)
        return Intervals(half, half)


class Primal(NamedTuple):
    """The primal objective `value` at (scale·w, offsets)."""

    value: Any
    offsets: Any
    scale: float = 1.0


def dual_terms(problem: DualProblem, A: Any, beta: Any, own: Weights) -> tuple[Any, Any]:
    """Return −Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) and ‖Σ βᵢφ(xᵢ)‖² of an exactly feasible point next to β.

    `own` are the weights Σ βᵢφ(xᵢ).

    Raises
    ------
    ArithmeticError
        If no such point is found, or the conjugate is infinite there.
    """
    exact, norm2 = exactly_feasible(problem, A, beta, own)
    if isinstance(problem.loss, ScalarLoss) and not problem.may_be_infeasible:
        _check_domain(problem, exact.mid)
    C = A.C.reshape(-1, *(1 for _ in exact.shape[1:]))
    linear = -(A.C * problem.loss.conjugate(A.y, -(exact / C))).sum()
    size = abs(exact).sum()
    if problem.budget < inf and size.mid:  # the dual is concave, and 0 at 0
        share = 1 - np.maximum(1 - problem.budget / size, 0.0)
        linear, norm2 = share * linear, share * norm2
    return linear, norm2


@np.errstate(all="ignore")
def _check_domain(problem: DualProblem, beta: Vector) -> None:
    """Raise ArithmeticError if s·f − ℓ(y, f) grows without end for s = −β/C: then ℓ*(y, s) is inf."""
    loss, y, s = problem.loss, problem.y, -beta / problem.weight
    conjugate = loss.conjugate(y, s)
    for f in (-_FAR, _FAR):
        value = loss.value(y, np.full(y.size, f))
        outside = value + conjugate - s * f < -_LEFT * (np.abs(value) + np.abs(s * f))
        if outside.any():
            i = int(outside.argmax())
            raise ArithmeticError(
                f"no dual bound: the loss {loss.name} has no slope {s[i]:.3g} at sample {i}; its "
                "dual_range must say between which numbers α/C is"
            )


def exactly_feasible(problem: DualProblem, A: Any, beta: Any, own: Weights) -> tuple[Any, Any]:
    """Return an exactly feasible point next to β, and ‖Σ βᵢφ(xᵢ)‖² of it."""
    # those of a sample add up to 0: the farthest from its upper end has room
    if len(beta.shape) > 1:
        _, high = problem.limits
        at: Any = np.arange(problem.n), (high - beta.mid).argmax(axis=1)
        moves = -beta.sum(axis=1)
    else:
        at, moves = _moves(problem, A, beta)
    if not len(moves) or not abs(moves).high.any():
        return beta, own.norm2
    norm2 = own.norm2 + 2 * (moves * own.scores[at]).sum() + A.norm2(problem, at, moves)
    return beta.replaced(at, beta[at] + moves), norm2


def _moves(problem: DualProblem, A: Any, beta: Any) -> tuple[Any, Any]:
    """Return by how much some coefficients are moved so that each equality holds exactly.

    One of each group, or a few of which all but one come to an end of their interval.
    """
    near, sums = beta.mid.copy(), problem.sums
    low, high = np.sort([problem.beta(end) for end in problem.limits], axis=0)
    ends = np.maximum(np.abs(low), np.abs(high))
    spare = _ROOM * np.where(np.isfinite(ends), ends, 0.0)
    given, moves = beta, dict[int, Any]()
    for own, total in zip(problem.samples_of_groups(sums.size), sums.tolist(), strict=True):
        for _ in range(_MOST_MOVED):
            move = beta[own].lacking(total)
            size = float(abs(move).high)
            if not size:
                break
            below, above = near[own] - low[own], high[own] - near[own]
            room = above if move.mid > 0 else below
            free = np.where(room - spare[own] >= 2 * size, np.minimum(below, above), -1.0)
            if free.max() >= 0:
                j = int(own[free.argmax()])  # which may have come to an end before
                moves[j] = moves[j] + move if j in moves else move
                break
            i = int(own[room.argmax()])
            near[i] = (high if move.mid > 0 else low)[i]
            ended = A.coefficients(problem, problem.alpha(near))
            moves[i] = ended[i] - given[i]
            beta = beta.replaced([i], ended[[i]])
        else:
            raise ArithmeticError("no dual point meets an equality exactly")
    return np.array([*moves], np.intp), A.array.joined([*moves.values()])


def primal_value(problem: DualProblem, A: Any, weights: Weights, offsets: Any) -> Any:
    """Return ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, fᵢ)."""
    value = (A.C * problem.losses(A.y, weights.scores, offsets)).sum() + 0.5 * weights.norm2
    return value + (A.costs * offsets).sum() if problem.costs.any() else value


def best_primal(problem: DualProblem, A: Any, weights: Weights, choices: Iterable[Any]) -> Primal:
    """Return the least objective at some choices of the offsets, and at (s·w, s·u) for s next to 1.

    Where C is huge, a margin that rounding left 1e-13 short of one costs C·1e-13.
    """
    found = [Primal(primal_value(problem, A, weights, own), own) for own in choices]
    best = min(found, key=lambda primal: primal.value.high)
    short = np.empty(0)
    if problem.loss.unit_margin:
        short = (1 - A.y * (weights.scores + problem.shifts(best.offsets))).high
    for reach in _REACHES:
        near = short[(short > 0) & (short < reach)]
        if not near.size:
            continue
        s = nextafter(1 / (1 - float(near.max())), inf)  # takes them to one
        offsets = s * best.offsets
        value = primal_value(problem, A, stretched(weights, s), offsets)
        least = best.value.high
        if value.high < least - A.worth * abs(least):
            best = Primal(value, offsets, s)
    return best


def stretched(weights: Weights, s: float) -> Weights:
    """Return what a bound takes of s·w."""
    return Weights(s * weights.scores, s * (s * weights.norm2))


def corrections(problem: DualProblem, A: Any, scores: Any, offsets: Any = None) -> list[Interval]:
    """Return for each offset all that can best be added to it, found in float64.

    What is left of scores and offsets is rounded once: a correction has its own digits, beyond those of
    the offset. Without `offsets` they are 0.
    """
    if not problem.costs.size:
        return []
    if problem.pieces is None:
        near = scores if offsets is None else scores + problem.shifts(offsets)
        if problem.loss.sees_differences:
            left = (A.y - near).mid
            if not np.isfinite(left).all():
                return [(0.0, 0.0)] * problem.costs.size
            roots = root_offsets(problem, 0.0 * left, left)
        else:
            roots = root_offsets(problem, near.mid)
        return [(b, b) for b in roots]
    pieces, groups = problem.loss.dual_pieces(A.y), problem.box.groups
    added: Any = np.zeros(len(pieces))
    if offsets is not None and groups is None:
        added = [offsets[0]] * len(pieces)
    elif offsets is not None:
        added = np.concatenate([offsets, [0.0]])[groups].reshape(len(pieces), -1)
    residuals = [p.residual(scores + u).mid for p, u in zip(pieces, added, strict=True)]
    return problem.box.multipliers(np.concatenate(residuals))


def middles(intervals: list[Interval]) -> Vector:
    """Return the middle of each interval."""
    return np.array([middle(*interval) for interval in intervals])


def shifted(weights: Weights, beta: Any, delta: float) -> Weights:
    """Return weights Σ βᵢφ(xᵢ) in the feature space of K + δI.

    Where K ⪰ 0 is known up to δ only, with the dual and primal objectives D and P
        D_K(α) = D_{K+δI}(α) + ½δ‖α‖²  ≤  P_{K+δI}(w, u) + ½δ Σ max αᵢ²   for all feasible α,
    so the largest value of the dual of K itself, which is what such a problem asks for, is enclosed.
    """
    more = delta * beta
    return Weights(weights.scores + more, weights.norm2 + (more * beta).sum(), weights.w)
