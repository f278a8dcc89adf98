"""The optimum of a small problem in rationals, by enumeration of active sets.

Each loss costs nothing on an interval and is linear or quadratic on either side of it. At the optimum
−βᵢ is a slope of Cᵢℓᵢ at fᵢ (Karush, Kuhn and Tucker): either βᵢ is known and fᵢ is within limits, or
fᵢ + rhoᵢβᵢ is known and βᵢ is within limits. A choice of one such state for each sample is an active
set. It is a linear system, and if the solution is within all limits it proves itself: its primal and
its dual objective are equal. An extreme point among the optimal β has an active set whose system is
regular, so that singular ones are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from flint import fmpq, fmpq_mat
from tests.differential.posed import HALF, ONE, ZERO, Group, Posed, State, states


@dataclass(frozen=True)
class Optimum:
    """The optimum is within [lower, upper], and reached at (β, u)."""

    lower: fmpq
    upper: fmpq
    beta: list[fmpq]
    offsets: list[fmpq]


def solved(problem: Posed) -> Optimum | None:
    """Return the optimum, None if no active set is optimal."""
    for chosen in product(*map(states, problem.curves)):
        answer = _solution(problem, chosen)
        if answer is not None:
            return _proven(problem, *answer)
    return None


def largest_dual(problem: Posed) -> Optimum:
    """Return the largest dual objective for any symmetric K, by trying all active sets.

    It is reached where the objective is stationary on a face of the box, and on some smallest one its
    linear system is regular. There is no primal to compare it with.
    """
    best: Optimum | None = None
    for chosen in product(*map(states, problem.curves)):
        point = _stationary(problem, chosen)
        if point is not None:
            value = problem.dual(point[0])
            if best is None or value > best.lower:
                best = Optimum(value, value, point[0], [ZERO] * len(problem.groups))
    assert best is not None, "the dual is feasible"
    reach = sum((max(map(abs, c.limits)) for c in problem.curves), ZERO)
    doubt = HALF * problem.error * reach * reach
    return replace(best, lower=best.lower - doubt, upper=best.upper + doubt)


def _proven(problem: Posed, beta: list[fmpq], offsets: list[fmpq]) -> Optimum | None:
    """Return what equal objectives prove, also where kernel values have an error; perhaps nothing."""
    dual = problem.dual(beta)
    scores = problem.scores(beta)
    primal = problem.primal(problem.norm2(beta), scores, offsets)
    assert primal == dual, "an active set that is optimal has equal objectives"
    if problem.error == 0:
        return Optimum(dual, primal, beta, offsets)
    size = problem.mass(beta)
    quadratic, distance = HALF * problem.error * size * size, problem.error * size
    if problem.is_hard and distance >= 1:
        return None
    if problem.is_hard:  # stretched to a margin of one
        upper = (primal + quadratic) / (1 - distance) ** 2
    else:
        changes = (c.change(b, distance) for c, b in zip(problem.curves, beta, strict=True))
        upper = primal + quadratic + sum(changes, ZERO)
    return Optimum(dual - quadratic, upper, beta, offsets)


def _solution(problem: Posed, chosen: Sequence[State]) -> tuple[list[fmpq], list[fmpq]] | None:
    """Return (β, u) of an active set if they are within all limits."""
    point = _stationary(problem, chosen)
    if point is None:
        return None
    beta, shifts = point
    scores, offsets = problem.scores(beta), []
    for group, offset in zip(problem.groups, shifts, strict=True):
        chosen_offset = _between(group, chosen, scores) if offset is None else offset
        if chosen_offset is None:
            return None
        offsets.append(chosen_offset)
    for state, f in zip(chosen, problem.shifted(scores, offsets), strict=True):
        if not state.free and not _within(f, state.low, state.high):
            return None
    return beta, offsets


def _stationary(
    problem: Posed, chosen: Sequence[State]
) -> tuple[list[fmpq], list[fmpq | None]] | None:
    """Return β and u of an active set if β is feasible; u is None for groups with no free sample."""
    beta = [ZERO if state.free else state.target for state in chosen]
    free = [i for i, state in enumerate(chosen) if state.free]
    fixed = problem.scores(beta)
    bound = [g for g in problem.groups if any(chosen[i].free for i in g.members)]
    if free:
        rows = [
            [problem.K[i][j] + (chosen[i].rho if i == j else ZERO) for j in free]
            + [ONE if i in g.members else ZERO for g in bound]
            for i in free
        ]
        rows += [
            [ONE if i in g.members else ZERO for i in free] + [ZERO] * len(bound) for g in bound
        ]
        right = [chosen[i].target - fixed[i] for i in free]
        right += [g.cost - sum((beta[i] for i in g.members), ZERO) for g in bound]
        try:
            solution = fmpq_mat(rows).solve(fmpq_mat([[v] for v in right])).entries()
        except ZeroDivisionError:
            return None
        for i, value in zip(free, solution, strict=False):
            if not _within(value, chosen[i].low, chosen[i].high):
                return None
            beta[i] = value
        shifts = dict(zip((g.members for g in bound), solution[len(free) :], strict=True))
    else:
        shifts = {}
    for group in problem.groups:
        if (
            group.members not in shifts
            and sum((beta[i] for i in group.members), ZERO) != group.cost
        ):
            return None
    return beta, [shifts.get(g.members) for g in problem.groups]


def _between(group: Group, chosen: Sequence[State], scores: Sequence[fmpq]) -> fmpq | None:
    """Return an offset within the limits of all samples of a group, none of which is free."""
    lows = [chosen[i].low - scores[i] for i in group.members if chosen[i].low is not None]
    highs = [chosen[i].high - scores[i] for i in group.members if chosen[i].high is not None]
    if lows and highs:
        return (max(lows) + min(highs)) / 2 if max(lows) <= min(highs) else None
    return max(lows) if lows else min(highs) if highs else ZERO


def _within(value: fmpq, low: fmpq | None, high: fmpq | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
