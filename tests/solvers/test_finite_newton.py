"""Finite Newton: exact after a few steps, whatever the scale of the features."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes

from dualgap.problems import Point, RegularizedERM, certify
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.losses import Hinge, Squared, SquaredEpsilonInsensitive, SquaredHinge
from dualgap.solvers import solve
from dualgap.solvers.finite_newton import FiniteNewton, minimise_squares


def cancer():
    data = load_breast_cancer()
    return data.data, np.where(data.target == 1, 1.0, -1.0)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_it_ends_at_the_optimum_of_unscaled_samples(C):
    X, y = cancer()
    solution = solve(WeightedERM(X, y, C, SquaredHinge()), FiniteNewton())
    assert solution.claimed == "optimal"
    assert solution.iterations < 40
    assert solution.certificate.relative_gap < 1e-10


@pytest.mark.parametrize("loss", [Squared(), SquaredEpsilonInsensitive(5.0)])
def test_it_solves_squared_regression_sparse_as_dense(loss):
    X, y = load_diabetes(return_X_y=True)
    dense = solve(WeightedERM(X, y, 1.0, loss), FiniteNewton())
    sparse = solve(WeightedERM(sp.csr_array(X), y, 1.0, loss), FiniteNewton())
    assert dense.certificate.relative_gap < 1e-12
    np.testing.assert_allclose(sparse.w, dense.w, rtol=1e-8)


def test_equal_weights_make_the_same_problem_as_lam():
    X, y = cancer()
    weighted = WeightedERM(X, y, 2.0, SquaredHinge())
    plain = RegularizedERM(X, y, 1 / (2.0 * y.size), "squared_hinge")
    assert weighted.family_hash == plain.family_hash
    ours, theirs = (solve(p, FiniteNewton()).certificate for p in (weighted, plain))
    np.testing.assert_allclose(ours.primal_objective, theirs.primal_objective, rtol=1e-12)


def test_integer_weights_equal_repeated_samples():
    X, y = cancer()
    times = 1 + np.arange(y.size) % 3
    weighted = solve(WeightedERM(X, y, times.astype(float), SquaredHinge()), FiniteNewton())
    repeated = WeightedERM(X.repeat(times, axis=0), y.repeat(times), 1.0, SquaredHinge())
    np.testing.assert_allclose(weighted.w, solve(repeated, FiniteNewton()).w, atol=1e-10)


def test_losses_with_kinks_are_refused():
    with pytest.raises(ValueError, match="smooth"):
        WeightedERM(*cancer(), 1.0, Hinge())


@pytest.mark.parametrize("loss", [SquaredHinge(), SquaredEpsilonInsensitive(0.1)])
@pytest.mark.parametrize("C", [0.01, 1e4])
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_last_weight_may_be_free(loss, C, free, sparse):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 4)) * [1.0, 100.0, 0.01, 1.0]
    y = np.where(X[:, 0] + rng.standard_normal(50) > 0, 1.0, -1.0)
    features = np.hstack([X, np.ones((50, 1))]) if free else X
    rows = sp.csr_array(features) if sparse else features
    regularised = np.append(np.ones(4), 0.0) if free else np.ones(4)
    of_losses = *loss.ends(y), np.full(50, C / loss.smoothing), regularised
    start = np.zeros(regularised.size)
    w, _, converged = minimise_squares(rows, *of_losses, start, 1e-12, 100)
    assert converged
    problem = WeightedERM(X, y, np.full(50, C), loss, intercept=free)
    assert certify(problem, Point(w=w[:4])).relative_gap < 1e-8
    _, steps, converged = minimise_squares(rows, *of_losses, start, 1e-12, 1)
    assert steps == 1
    assert not converged
