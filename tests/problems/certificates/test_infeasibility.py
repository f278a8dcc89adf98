"""Exact proofs that no hyperplane separates: found where there is one, never where there is none."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq
from sklearn.datasets import load_breast_cancer

from dualgap.problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    Linear,
    Point,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    certify,
)
from dualgap.problems.certificates.infeasibility import Proof, prove_infeasible
from dualgap.solvers import solve

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR_LABELS = np.array([1.0, 1.0, -1.0, -1.0])


def two_gaussians(n, d, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((n, d))
    X[:, 0] += shift * y
    return X, y


def standardised(X):
    return (X - X.mean(0)) / X.std(0)


def collinear():
    X, y = two_gaussians(300, 4, 0.5)
    mixed = X @ np.random.default_rng(1).standard_normal(4) * 1e5 + 7
    return np.column_stack(
        [X, np.full(300, 3.3), 2 * X[:, 0] + 0.7 * X[:, 1], X[:, 2] / 3, mixed]
    ), y


def integers():
    rng = np.random.default_rng(2)
    X = np.unique(rng.integers(0, 5, (200, 4)), axis=0).astype(float)
    return np.column_stack([X, X[:, 0] + X[:, 1]]), rng.choice([-1.0, 1.0], len(X))


def flipped_breast_cancer():
    X, target = load_breast_cancer(return_X_y=True)
    y = np.where(target == 1, 1.0, -1.0)
    y[np.random.default_rng(3).permutation(y.size)[:30]] *= -1
    return standardised(X), y


def four_gaussians():
    rng = np.random.default_rng(4)
    X = np.repeat(4 * XOR - 2, 50, axis=0) + 0.5 * rng.standard_normal((200, 2))
    return X, np.repeat(XOR_LABELS, 50)


X2, Y2 = two_gaussians(400, 2, 0.3)
INFEASIBLE = {
    "overlapping in the plane": HardMarginDual(*two_gaussians(2000, 2)),
    "overlapping in 30 dimensions": HardMarginDual(*two_gaussians(1000, 30)),
    "without intercept": HardMarginDual(*two_gaussians(300, 5), intercept=False),
    "real data, flipped labels": HardMarginPrimal(*flipped_breast_cancer()),
    "constant and collinear columns": HardMarginDual(*collinear()),
    "collinear up to rounding": HardMarginDual(
        standardised(np.delete(collinear()[0], 4, axis=1)), collinear()[1]
    ),
    "whole numbers": HardMarginDual(*integers()),
    "standardised whole numbers": HardMarginDual(standardised(integers()[0]), integers()[1]),
    "duplicates": HardMarginDual(np.tile(integers()[0], (2, 1)), np.tile(integers()[1], 2)),
    "quadratic": HardMarginDual(X2, Y2, Polynomial(2)),
    "cubic, far from 0": HardMarginDual(X2 + 100, Y2, Polynomial(3)),
    "homogeneous cubic": HardMarginDual(X2, Y2, Polynomial(3, coef0=0.0), intercept=False),
    "sum of kernels": HardMarginDual(X2, Y2, Linear() + 2 * (Linear() * Linear())),
    "exclusive or": HardMarginDual(XOR, XOR_LABELS),
    "exclusive or, inexact decimals": HardMarginDual(0.1 * XOR + 0.3, XOR_LABELS),
    "four Gaussians": HardMarginDual(*four_gaussians()),
    "scales of 1e-8 and 1e8": HardMarginDual(
        four_gaussians()[0] * [1e-8, 1e8], four_gaussians()[1]
    ),
    "sparse": HardMarginDual(sp.csr_array(np.maximum(X2, 0.0)), Y2),
    "a sample at the origin": HardMarginDual([[0.0, 0.0], [1.0, 2.0]], [1, 1], intercept=False),
    "duplicates under RBF": HardMarginDual(
        [[1.0, 0.0], [1.0, -0.0], [3.0, 4.0]], [1, -1, 1], RBF(1.0)
    ),
    "sparse duplicates": HardMarginDual(sp.csr_array([[0.0, 2.0], [0.0, 2.0]]), [1, -1], RBF(1.0)),
    "duplicates in a Gram matrix": HardMarginDual(
        [[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 2.0]], [1, -1, 1], Precomputed()
    ),
}
UNPROVEN = {
    "separable": HardMarginDual(*two_gaussians(200, 5, 20.0)),
    "barely separable": HardMarginDual([[0.0], [1.0], [1 + 2e-16], [2.0]], [1, 1, -1, -1]),
    "on a line but for rounding": HardMarginDual([[0.1, 0.3], [0.3, 0.9], [0.2, 0.6]], [1, 1, -1]),
    "one class": HardMarginDual(X2, np.ones(400)),
    "RBF without duplicates": HardMarginDual(X2, Y2, RBF(1.0)),
    "exclusive or, quadratic": HardMarginDual(XOR, XOR_LABELS, Polynomial(2)),
    "soft margin": SoftMarginDual(XOR, XOR_LABELS),
    "equal samples with equal labels": HardMarginDual([[1.0], [1.0], [2.0]], [1, 1, -1], RBF(1.0)),
    "more monomials than are tried": HardMarginDual(np.tile(X2, 20), Y2, Polynomial(4)),
}


@pytest.mark.parametrize("problem", INFEASIBLE.values(), ids=INFEASIBLE)
def test_the_weights_hold_exactly(problem):
    proof = prove_infeasible(problem.risk)
    assert proof is not None
    assert proof.check(problem.risk)
    if problem.samples.is_linear:  # once more in Python's own fractions
        X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
        weights = [Fraction(int(w.p), int(w.q)) for w in proof.weights]
        assert sum(weights) == 1
        assert min(weights) > 0
        signed = [int(problem.y[i]) * w for i, w in zip(proof.indices, weights, strict=True)]
        for column in [*X.T, *([np.ones(problem.n)] if problem.intercept else [])]:
            values = [Fraction(float(column[i])) for i in proof.indices]
            assert sum(s * v for s, v in zip(signed, values, strict=True)) == 0


@pytest.mark.parametrize("problem", UNPROVEN.values(), ids=UNPROVEN)
def test_an_unprovable_problem_has_no_proof(problem):
    assert prove_infeasible(problem.risk) is None


def test_a_vertex_of_a_linear_program_has_at_most_d_plus_2_samples():
    proof = prove_infeasible(INFEASIBLE["overlapping in 30 dimensions"].risk)
    assert len(proof.indices) <= 32


def test_a_proof_is_computed_once_and_cached_by_its_problem():
    problem = HardMarginDual(XOR, XOR_LABELS)
    assert prove_infeasible(problem.risk) is prove_infeasible(problem.risk)


@pytest.mark.parametrize(
    "change",
    [
        {"weights": (fmpq(1, 4), fmpq(1, 4), fmpq(1, 4), fmpq(1, 3))},
        {"weights": (fmpq(1, 2), fmpq(1, 4), fmpq(1, 8), fmpq(1, 8))},
        {"weights": (fmpq(3, 4), fmpq(-1, 4), fmpq(1, 4), fmpq(1, 4))},
        {"indices": (0, 1, 2), "weights": (fmpq(1, 4), fmpq(1, 4), fmpq(1, 2))},
    ],
)
def test_altered_weights_are_no_proof(change):
    problem = HardMarginDual(XOR, XOR_LABELS)
    proof = Proof((0, 1, 2, 3), (fmpq(1, 4),) * 4)
    assert proof.check(problem.risk)
    assert not replace(proof, **change).check(problem.risk)


def test_a_proof_without_intercept_does_not_hold_with_one():
    without = HardMarginDual([[1.0], [2.0]], [1, -1], intercept=False)
    proof = prove_infeasible(without.risk)
    assert proof.check(without.risk)
    assert not proof.check(HardMarginDual(without.X, without.y).risk)


def test_a_proof_for_a_linear_kernel_does_not_hold_for_an_infinite_feature_map():
    proof = prove_infeasible(HardMarginDual(XOR, XOR_LABELS).risk)
    assert not proof.check(HardMarginDual(XOR, XOR_LABELS, RBF(1.0)).risk)
    assert not proof.check(HardMarginDual(XOR, XOR_LABELS, Polynomial(2)).risk)


def test_equal_rows_of_a_gram_matrix_must_be_one_sample():
    K = np.array([[1.0, 1.0 + 1e-12], [1.0, 1.0 + 1e-12]])  # symmetric up to rounding only
    assert prove_infeasible(HardMarginDual(K, [1, -1], Precomputed()).risk) is None


def test_duplicates_under_an_indefinite_kernel_are_still_inseparable():
    problem = HardMarginDual([[1.0], [1.0]], [1, -1], Sigmoid(1.0, -3.0))
    assert prove_infeasible(problem.risk) is not None


@pytest.mark.parametrize(
    "name", ["exclusive or", "four Gaussians", "duplicates under RBF", "quadratic"]
)
def test_solve_reports_a_proven_infeasible_problem(name):
    solution = solve(INFEASIBLE[name], max_iter=10_000)
    assert (solution.status, solution.verdict) == ("infeasible", "infeasible")
    certificate = solution.certificate
    assert certificate.primal_objective == certificate.dual_objective == np.inf
    assert np.isnan(certificate.gap)


def test_a_point_on_the_wrong_side_of_separable_data_is_not_called_infeasible():
    problem = UNPROVEN["separable"]
    certificate = certify(problem, Point(w=np.array([-1.0, 0, 0, 0, 0])))
    assert not certificate.infeasible
    assert certificate.reason
