"""Small dual problems in one compiled call: certified, from any start, whatever the constraints."""

import numpy as np
import pytest

from problems import RBF, Linear, NuSVC, Point, SoftMarginDual, SVRDual, certify
from solvers.smo.small import minimise_small

RNG = np.random.default_rng(3)
X = RNG.standard_normal((80, 5))
Y = np.where(X[:, 0] + RNG.standard_normal(80) > 0, 1.0, -1.0)
TARGETS = X @ [1.0, -2.0, 0.0, 0.5, 0.0] + 3.0 + 0.3 * RNG.standard_normal(80)


def kernel_matrix(kernel, intercept):
    K = kernel.bind(X)(slice(None), slice(None))
    return K if intercept else np.pad(K, (0, 1))


def equality(intercept):
    return np.full(80, 0 if intercept else -1)


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.2), RBF(50.0)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_a_soft_margin_is_certified_and_its_multiplier_is_an_optimal_intercept(
    kernel, intercept, C
):
    lower, upper = np.minimum(C * Y, 0.0), np.maximum(C * Y, 0.0)
    beta = np.zeros(80)
    b, _, violation = minimise_small(
        kernel_matrix(kernel, intercept),
        beta,
        -Y,
        np.zeros(80),
        lower,
        upper,
        equality(intercept),
        1e-3,
        1e-9,
        10**6,
    )
    assert violation <= 1e-9
    certificate = certify(SoftMarginDual(X, Y, C, kernel, intercept), Point(alpha=Y * beta))
    assert certificate.primal_residual < 1e-9
    assert certificate.relative_gap < 1e-7
    if intercept:
        low, high = certificate.b_interval
        assert low - 1e-6 <= b[0] <= high + 1e-6


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_a_tube_is_certified_from_any_feasible_start(intercept, epsilon):
    ends = []
    for start in (np.zeros(80), np.where(np.arange(80) % 2 == 0, 5.0, -5.0)):
        beta, limit = start.copy(), np.full(80, 5.0)
        K, tube = kernel_matrix(RBF(0.2), intercept), np.full(80, epsilon)
        minimise_small(
            K, beta, -TARGETS, tube, -limit, limit, equality(intercept), 1e-3, 1e-9, 10**6
        )
        problem = SVRDual(X, TARGETS, 5.0, epsilon, RBF(0.2), intercept)
        assert certify(problem, Point(alpha=beta)).relative_gap < 1e-7
        ends.append(beta)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)


def test_each_group_keeps_its_sum_and_has_a_multiplier():
    start = np.where(Y > 0, 16.0 / (Y > 0).sum(), -16.0 / (Y < 0).sum())  # Σ of each class ½ν·80
    groups, z = (Y < 0).astype(int), start.copy()
    limits = np.minimum(Y, 0.0), np.maximum(Y, 0.0)
    K, zero = kernel_matrix(RBF(0.2), True), np.zeros(80)
    offsets, _, violation = minimise_small(K, z, zero, zero, *limits, groups, 1e-3, 1e-9, 10**6)
    assert violation <= 1e-9
    np.testing.assert_allclose(np.bincount(groups, z), [16.0, -16.0], rtol=1e-12)
    certificate = certify(NuSVC(X, Y, 0.4, RBF(0.2)), Point(alpha=Y * z))
    assert certificate.relative_gap < 1e-7
    np.testing.assert_allclose(offsets, certificate.offsets, atol=1e-6)


def test_few_steps_are_a_feasible_beginning():
    beta = np.zeros(80)
    limits = np.minimum(Y, 0.0), np.maximum(Y, 0.0)
    K = kernel_matrix(RBF(0.2), True)
    _, steps, violation = minimise_small(
        K, beta, -Y, np.zeros(80), *limits, equality(True), 1e-3, 1e-9, 7
    )
    assert steps == 7
    assert violation > 1e-3
    assert abs(beta.sum()) < 1e-12
