"""A dual point made from weights alone: tight where the weights are optimal, valid anywhere."""

import numpy as np
import pytest

from problems import HingeERM, Point, SoftMarginPrimal, SVRPrimal, certify
from solvers import SMO, DualCoordinateDescent, solve

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(80) < 0.4, 1.0, -1.0)
X = RNG.standard_normal((80, 4)) + 0.5 * Y[:, None]
T = X @ [1.0, 2.0, 0.0, -1.0] + RNG.standard_normal(80)

PROBLEMS = {
    "soft": SoftMarginPrimal(X, Y, 1.0),
    "no intercept": SoftMarginPrimal(X, Y, 1.0, intercept=False),
    "one C each": SoftMarginPrimal(X, Y, RNG.uniform(0.1, 2, 80)),
    "risk": HingeERM(X, Y, 0.05),
    "regression": SVRPrimal(X, T, 1.0, 0.3),
    "regression, no intercept": SVRPrimal(X, T, 1.0, 0.3, intercept=False),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_optimal_weights_alone_are_certified(problem):
    best = solve(problem, SMO(tol=1e-10))
    certificate = certify(problem, Point(w=best.w))
    assert certificate.bound_source == "recovered from w"
    assert certificate.relative_gap < 1e-8


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_bounds_from_any_weights_are_valid(problem):
    best = solve(problem, SMO(tol=1e-10)).certificate
    for scale in (0.0, 0.5, 3.0):
        w = scale * RNG.standard_normal(problem.d)
        certificate = certify(problem, Point(w=w))
        assert certificate.dual_objective <= best.primal_objective * (1 + 1e-12)
        assert certificate.primal_objective >= best.dual_objective * (1 - 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_of_many_samples_on_the_margin_are_certified(intercept):
    bits = np.random.default_rng(1).integers(0, 2, (4000, 12)).astype(float)
    y = np.where(bits @ np.linspace(-1, 1, 12) + 0.2 * bits[:, 0] > 0, 1.0, -1.0)
    problem = SoftMarginPrimal(bits, y, 1.0, intercept=intercept)
    best = solve(problem, DualCoordinateDescent(gap=1e-8))
    certificate = certify(problem, Point(w=best.w))
    assert certificate.relative_gap < 1e-4
    assert certificate.dual_objective <= best.certificate.primal_objective
