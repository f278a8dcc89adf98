"""Verdicts on convex QPs drawn at random against optima in rationals."""

from itertools import cycle

import pytest
from tests.halves import quick_cases
from tests.problems.quadratic.convex_qps import drawn, optimum, problem_of, rational

from dualgap.solvers import solve
from dualgap.solvers.external.qpsolvers_qp import QPSolversQP

SOLVERS = None, QPSolversQP(backend="clarabel"), QPSolversQP(backend="piqp")


def faults_of(seed, solver):
    """Return what is wrong with a solver's row."""
    kind, arrays = drawn(seed)
    if (arrays["lb"] > arrays["ub"]).any():
        return []
    truth, answer = optimum(arrays), solve(problem_of(arrays), solver)
    name, verdict, c = f"{seed} {kind} {solver}", answer.verdict, answer.certificate
    if not isinstance(truth, tuple):
        return [f"{name}: {verdict} without an optimum"] if verdict in ("solved", "wrong") else []
    value = truth[0]
    if verdict != "solved":
        return [f"{name}: {verdict}, {answer.reason}"]
    held = c.nearby or rational(c.dual_objective) <= value <= rational(c.primal_objective)
    return [] if held else [f"{name}: {value} is out of bounds"]


@pytest.mark.parametrize("first", quick_cases([0, 24], [0]))
def test_verdicts_are_those_of_rational_optima(first):
    seeds = range(first, first + 24)
    assert [f for at in zip(seeds, cycle(SOLVERS), strict=False) for f in faults_of(*at)] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(1000, 1900, 150))
def test_verdicts_of_random_qps_are_those_of_rational_optima(first):
    seeds = range(first, first + 150)
    assert [f for at in zip(seeds, cycle(SOLVERS), strict=False) for f in faults_of(*at)] == []
