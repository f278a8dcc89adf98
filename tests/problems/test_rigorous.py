"""Proven bounds enclose the optimum, and cost little accuracy."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Linear,
    Point,
    Polynomial,
    Precomputed,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
    certify,
)
from solvers import SMO, solve

RNG = np.random.default_rng(0)
Y = np.where(RNG.random(50) < 0.4, 1.0, -1.0)
X = RNG.standard_normal((50, 3)) + 0.7 * Y[:, None]
T = X @ [1.0, -1.0, 0.5] + RNG.standard_normal(50)

PROBLEMS = {
    "soft primal": SoftMarginPrimal(X, Y, 1.0),
    "soft sparse": SoftMarginPrimal(sp.csr_array(X), Y, 1.0, intercept=False),
    "soft one C each": SoftMarginDual(X, Y, RNG.uniform(0.1, 3, 50), RBF(0.4)),
    "soft polynomial": SoftMarginDual(X, Y, 1.0, Polynomial(3, 0.2)),
    "soft algebra": SoftMarginDual(X, Y, 1.0, 2 * RBF(0.4) + Linear() * Polynomial(1)),
    "risk": HingeERM(X, Y, 0.1),
    "regression": SVRDual(X, T, 2.0, 0.2, RBF(0.4)),
    "regression primal": SVRPrimal(X, T, 2.0, 0.2, intercept=False),
    "hard": HardMarginDual(X, Y, RBF(2.0)),
    "hard primal": HardMarginPrimal(X + 3 * Y[:, None], Y),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_proven_bounds_are_as_tight_as_float64_ones_to_rounding(problem):
    solution = solve(problem, SMO(tol=1e-8))
    plain, proven = solution.certificate, certify(problem, solution, rigorous=True)
    size = abs(plain.primal_objective)
    assert proven.dual_objective <= proven.primal_objective
    assert proven.gap == pytest.approx(plain.gap, abs=1e-12 * size)
    assert proven.primal_objective == pytest.approx(plain.primal_objective, abs=1e-12 * size)
    assert proven.dual_objective == pytest.approx(plain.dual_objective, abs=1e-12 * size)


def test_the_bounds_hold_in_exact_arithmetic():
    """A linear problem of three samples, evaluated in rationals."""
    samples, labels = np.array([[1.0, 0.1], [0.3, -0.7], [-0.2, 0.9]]), np.array([1.0, 1, -1])
    problem = SoftMarginDual(samples, labels, 0.7, intercept=False)
    alpha = np.array([0.3, 0.1, 0.45])
    rows = [[Fraction(v) for v in row] for row in samples.tolist()]
    beta = [Fraction(y) * Fraction(a) for y, a in zip(labels, alpha, strict=True)]
    w = [sum(b * row[k] for b, row in zip(beta, rows, strict=True)) for k in range(2)]
    dual = sum(Fraction(a) for a in alpha) - sum(v * v for v in w) / 2
    proven = certify(problem, Point(alpha), rigorous=True)
    assert Fraction(proven.dual_objective) <= dual
    assert float(dual) - proven.dual_objective <= 1e-15


def test_a_point_off_the_feasible_set_is_made_exactly_feasible():
    problem = PROBLEMS["soft one C each"]
    alpha = solve(problem, SMO(tol=1e-8)).alpha
    proven = certify(problem, Point(alpha + 1e-9), rigorous=True)
    best = certify(problem, Point(alpha), rigorous=True)
    assert proven.dual_objective <= best.primal_objective
    assert proven.relative_gap < 1e-6


def test_where_float64_is_too_optimistic_the_proof_is_not():
    """The optimum for x = ±0.7 is 1/(2·0.7²), of the float64 nearest to 0.7."""
    problem = HardMarginPrimal(np.array([[0.7], [-0.7]]), np.array([1.0, -1.0]))
    optimum = 1 / (2 * Fraction(0.7) ** 2)
    point = Point(alpha=np.full(2, float(optimum)), w=np.array([1 / 0.7]))
    plain, proven = certify(problem, point), certify(problem, point, rigorous=True)
    assert plain.primal_objective < optimum  # rounding made the upper bound wrong
    assert proven.dual_objective <= optimum <= proven.primal_objective
    assert 0.0 < proven.gap < 1e-14


def test_large_offsets_do_not_spoil_a_linear_hard_margin():
    samples = np.array([[1e8, 1.0], [1e8, -1.0]])
    problem = HardMarginPrimal(samples, np.array([1.0, -1.0]))
    assert certify(problem, Point(alpha=np.array([0.5, 0.5]))).relative_gap < 1e-6


@pytest.mark.parametrize(
    "kernel", [Sigmoid(0.1, 0.0), Precomputed()], ids=["sigmoid", "precomputed"]
)
def test_what_cannot_be_proven_says_so(kernel):
    samples = X @ X.T if isinstance(kernel, Precomputed) else X
    certificate = certify(SoftMarginDual(samples, Y, 1.0, kernel), Point(0 * Y), rigorous=True)
    assert np.isnan(certificate.gap)
    assert "not proven" in certificate.reason


def test_a_proven_infeasible_margin_needs_no_bounds():
    certificate = certify(HardMarginPrimal(X, Y), Point(np.ones(50)), rigorous=True)
    assert certificate.infeasible
    assert certificate.primal_objective == certificate.dual_objective == np.inf
