"""Coordinate descent and Newton steps in one compiled call, for dense samples of few features."""

import numpy as np
import pytest

from dualgap.problems import Point, SoftMarginDual, SVRDual, certify
from dualgap.problems.forms import GroupedTerms
from dualgap.solvers.dual_coordinate_descent.small import minimise_linear

RNG = np.random.default_rng(5)
X = np.vstack(
    [RNG.standard_normal((60, 4)), np.zeros((2, 4)), np.ones((5, 4))]
)  # copies, and zeros
X.flags.writeable = False  # as the samples of a problem, for which it is compiled
Y = np.where(X[:, 0] + RNG.standard_normal(67) > 0, 1.0, -1.0)
TARGETS = X @ [1.0, -2.0, 0.0, 0.5] + 0.3 * RNG.standard_normal(67)


def terms(q, tube, lo, hi):
    return GroupedTerms(q, np.full(67, tube), lo, hi, np.full(67, -1))


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_a_soft_margin_without_intercept_is_certified(C):
    beta, limits = np.zeros(67), (np.minimum(C * Y, 0.0), np.maximum(C * Y, 0.0))
    w, _, violation = minimise_linear(X, beta, terms(-Y, 0.0, *limits), 1e-4, 1e-10, 1000)
    assert violation <= 1e-10
    np.testing.assert_allclose(w, X.T @ beta, atol=1e-9)
    problem = SoftMarginDual(X, Y, C, intercept=False)
    assert certify(problem, Point(alpha=Y * beta, w=w)).relative_gap < 1e-7


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_a_tube_without_intercept_is_certified(epsilon):
    beta, limit = np.zeros(67), np.full(67, 10.0)
    w, _, _ = minimise_linear(X, beta, terms(-TARGETS, epsilon, -limit, limit), 1e-4, 1e-10, 1000)
    problem = SVRDual(X, TARGETS, 10.0, epsilon, intercept=False)
    assert certify(problem, Point(alpha=beta, w=w)).relative_gap < 1e-7


def test_the_number_of_epochs_is_limited():
    beta, limits = np.zeros(67), (np.minimum(100 * Y, 0.0), np.maximum(100 * Y, 0.0))
    _, epochs, violation = minimise_linear(X, beta, terms(-Y, 0.0, *limits), 1e-4, 1e-10, 1)
    assert epochs == 1
    assert violation > 1e-4
