"""What an answer means for the samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import (
    RBF,
    HardMarginDual,
    Linear,
    Point,
    Precomputed,
    SoftMarginDual,
    SVRDual,
    certify,
    describe,
)
from dualgap.solvers import solve

# The widest strip between (±2, ·) is |x₁| ≤ 2: w = (½, 0), b = 0, margin 4.
X = np.array([[2.0, 0.0], [2.0, 4.0], [5.0, 1.0], [-2.0, 2.0], [-6.0, 0.0]])
Y = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
rng = np.random.default_rng(0)
CLOUD = rng.standard_normal((40, 2))
LABELS = np.where(CLOUD[:, 0] + 0.5 * rng.standard_normal(40) > 0, 1.0, -1.0)


def test_the_hard_margin_by_hand():
    geometry = solve(HardMarginDual(X, Y), target_gap=1e-10).geometry
    assert geometry.norm == pytest.approx(0.5)
    assert geometry.margin == pytest.approx(4.0)
    np.testing.assert_allclose(geometry.decision, [1.0, 1.0, 2.5, -1.0, -3.0], atol=1e-7)
    np.testing.assert_allclose(geometry.distances, [2.0, 2.0, 5.0, 2.0, 6.0], rtol=1e-6)
    np.testing.assert_allclose(geometry.slacks, 0.0, atol=1e-7)
    assert set(geometry.support) <= {0, 1, 3}
    assert "bounded" not in geometry.kinds


def test_kinds_follow_the_multipliers():
    problem = SoftMarginDual(X, Y, 1.0)
    alpha = np.array([1.0, 0.0, 1e-12, 0.5, 0.5 + 1e-12])
    geometry = describe(problem, certify(problem, Point(alpha)))
    assert list(geometry.kinds) == ["bounded", "zero", "zero", "free", "free"]
    np.testing.assert_array_equal(geometry.support, [0, 3, 4])


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=["linear", "rbf"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_predictions_of_the_training_samples_are_their_decisions(kernel, sparse):
    samples = sp.csr_array(CLOUD) if sparse else CLOUD
    geometry = solve(SoftMarginDual(samples, LABELS, 1.0, kernel)).geometry
    np.testing.assert_allclose(geometry.decision_function(samples), geometry.decision, atol=1e-10)
    np.testing.assert_allclose(geometry.decision_function(CLOUD), geometry.decision, atol=1e-10)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=["linear", "rbf"])
def test_at_the_optimum_multipliers_and_margins_agree(kernel):
    problem = SoftMarginDual(CLOUD, LABELS, 1.0, kernel)
    solution = solve(problem, target_gap=1e-10)
    geometry, margins = solution.geometry, LABELS * solution.geometry.decision
    np.testing.assert_allclose(margins[geometry.kinds == "free"], 1.0, atol=1e-4)
    assert (margins[geometry.kinds == "zero"] > 1 - 1e-4).all()
    assert (margins[geometry.kinds == "bounded"] < 1 + 1e-4).all()
    primal = 0.5 * geometry.norm**2 + geometry.slacks.sum()
    assert primal == pytest.approx(solution.certificate.primal_objective)


def test_free_support_vectors_of_a_regression_lie_on_the_tube():
    target = CLOUD[:, 0] + 0.1 * rng.standard_normal(40)
    solution = solve(SVRDual(CLOUD, target, 1.0, 0.1), target_gap=1e-10)
    geometry = solution.geometry
    assert (geometry.kinds == "free").any()
    np.testing.assert_allclose(np.abs(geometry.distances[geometry.kinds == "free"]), 0.1, atol=1e-4)
    np.testing.assert_allclose(geometry.distances, geometry.decision - target)


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0), RBF(1e6)])
def test_no_support_vector_predicts_the_intercept(kernel):
    problem = SoftMarginDual(CLOUD, np.ones(40), 1.0, kernel)
    geometry = describe(problem, certify(problem, Point(np.zeros(40))))
    assert geometry.margin == np.inf
    assert geometry.support.size == 0
    np.testing.assert_allclose(geometry.decision_function(CLOUD), geometry.point.b)


def test_a_precomputed_kernel_predicts_from_kernel_values():
    kernel, new = RBF(0.5), rng.standard_normal((6, 2))
    ours = solve(SoftMarginDual(CLOUD, LABELS, 1.0, kernel), target_gap=1e-10)
    K = kernel(CLOUD, CLOUD)
    theirs = solve(SoftMarginDual((K + K.T) / 2, LABELS, 1.0, Precomputed()), target_gap=1e-10)
    expected = ours.decision_function(new)
    np.testing.assert_allclose(theirs.decision_function(kernel(new, CLOUD)), expected, atol=1e-4)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5), 2 * Linear()])
def test_samples_with_other_features_are_refused(kernel):
    problem = SoftMarginDual(CLOUD, LABELS, 1.0, kernel)
    geometry = describe(problem, certify(problem, Point(np.full(40, 0.5))))
    with pytest.raises(ValueError, match="X: has 3 features, the problem has 2"):
        geometry.decision_function(np.ones((4, 3)))
    with pytest.raises(ValueError, match="X: expected a matrix"):
        geometry.decision_function(np.ones(2))


def test_prediction_without_an_answer_raises():
    problem = SoftMarginDual(CLOUD, LABELS, 1.0, RBF(1.0))
    geometry = describe(problem, certify(problem, Point()))
    with pytest.raises(ValueError, match="there is no answer"):
        geometry.decision_function(CLOUD)
