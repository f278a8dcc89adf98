"""One answer's bounds at other values of C, lam and epsilon hold, and its ball has the optimal w."""

import numpy as np
import pytest

from dualgap.problems import RBF, HingeERM, Point, SoftMarginDual, SVRDual, certify
from dualgap.problems.answers.parametric_bounds import ParametricBounds, with_value
from dualgap.solvers import SMO, solve

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(40) > 0, 1.0, -1.0)
TARGETS = X[:, 0] + 0.3 * RNG.standard_normal(40)
CASES = {
    "C": (SoftMarginDual(X, Y), "C", 1.0),
    "C of a kernel": (SoftMarginDual(X, Y, kernel=RBF(0.3)), "C", 1.0),
    "C of weights": (SoftMarginDual(X, Y, C=RNG.uniform(0.5, 2, 40)), "C", 1.0),
    "lam": (HingeERM(X, Y, 0.1, intercept=True), "lam", 0.1),
    "epsilon": (SVRDual(X, TARGETS, 1.0, 0.2), "epsilon", 0.2),
}


def along(name: str, tol: float = 1e-2) -> ParametricBounds:
    problem, parameter, base_value = CASES[name]
    base = with_value(problem, parameter, base_value)
    alpha = solve(base, SMO(tol=tol)).point.alpha
    return ParametricBounds(
        base, parameter, base_value, certify(base, Point(alpha=alpha), target_gap=np.inf)
    )


def optimum(problem: object) -> object:
    return solve(problem, SMO(tol=1e-12), target_gap=1e-10)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("factor", [1e-3, 0.5, 1.0, 1.1, 30.0])
def test_the_bounds_hold_at_any_value(name: str, factor: float) -> None:
    bound = along(name)
    value = factor * bound.base_value
    at = bound.at(value)
    proven = certify(
        with_value(bound.problem, bound.parameter, value),
        optimum(with_value(bound.problem, bound.parameter, value)),
        rigorous=True,
    )
    assert at.dual_objective <= proven.primal_objective
    assert proven.dual_objective <= at.primal_objective
    if factor == 1.0:
        assert at.gap == pytest.approx(bound.certificate.gap, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ends", [(0.5, 0.9), (0.95, 1.05), (1.5, 4.0)])
def test_the_ball_has_the_optimal_weights(name: str, ends: tuple[float, float]) -> None:
    bound = along(name)
    low, high = (end * bound.base_value for end in ends)
    [(centre, radius)] = bound.balls([low, high])
    K = bound.problem.samples.gram().dense()
    w = centre * bound.problem.risk.beta(bound.certificate.point.alpha)
    for value in (low, 0.5 * (low + high), high):
        best = optimum(with_value(bound.problem, bound.parameter, value))
        error = bound.problem.risk.beta(best.alpha) - w  # type: ignore[attr-defined]
        assert error @ K @ error <= (1 + 1e-6) * radius**2


@pytest.mark.parametrize("name", CASES)
def test_the_interval_of_an_answer_ends_where_its_gap_is_exceeded(name: str) -> None:
    bound = along(name, tol=1e-6)
    for end in (0.3 * bound.base_value, 3.0 * bound.base_value):
        reached = bound.reach(end, 0.01)
        assert bound.relative_gap(reached) <= 0.01
        assert bound.relative_gap(reached + 1e-6 * (end - bound.base_value)) > 0.01
    assert bound.reach(bound.base_value * 1.0001, 0.01) == bound.base_value * 1.0001
