"""The optimum of a small problem in rationals, by enumeration of active sets.

Each loss costs nothing on an interval and is linear or quadratic on either side of it. At the optimum
−βᵢ is a slope of Cᵢℓᵢ at fᵢ (Karush, Kuhn and Tucker): either βᵢ is known and fᵢ is within limits, or
fᵢ + rhoᵢβᵢ is known and βᵢ is within limits. A choice of one such state for each sample is an active
set. It is a linear system, and if the solution is within all limits it proves itself: its primal and
its dual objective are equal. float64 only says in which order they are tried. An extreme point among
the optimal β has an active set whose system is regular, so that singular ones are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flint import fmpq, fmpq_mat

from tests.differential.posed import HALF, ONE, ZERO, Group, Posed, State, states
from tests.differential.ranking import ranked


@dataclass(frozen=True)
class Optimum:
    """The optimum is within [lower, upper], and reached at (β, u); None where no point is feasible."""

    lower: fmpq | None
    upper: fmpq | None
    beta: list[fmpq]
    offsets: list[fmpq]

    @property
    def is_infeasible(self) -> bool:
        """Whether no point is feasible."""
        return self.lower is None


def solved(problem: Posed) -> Optimum | None:
    """Return the optimum, None if no active set is optimal."""
    choices = [states(curve) for curve in problem.curves]
    for chosen in ranked(problem, choices):
        answer = _solution(problem, chosen)
        if answer is not None:
            return _proven(problem, *answer)
    return None


def _proven(problem: Posed, beta: list[fmpq], offsets: list[fmpq]) -> Optimum:
    """Return what equal objectives prove, also where kernel values have an error."""
    dual = problem.dual(beta)
    scores = problem.scores(beta)
    primal = problem.primal(problem.norm2(beta), scores, offsets)
    assert primal == dual, "an active set that is optimal has equal objectives"
    if problem.error == 0:
        return Optimum(dual, primal, beta, offsets)
    size = sum(map(abs, beta), ZERO)
    quadratic, distance = HALF * problem.error * size * size, problem.error * size
    if any(None in (c.below, c.above) for c in problem.curves):  # stretched to a margin of one
        upper = (primal + quadratic) / (1 - distance) ** 2
    else:
        changes = (c.change(b, distance) for c, b in zip(problem.curves, beta, strict=True))
        upper = primal + quadratic + sum(changes, ZERO)
    return Optimum(dual - quadratic, upper, beta, offsets)


def _solution(problem: Posed, chosen: Sequence[State]) -> tuple[list[fmpq], list[fmpq]] | None:
    """Return (β, u) of an active set if they are within all limits."""
    beta = [ZERO if state.free else state.target for state in chosen]
    free = [i for i, state in enumerate(chosen) if state.free]
    fixed = problem.scores(beta)
    bound = [g for g in problem.groups if any(chosen[i].free for i in g.members)]
    size = len(free) + len(bound)
    if size:
        rows = []
        for i in free:
            row = [problem.K[i][j] for j in free] + [ONE if i in g.members else ZERO for g in bound]
            row[len(rows)] += chosen[i].rho
            rows.append(row)
        rows += [
            [ONE if i in g.members else ZERO for i in free] + [ZERO] * len(bound) for g in bound
        ]
        right = [chosen[i].target - fixed[i] for i in free]
        right += [g.cost - sum((beta[i] for i in g.members), ZERO) for g in bound]
        try:
            found = fmpq_mat(rows).solve(fmpq_mat([[v] for v in right])).entries()
        except ZeroDivisionError:
            return None
        for i, value in zip(free, found, strict=False):
            if not _within(value, chosen[i].low, chosen[i].high):
                return None
            beta[i] = value
        shifts = dict(zip((g.members for g in bound), found[len(free) :], strict=True))
    else:
        shifts = {}
    scores, offsets = problem.scores(beta), []
    for group in problem.groups:
        offset = shifts.get(group.members)
        if offset is None:
            offset = _between(group, chosen, scores)
            if offset is None or sum((beta[i] for i in group.members), ZERO) != group.cost:
                return None
        offsets.append(offset)
        for i in group.members:
            scores[i] += offset
    for state, f in zip(chosen, scores, strict=True):
        if not state.free and not _within(f, state.low, state.high):
            return None
    return beta, offsets


def _between(group: Group, chosen: Sequence[State], scores: Sequence[fmpq]) -> fmpq | None:
    """Return an offset within the limits of all samples of a group, none of which is free."""
    lows = [chosen[i].low - scores[i] for i in group.members if chosen[i].low is not None]
    highs = [chosen[i].high - scores[i] for i in group.members if chosen[i].high is not None]
    if lows and highs:
        return (max(lows) + min(highs)) / 2 if max(lows) <= min(highs) else None
    return max(lows) if lows else min(highs) if highs else ZERO


def _within(value: fmpq, low: fmpq | None, high: fmpq | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)
