"""Float64 bounds hold however little float64 keeps, and honest answers are not called wrong."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
import scipy.sparse as sp
from flint import arb, ctx
from tests.differential.grouped import Grouped
from tests.differential.reference import exact_reference

from dualgap.problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    Kernel,
    Linear,
    NuSVC,
    Point,
    Polynomial,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    certify,
)
from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import EXPONENTIAL, UNIT, products, transposed_products
from dualgap.problems.gram.products import gram_products
from dualgap.problems.kernels import inner_products
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.solvers import SMO, Solution, Status, Target, solve


def drawn(seed=0):
    return np.random.default_rng(seed)


def enclosed(problem, certificate):
    """Whether the bounds enclose the exact optimum."""
    optimum = exact_reference(problem)
    lower, upper = float(optimum.lower), float(optimum.upper)
    return certificate.dual_objective <= upper * (1 + 1e-15) and (
        certificate.primal_objective >= lower * (1 - 1e-15)
    )


def certify_claim(problem, point, claimed="optimal", target_gap=1e-6):
    return Solution(problem, SMO(), point, Status.FINISHED, claimed, target=Target(target_gap))


@pytest.mark.parametrize("exact", [False, True])
def test_sparse_samples_far_from_the_origin_keep_their_distances(exact):
    X = np.zeros((2, 400))
    X[:, 0] = 1e8, 1e8 + 1
    problem = SoftMarginDual(sp.csr_array(X), np.array([1.0, -1.0]), 10.0, RBF(1.0))
    answer = solve(problem, SMO(tol=1e-6))
    optimum = 1 / (1 - np.exp(-1.0))
    assert answer.certificate.dual_objective <= optimum <= answer.certificate.primal_objective
    assert answer.verdict == "solved"
    dense = replace(problem, X=X)
    assert problem.samples.gram().dense() == pytest.approx(dense.samples.gram().dense(), rel=1e-15)


def seconds(n, unit=1.0):
    rng = drawn()
    X = (1.7e9 + np.sort(rng.uniform(0, 1e7, (n, 1)), axis=0)) / unit
    return X, np.where(rng.random(n) < 0.5, 1.0, -1.0)


def ridge(problem):
    """The exact α of a squared loss with an intercept, but for rounding."""
    n, shift = problem.n, np.median(problem.y)
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = problem.samples.gram().dense() + np.diag(1 / problem.risk.C)
    A[n, n] = 0.0
    return np.linalg.solve(A, np.append(problem.y - shift, 0.0))[:n]


@pytest.mark.parametrize("n", [4, 60])
@pytest.mark.parametrize(
    ("degree", "C", "unit"), [(1, 0.05, 1e3), (2, 1e-3, 1e6), (1, 1e-6, 1.0), (3, 1.0, 1e9)]
)
def test_polynomials_of_large_features_are_not_resolved_by_float64(n, degree, C, unit):
    X, y = seconds(n, unit)
    problem = SoftMarginDual(X, y, C, Polynomial(degree))
    answer = solve(problem, SMO(tol=1e-3), max_iter=20_000)
    plain = certify(problem, answer, target_gap=np.inf)
    proven = certify(problem, answer, rigorous=True)
    assert plain.dual_objective <= proven.primal_objective
    assert proven.dual_objective <= plain.primal_objective
    assert answer.verdict != "wrong" or proven.relative_gap > 1e-2
    if n == 4:
        assert enclosed(problem, plain)
        assert enclosed(problem, proven)


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e9, 1.7e12, 1e14])
@pytest.mark.parametrize("loss", ["squared", "tube"])
def test_an_intercept_absorbs_a_common_offset_of_all_targets(offset, loss):
    rng, unit = drawn(), 1e3 if offset == 1.7e12 else 1.0
    X, y = rng.standard_normal((5, 2)), offset + unit * rng.standard_normal(5)
    if loss == "squared":
        problem = RegularizedERM(X, y, 0.05, "squared", RBF(0.5), intercept=True)
        point = Point(ridge(problem))
    else:
        problem = SVRDual(X, y, 10.0, 0.1 * unit, RBF(0.5))
        point = solve(problem, SMO(tol=1e-8)).point
    certificate = certify(problem, point, target_gap=np.inf)
    assert enclosed(problem, certificate)
    assert certificate.resolution < 1e-11
    assert certificate.offsets[0] == pytest.approx(offset, abs=3 * unit, rel=1e-6)


def test_targets_of_any_unit_have_the_same_verdict():
    X, y = drawn().standard_normal((30, 2)), drawn(1).standard_normal(30)
    for unit in (1e-8, 1.0, 1e8):
        problem = RegularizedERM(X, unit * y, 0.1, "squared", intercept=True)
        zero = certify_claim(problem, Point(np.zeros(30)))
        best = certify_claim(problem, Point(ridge(problem)))
        assert (zero.verdict, best.verdict) == ("wrong", "solved")
        assert zero.certificate.unit == 0.0
        assert zero.certificate.relative_gap == pytest.approx(1.0)
    assert certify(replace(problem, y=np.full(30, 0.1)), Point(np.zeros(30))).relative_gap < 1e-12


def test_a_negative_optimum_that_float64_resolves_poorly_has_the_gap_scale():
    for distance in 2.0 ** -np.arange(0, 60, 4):  # between the means of the two classes
        X = np.array([-1.0, 1.0, distance - 1, distance + 1])[:, None]
        problem = NuSVC(X, np.array([1.0, 1.0, -1.0, -1.0]), 1.0)
        best = certify_claim(problem, Point(np.full(4, 0.25)))  # the only feasible α
        assert best.verdict == "solved"
        assert (best.certificate.unit == 0) == (distance**2 > 1e-8)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_an_offset_of_the_targets_does_not_change_the_gap_scale(shift):
    x, y = np.linspace(-2, 2, 100)[:, None], 0.05 * (-1.0) ** np.arange(100)
    tube = EpsilonInsensitive(0.1)
    alternating = Grouped(x, shift + y, 1.0, (0, 1) * 50, (0.0, 0.0), tube)
    for problem in (SVRDual(x, shift + y, 1.0, 0.1), alternating):
        c = certify(problem, Point(w=np.array([1.0])))
        assert c.unit == 10.0
        assert c.relative_gap == pytest.approx(1.0)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, coef0=0.0), Polynomial(5, 0.7, 0.0)])
def test_two_samples_on_a_line_through_the_origin_are_not_separated_by_rounding(kernel):
    for x in drawn().uniform(0.5, 2.0, (40, 2)):
        problem = HardMarginDual(x[:, None], np.array([1.0, -1.0]), kernel, intercept=False)
        answer = certify_claim(problem, Point(1.0 / x**3), "infeasible")
        assert answer.certificate.primal_objective == np.inf
        assert answer.verdict in ("infeasible", "uncertified")


def test_a_hard_margin_of_float64s_last_bits_is_bounded_or_not_at_all():
    for gap in 2.0 ** -np.arange(10, 53, 3):
        problem = HardMarginPrimal(np.array([[1.0], [1.0 + gap]]), np.array([-1.0, 1.0]))
        certificate = certify(problem, Point(w=np.array([1.0])))
        optimum = 0.5 * (2 / gap) ** 2
        assert certificate.dual_objective <= optimum <= certificate.primal_objective


@dataclass(frozen=True)
class Careless(Kernel):
    """An inner product that is right to ten digits only, and says so."""

    says: float = 0.0

    def __call__(self, X, Z):
        K = inner_products(X, Z)
        return K * (1 + 1e-10 * np.cos(1e9 * K))

    def diagonal(self, X):
        return np.diagonal(self(X, X))

    def operations(self, X):
        return 1e-10 / UNIT


def test_a_plug_in_kernel_declares_its_rounding_error():
    X, y = drawn().standard_normal((40, 3)), np.where(drawn().random(40) < 0.5, 1.0, -1.0)
    problem, exact = SoftMarginDual(X, y, 1.0, Careless()), SoftMarginDual(X, y, 1.0)
    alpha = solve(exact, SMO(tol=1e-9)).alpha
    careless, proven = certify(problem, Point(alpha)), certify(exact, Point(alpha), rigorous=True)
    assert 1e-11 < careless.resolution < 1e-7
    assert careless.dual_objective <= proven.dual_objective
    assert careless.primal_objective >= proven.primal_objective


def test_a_gap_below_float64_resolution_is_uncertified_with_a_reason(monkeypatch):
    monkeypatch.setattr("dualgap.problems.certificates.certify._MAX_PROOF_S", 0.0)  # for a proof
    X, _ = seconds(40, 1e6)
    y = drawn().standard_normal(40)
    problem = RegularizedERM(X, y, 1000.0, "squared", Polynomial(2), intercept=True)
    answer = certify_claim(problem, Point(ridge(problem)))
    assert answer.verdict == "uncertified"
    assert re.fullmatch(r"float64 resolves this only to 0\.000[1-4]", answer.reason)
    assert certify_claim(problem, Point(np.zeros(40)), target_gap=1e-2).verdict == "wrong"


def test_ball_arithmetic_decides_within_seconds():
    problem = SoftMarginPrimal(*seconds(30, 1e3), 0.05)
    answer = solve(problem, SMO(tol=1e-7), max_iter=100_000)
    alone = certify(problem, Point(answer.alpha), target_gap=np.inf)
    decided = certify(problem, Point(answer.alpha))
    undecided = alone.is_undecided(1e-6) or alone.is_undecided(WRONG_GAP)
    assert undecided == decided.bound_source.startswith("proven")
    assert decided.relative_gap <= alone.relative_gap


@pytest.mark.parametrize("seed", range(20))
def test_sums_and_products_are_within_their_errors(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 400)), int(rng.integers(1, 30))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-8, 8, d)
    X[rng.random((n, d)) < 0.4] = 0.0
    v, w = rng.standard_normal(n) * 10.0 ** rng.integers(-5, 5, n), rng.standard_normal(d)
    wide = X.astype(np.longdouble)
    for samples in (X, sp.csr_array(X)):
        for c, exact in (
            (products(samples, w), wide @ w),
            (transposed_products(samples, v), wide.T @ v),
        ):
            assert (np.abs(c.mid - exact) <= c.rad + 1e-18 * np.abs(exact)).all()
    added = Intervals(v).sum()
    assert abs(added.mid - v.astype(np.longdouble).sum()) <= added.rad


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(1e4), Polynomial(3), RBF(0.1) * Linear()])
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e6])
def test_kernel_values_are_within_their_errors(kernel, offset):
    X = offset + drawn().standard_normal((12, 3))
    problem = SoftMarginDual(X, np.ones(12), 1.0, kernel)
    v = drawn(1).standard_normal(12)
    scores, errors = gram_products(problem.samples.gram(), v)
    wide = X.astype(np.longdouble)
    squares = ((wide[:, None] - wide) ** 2).sum(axis=2)
    inner = wide @ wide.T
    exact = {
        RBF(0.3): np.exp(-np.longdouble(0.3) * squares),
        RBF(1e4): np.exp(-np.longdouble(1e4) * squares),
        Polynomial(3): (inner + 1) ** 3,
        RBF(0.1) * Linear(): np.exp(-np.longdouble(0.1) * squares) * inner,
    }[kernel] @ v
    assert (np.abs(scores - exact) <= errors).all()
    assert (errors <= 1e-6 * (np.abs(exact).max() + offset**6)).all()


def test_exp_is_accurate_to_one_ulp():
    exponents = -np.concatenate([drawn().exponential(1.0, 5000), drawn(1).uniform(0, 700, 5000)])
    with ctx.workprec(200):
        exact = [arb(t).exp() for t in exponents.tolist()]
        wrong = [
            abs(arb(v) / e - 1) for v, e in zip(np.exp(exponents).tolist(), exact, strict=True)
        ]
    assert float(max(wrong).upper()) <= EXPONENTIAL * UNIT / 2


def test_a_logarithm_of_a_sum_that_cancels_is_enclosed():
    """log(e^x + e^x) = x + log 2 for x next to −log 2."""
    x = -0.6931471805599453
    value = np.logaddexp(Intervals(x), x)
    with ctx.workprec(200):
        exact = float(arb(x) + arb(2).log())
    assert float(value.low) <= exact <= float(value.high)
    assert float(value.rad) < 1e-14
