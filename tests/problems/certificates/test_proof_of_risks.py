"""Proven bounds of smooth risks and several classes: against exact optima, as tight as float64's."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    RBF,
    Linear,
    OneVsOne,
    OneVsRest,
    Point,
    Polynomial,
    Precomputed,
    RegularizedERM,
    SoftMarginDual,
    SoftmaxERM,
    certify,
)
from problems.formulations.erm import WeightedERM
from problems.losses import Squared, SquaredEpsilonInsensitive
from solvers import SMO, solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 3))
Y = np.where(X[:, 0] + RNG.standard_normal(30) > 0, 1.0, -1.0)
T = X @ [1.0, -2.0, 0.5] + 2.0 + 0.3 * RNG.standard_normal(30)
CLASSES = np.digitize(T, [1.0, 3.0]).astype(float)
PROBLEMS = {
    "squared hinge": RegularizedERM(X, Y, 0.05, "squared_hinge"),
    "squared hinge, rbf, b": RegularizedERM(X, Y, 0.05, "squared_hinge", RBF(0.5), True),
    "logistic, sparse": RegularizedERM(sp.csr_array(X), Y, 0.05),
    "logistic, polynomial, b": RegularizedERM(X, Y, 0.05, "logistic", Polynomial(2), True),
    "squared, b": RegularizedERM(X, T, 0.05, "squared", intercept=True),
    "squared tube": RegularizedERM(X, T, 0.05, SquaredEpsilonInsensitive(0.2)),
    "weights": WeightedERM(X, Y, RNG.uniform(0.1, 3, 30), intercept=True),
    "softmax": SoftmaxERM(X, CLASSES, 0.05),
    "one-vs-rest": OneVsRest(X, CLASSES, 1.0, RBF(0.5), loss="logistic"),
    "one-vs-one": OneVsOne(X, CLASSES, 1.0, loss="squared_hinge"),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_proven_bounds_are_as_tight_as_float64_ones_to_rounding(problem):
    solution = solve(problem, target_gap=1e-8)
    plain, proven = solution.certificate, certify(problem, solution, rigorous=True)
    size = abs(plain.primal_objective)
    assert proven.bound_source.startswith("proven")
    assert proven.reason == ""
    assert proven.dual_objective <= proven.primal_objective
    for name in ("gap", "primal_objective", "dual_objective"):
        assert getattr(proven, name) == pytest.approx(getattr(plain, name), abs=1e-12 * size)


def test_softmax_of_two_classes_has_the_optimum_of_logistic_regression():
    """With weights ±v the penalty is lam‖v‖² and the scores differ by 2vᵀx."""
    two, one = SoftmaxERM(X, (Y > 0).astype(float), 0.05), RegularizedERM(X, Y, 0.025)
    bounds = [certify(p, solve(p, target_gap=1e-9), rigorous=True) for p in (two, one)]
    low, high = (
        [
            lam * getattr(c, f"{side}_objective")
            for lam, c in zip((0.05, 0.025), bounds, strict=True)
        ]
        for side in ("dual", "primal")
    )
    assert max(low) <= min(high) * (1 + 1e-15)
    assert high[0] == pytest.approx(low[0], rel=1e-8)


def test_softmax_variables_off_the_simplex_are_made_exact_distributions():
    problem = PROBLEMS["softmax"]
    optimum = solve(problem, target_gap=1e-9).certificate.primal_objective
    for alpha in (np.ones((30, 3)), 1e12 * RNG.standard_normal((30, 3)), np.zeros((30, 3))):
        c = certify(problem, Point(alpha), rigorous=True)
        assert c.dual_objective <= optimum * (1 + 1e-8)
        assert optimum <= c.primal_objective * (1 + 1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1, 0.3, 0.7)])
def test_samples_far_from_the_origin_keep_their_bounds(kernel):
    """β sums to 0 but for its rounding, and what gives way for that must not move w."""
    far = X[:, :1] + 1e9
    near = RegularizedERM(far - 1e9, T, 0.05, "squared", kernel, intercept=True)
    alpha = solve(near, target_gap=1e-10).alpha
    proven = certify(replace(near, X=far), Point(alpha), rigorous=True)
    assert proven.relative_gap < 1e-6


class Unstated(Squared):
    """A loss whose value is no formula of operators."""

    def value(self, y, f):
        return np.hypot(1.0, f - y)


def test_a_loss_that_is_no_formula_of_operators_is_refused():
    with pytest.raises(TypeError, match="hypot is not known of numbers with radii"):
        certify(RegularizedERM(X, T, 0.05, Unstated()), Point(w=np.ones(3)))


def test_an_eigenvalue_that_decides_the_gap_calls_no_answer_wrong():
    K = X @ X.T
    problem = SoftMarginDual(np.kron(K, np.ones((4, 4))), np.repeat(Y, 4), 1e14, Precomputed())
    solution = solve(problem, SMO(), max_iter=1000)
    c = certify(problem, Point(np.ones(120)), rigorous=True)
    assert c.resolution > 1
    assert replace(solution, rigorous=True).verdict != "wrong"
