"""LIBLINEAR: the optimal weights of linear machines without an intercept."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from problems import Formulation, HingeERM
from solvers import SGD, LibLinear, Solution, Solver, Status, solve


def test_liblinear_finds_the_optimal_weights(
    excess: Callable[[Solution], float], linear_problem: Formulation
) -> None:
    solution = solve(linear_problem, LibLinear(tol=1e-7))
    assert solution.claimed == "optimal"
    assert solution.point.alpha is None
    assert abs(excess(solution)) <= 1e-6


def test_liblinear_comes_closer_with_a_smaller_tolerance(
    linear: dict[str, Formulation],
    excess: Callable[[Solution], float],
) -> None:
    for name in ("one C", "regression"):
        errors = [excess(solve(linear[name], LibLinear(tol=tol))) for tol in (1e-1, 1e-3, 1e-6)]
        assert errors[0] > errors[1] > errors[2]


def test_liblinear_at_its_limit_makes_no_claim(linear: dict[str, Formulation]) -> None:
    solution = solve(linear["one C"], LibLinear(tol=1e-12), max_iter=3)
    assert solution.claimed == "stopped"
    assert solution.status is Status.MAX_ITER
    assert solution.iterations == 3


@pytest.mark.parametrize("solver", [LibLinear(tol=0.1), SGD(epochs=3)], ids=lambda s: s.name)
def test_another_seed_gives_another_answer_and_the_same_seed_the_same(
    linear: dict[str, Formulation], solver: Solver
) -> None:
    first, again = (solve(linear["one C"], solver).point.w for _ in range(2))
    other = solve(linear["one C"], type(solver)(**{**vars(solver), "seed": 5})).point.w
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_what_liblinear_cannot_do_is_refused(
    linear: dict[str, Formulation],
    kernel: dict[str, Formulation],
    refused: Callable[[Solver, Formulation], str],
) -> None:
    one_class = HingeERM(linear["one C"].X, np.ones(linear["one C"].n), 0.1)
    assert "no kernels" in refused(LibLinear(), kernel["rbf, a C for each"])
    assert "regularises its intercept" in refused(LibLinear(), kernel["linear"])
    assert "both classes" in refused(LibLinear(), one_class)


def test_an_absent_package_is_named(
    linear: dict[str, Formulation], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.svm", None)
    solution = solve(linear["one C"], LibLinear())
    assert solution.status is Status.NOT_INSTALLED
    assert "pip install scikit-learn" in solution.note
