"""Proven bounds of smooth risks and several classes: against exact optima, as tight as float64's."""

import decimal
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from flint import fmpq, fmpq_mat
from hypothesis import given
from hypothesis import strategies as st

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


@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
    offset=st.sampled_from([0.0, 1e9]),
    lam=st.sampled_from([1e-6, 1.0, 1e6]),
    intercept=st.booleans(),
)
def test_ridge_regression_is_enclosed_in_rationals(seed, scale, offset, lam, intercept):
    """K + I/C, with a border of ones for the intercept, gives the exact β; the optimum is yᵀβ/2."""
    rng = np.random.default_rng(seed)
    samples, targets = rng.standard_normal((3, 2)) * scale, rng.standard_normal(3) + offset
    problem = RegularizedERM(samples, targets, lam, "squared", intercept=intercept)
    exact = fmpq_mat([[_rational(v) for v in row] for row in samples.tolist()])
    right = [_rational(t) for t in targets.tolist()]
    system = [[*row, *[fmpq(1)] * intercept] for row in (exact * exact.transpose()).tolist()]
    for i in range(3):
        system[i][i] += 3 * _rational(lam)
    if intercept:
        system.append([fmpq(1)] * 3 + [fmpq(0)])
    solved = fmpq_mat(system).solve(fmpq_mat([[v] for v in [*right, *[fmpq(0)] * intercept]]))
    beta = solved.entries()[:3]
    best = sum((t * b for t, b in zip(right, beta, strict=True)), fmpq(0)) / 2
    for noise in (0.0, 1e-9, 1.0):
        alpha = np.array([float(Fraction(int(b.p), int(b.q))) for b in beta])
        alpha *= 1 + noise * rng.standard_normal(3)
        c = certify(problem, Point(alpha), rigorous=True)
        assert _rational(c.dual_objective) <= best <= _rational(c.primal_objective)


@given(margin=st.sampled_from([1e-3, 0.7, 30.0, 1e4]), lam=st.sampled_from([1e-8, 1e-2, 1.0, 1e4]))
def test_logistic_regression_is_enclosed_in_80_digits(margin, lam):
    """One sample in one dimension: min w²/2 + C·ln(1 + exp(−xw)), its slope's root in decimals."""
    problem = RegularizedERM([[margin]], [1.0], lam)
    with decimal.localcontext(prec=80):
        x, C = Decimal(margin), 1 / Decimal(lam)
        low, high = Decimal(0), C * x
        for _ in range(300):
            w = (low + high) / 2
            odds = (-x * w).exp()
            low, high = (low, w) if w > C * x * odds / (1 + odds) else (w, high)
        best = w * w / 2 + C * (1 + odds).ln()
        slack = best * Decimal("1e-60")
        share = float(C * odds / (1 + odds))
        for point in (Point(np.array([share])), Point(w=np.array([float(w)])), Point(np.zeros(1))):
            c = certify(problem, point, rigorous=True)
            assert Decimal(c.dual_objective) <= best + slack
            assert best - slack <= Decimal(c.primal_objective)


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


def _rational(value):
    return fmpq(*float(value).as_integer_ratio())
