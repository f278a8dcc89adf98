"""Squared losses by Newton's method in one compiled call."""

import numpy as np
import pytest

from problems import Point, certify
from problems.formulations.erm import WeightedERM
from problems.losses import SquaredEpsilonInsensitive, SquaredHinge
from solvers.finite_newton import minimise_squares

RNG = np.random.default_rng(1)
X = RNG.standard_normal((50, 4)) * [1.0, 100.0, 0.01, 1.0]
Y = np.where(X[:, 0] + RNG.standard_normal(50) > 0, 1.0, -1.0)


@pytest.mark.parametrize("loss", [SquaredHinge(), SquaredEpsilonInsensitive(0.1)])
@pytest.mark.parametrize("C", [0.01, 1e4])
@pytest.mark.parametrize("free", [False, True])
def test_the_weights_are_certified_whether_or_not_the_last_is_regularised(loss, C, free):
    features = np.hstack([X, np.ones((50, 1))]) if free else X
    regularised = np.append(np.ones(4), 0.0) if free else np.ones(4)
    ends, c = loss.ends(Y), np.full(50, C / loss.smoothing)
    start = np.zeros(features.shape[1])
    w, _, converged = minimise_squares(features, *ends, c, regularised, start, 1e-12, 100)
    assert converged
    problem = WeightedERM(X, Y, np.full(50, C), loss, intercept=free)
    assert certify(problem, Point(w=w[:4])).relative_gap < 1e-8


def test_too_few_steps_make_no_claim():
    ends, c = SquaredHinge().ends(Y), np.full(50, 1e4)
    _, steps, converged = minimise_squares(X, *ends, c, np.ones(4), np.zeros(4), 1e-12, 1)
    assert steps == 1
    assert not converged
