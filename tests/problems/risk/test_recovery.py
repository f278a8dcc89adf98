"""A dual point made from weights alone: tight where the weights are optimal, valid anywhere."""

import numpy as np
import pytest
from tests.small_problems import BINARY

from dualgap.problems import Point, SoftMarginPrimal, certify
from dualgap.solvers import SMO, DualCoordinateDescent, solve

LINEAR = {name: problem for name, problem in BINARY.items() if problem.samples.is_linear}


@pytest.mark.parametrize("problem", LINEAR.values(), ids=LINEAR)
def test_weights_alone_are_certified_where_they_are_optimal_and_bounded_anywhere(problem):
    best = solve(problem, SMO(tol=1e-10))
    certificate = certify(problem, Point(w=best.w))
    assert certificate.bound_source == "recovered from w"
    assert certificate.relative_gap < 1e-8
    for scale in (0.0, 0.5, 3.0):
        w = scale * np.random.default_rng(0).standard_normal(problem.d)
        recovered = certify(problem, Point(w=w))
        assert recovered.dual_objective <= best.certificate.primal_objective * (1 + 1e-12)
        assert recovered.primal_objective >= best.certificate.dual_objective * (1 - 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
def test_weights_of_4000_samples_on_the_margin_are_certified(intercept):
    bits = np.random.default_rng(1).integers(0, 2, (4000, 12)).astype(float)
    y = np.where(bits @ np.linspace(-1, 1, 12) + 0.2 * bits[:, 0] > 0, 1.0, -1.0)
    problem = SoftMarginPrimal(bits, y, 1.0, intercept=intercept)
    best = solve(problem, DualCoordinateDescent(gap=1e-8))
    certificate = certify(problem, Point(w=best.w))
    assert certificate.relative_gap < 1e-4
    assert certificate.dual_objective <= best.certificate.primal_objective
