"""LIBLINEAR: the optimal weights of linear machines without an intercept."""

import pytest

from problems import Formulation
from solvers import LibLinear, solve
from tests.solvers.external.baseline_problems import LINEAR, excess


@pytest.mark.parametrize("problem", LINEAR.values(), ids=LINEAR)
def test_liblinear_finds_the_optimal_weights(problem: Formulation) -> None:
    solution = solve(problem, LibLinear(tol=1e-7))
    assert solution.claimed == "optimal"
    assert solution.point.alpha is None
    assert abs(excess(solution)) <= 1e-6


def test_liblinear_comes_closer_with_a_smaller_tolerance() -> None:
    for name in ("one C", "regression"):
        errors = [excess(solve(LINEAR[name], LibLinear(tol=tol))) for tol in (1e-1, 1e-3, 1e-6)]
        assert errors[0] > errors[1] > errors[2]
