"""Proven bounds enclose the optimum, and cost little accuracy."""

import decimal
import math
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq
from hypothesis import given
from hypothesis import strategies as st
from tests.differential.reference import exact_reference
from tests.halves import quick_cases
from tests.small_problems import BINARY, KINDS, PROBLEMS, TARGETS, N, X, Y

from dualgap.problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    Linear,
    Point,
    Polynomial,
    Precomputed,
    RegularizedERM,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
    certify,
)
from dualgap.problems.arithmetic import Balls
from dualgap.problems.arithmetic.balls import Unprovable
from dualgap.problems.certificates.arb import Arb, combination, gram_scores
from dualgap.problems.certificates.bounds import make_exactly_feasible
from dualgap.problems.certificates.proof import proven_bounds
from dualgap.problems.gram.semidefinite import smallest_eigenvalue_bound
from dualgap.problems.losses import Squared
from dualgap.problems.problem.certificate import Bounds
from dualgap.problems.risk.dual_point import project_dual
from dualgap.solvers import SMO, Target, solve


@pytest.mark.parametrize("name", quick_cases(PROBLEMS, KINDS))
def test_proven_bounds_are_as_tight_as_float64_ones_to_rounding(name):
    problem = PROBLEMS[name]
    solution = solve(problem, SMO(tol=1e-8) if name in BINARY else None, target_gap=1e-8)
    plain, proven = solution.certificate, certify(problem, solution, rigorous=True)
    rounding = plain.bounds.rounding + 1e-12 * abs(plain.primal_objective)
    assert plain.resolution < 1e-7
    assert proven.bound_source.startswith("proven")
    assert proven.reason == ""
    assert proven.dual_objective <= proven.primal_objective
    assert plain.gap - rounding <= proven.gap <= plain.gap
    assert proven.primal_objective <= plain.primal_objective <= proven.primal_objective + rounding
    assert proven.dual_objective - rounding <= plain.dual_objective <= proven.dual_objective


def test_an_infeasible_point_is_projected_to_exact_feasibility():
    problem = PROBLEMS["soft_dual_weights"]
    alpha = solve(problem, SMO(tol=1e-8)).alpha
    proven = certify(problem, Point(alpha + 1e-9), rigorous=True)
    best = certify(problem, Point(alpha), rigorous=True)
    assert proven.dual_objective <= best.primal_objective
    assert proven.relative_gap < 1e-6


@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-134, 1e-8, 1.0, 1e12, 1e149]),
    orders=st.sampled_from([1, 16]),
)
def test_the_dual_point_meets_box_and_equality_exactly(seed, size, orders):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    samples, y = rng.standard_normal((n, 2)), rng.choice([-1.0, 1.0], n)
    C, alpha = rng.uniform(0.1, 2, n) * size, rng.standard_normal(n) * size
    C *= 10.0 ** -rng.integers(0, orders, n)
    for problem in (SoftMarginDual(samples, y, C), SVRDual(samples, y, C, 0.1)):
        A = Arb(problem.risk)
        beta = A.coefficients(problem.risk, project_dual(problem.risk, alpha))
        exact, _ = make_exactly_feasible(problem.risk, A, beta, combination(problem.risk, beta))
        assert exact.sum().item().contains(0)
        entries = exact.entries.tolist()
        assert all(abs(v) <= c for v, c in zip(entries, C.tolist(), strict=True))
        assert problem.risk.loss.is_regression or all(
            v * s >= 0 for v, s in zip(entries, y, strict=True)
        )


@pytest.mark.parametrize("rigorous", [False, True])
def test_a_coefficient_that_is_moved_twice_is_moved_by_both(rigorous):
    """To an end of its interval, beyond what lacked, and back; the optimum is 2."""
    problem = SoftMarginDual([[0.0], [0.0]], [1, -1], C=[1.0, 1e15])
    point = Point(alpha=[1 - 1e-15, 1.0], w=[10.0])
    assert certify(problem, point, rigorous=rigorous).dual_objective <= 2.0


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**48), 2**48))
def test_rounding_is_outward_and_to_a_neighbour(value, part):
    exact = Fraction(value) * (1 + Fraction(part, 2**100))
    with ctx.workprec(2000):
        ball = arb(fmpq(exact.numerator, exact.denominator))
    low, high = (float(end) for end in (Balls(ball).low, Balls(ball).high))
    assert Balls(value).low == value == Balls(value).high
    assert Fraction(max(low, -sys.float_info.max)) <= exact or low == -np.inf
    assert Fraction(min(high, sys.float_info.max)) >= exact or high == np.inf
    assert math.nextafter(low, math.inf) >= high


def test_a_gap_is_never_smaller_than_the_difference_of_its_bounds():
    for lower, upper in ((0.1, 0.3), (-1e-30, 1.0), (1.0, 1.0), (1.0, np.inf)):
        gap = Bounds(lower, upper).gap
        assert gap == np.inf or Fraction(gap) >= Fraction(upper) - Fraction(lower)
    assert Bounds(1.0, 1.0).gap == 0.0


def _decimal(function):
    with decimal.localcontext(prec=60):
        return function(Decimal)


# what float64 alone gets wrong: a problem, the point it is certified at, and the optimum in closed form
def _nearly_constant_kernel():
    """Of 1 − exp(−gamma) float64 keeps two digits: the optimum for x = 0 and 1 is its inverse."""
    problem = HardMarginDual(np.array([[0.0], [1.0]]), Y2, RBF(1e-14))
    optimum = _decimal(lambda number: 1 / (1 - (-number(1e-14)).exp()))
    return problem, Point(np.full(2, float(optimum))), optimum


def _huge_offset():
    """Of the two samples' difference, 2m, float64 products keep six digits: the optimum is 1/(2m²)."""
    samples = np.array([[1e9 + 0.1], [1e9 - 0.1]])
    m = (Decimal(samples[0, 0]) - Decimal(samples[1, 0])) / 2
    optimum = _decimal(lambda _: 1 / (2 * m**2))
    return HardMarginPrimal(samples, Y2), Point(np.full(2, float(optimum))), optimum


def _rescaled_margin():
    """The optimum for x = ±0.7 is 1/(2·0.7²), of the float64 nearest to 0.7."""
    problem = HardMarginPrimal(np.array([[0.7], [-0.7]]), Y2)
    optimum = _decimal(lambda number: 1 / (2 * number(0.7) ** 2))
    return problem, Point(np.full(2, float(optimum)), np.array([1 / 0.7])), optimum


def _residual_outside_the_tube():
    """With a huge C, no tube and no intercept one sample asks for w = y/x, which is no float64."""
    problem = SVRPrimal(np.array([[0.1]]), np.array([0.3]), 1e12, 0.0, intercept=False)
    w = _decimal(lambda number: number(0.3) / number(0.1))
    alpha = float(_decimal(lambda number: w / number(0.1)))
    return problem, Point(np.array([alpha]), np.array([float(w)])), w**2 / 2


Y2 = np.array([1.0, -1.0])
HARD_TO_ROUND = [
    _nearly_constant_kernel,
    _huge_offset,
    _rescaled_margin,
    _residual_outside_the_tube,
]


@pytest.mark.parametrize("case", HARD_TO_ROUND)
@pytest.mark.parametrize(("rigorous", "target"), [(False, np.inf), (False, 1e-6), (True, 1e-6)])
def test_bounds_hold_where_float64_loses_nearly_all_digits(case, rigorous, target):
    problem, point, optimum = case()
    certificate = certify(problem, point, rigorous, target)
    assert certificate.dual_objective <= optimum <= certificate.primal_objective


def test_a_precomputed_kernel_is_proven_up_to_its_smallest_eigenvalue():
    linear, K = SoftMarginDual(X, Y, 1.0), X @ X.T
    alpha = solve(linear, SMO(tol=1e-10)).alpha
    proven = certify(SoftMarginDual(K, Y, 1.0, Precomputed()), Point(alpha), rigorous=True)
    assert -1e-9 < smallest_eigenvalue_bound(K) < 0  # it has rank 4, but for rounding
    assert proven.relative_gap < 1e-9
    assert proven.primal_objective == pytest.approx(
        certify(linear, Point(alpha)).primal_objective, rel=1e-9
    )


def test_an_eigenvalue_below_0_by_rounding_is_allowed_for():
    """With β = (C, −C) the dual is 2C − ½βᵀKβ, above 2C as K has an eigenvalue of −2e-16."""
    K, C = np.array([[1.0, 1.0], [1.0, 1.0 - 2.0**-51]]), 1e12
    problem = SoftMarginDual(K, Y2, C, Precomputed(), intercept=False)
    value = 2 * Fraction(C) + Fraction(C) ** 2 * Fraction(2) ** -51 / 2
    proven = certify(problem, Point(np.full(2, C)), rigorous=True)
    assert value > 2 * C
    assert proven.dual_objective <= value <= proven.primal_objective


def test_a_positive_definite_matrix_is_proven_to_be_so():
    K = RBF(2.0)(X, X)
    exact = np.linalg.eigvalsh(K)[0]
    assert 0 < smallest_eigenvalue_bound(K) <= exact
    hard = HardMarginDual(K, Y, Precomputed())
    assert certify(hard, solve(hard, SMO(tol=1e-8)), rigorous=True).relative_gap < 1e-6


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12))
def test_no_eigenvalue_is_below_its_proven_bound(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, int(rng.integers(1, n + 1)))) * 10.0 ** rng.integers(-5, 5)
    K = A @ A.T + rng.choice([0.0, -1e-12]) * np.eye(n)
    bound = smallest_eigenvalue_bound(K)
    smallest = arb_mat(K.tolist()).eig(multiple=True, algorithm="approx")
    assert bound <= min(float(v.real) for v in smallest) + 1e-13 * np.abs(K).max()


@pytest.mark.parametrize("name", ["soft_dual_weights", "soft_dual_sum_of_kernels", "svr_dual_rbf"])
def test_blocks_and_their_mirror_images_give_the_same_scores(name):
    problem = PROBLEMS[name]
    beta = Balls([arb(fmpq(k % 4, 3)) for k in range(N)])  # every fourth is 0
    values = partial(problem.kernel.balls, problem.X)
    joint, parts = (gram_scores(values, beta, size).entries for size in (512, 7))
    exact = problem.kernel(problem.X, problem.X) @ [float(k % 4) / 3 for k in range(N)]
    assert all(u.overlaps(v) for u, v in zip(joint, parts, strict=True))
    assert exact == pytest.approx([float(v) for v in parts], rel=1e-12, abs=1e-12)


def test_balls_too_wide_are_evaluated_again_with_more_digits():
    """Samples 2^−40 apart at a distance of 2^200 need more than 106 bits."""
    samples = np.array([[2.0**60, 2.0**-60], [2.0**60, -(2.0**-60)]])
    bounds, _ = proven_bounds(
        HardMarginPrimal(samples, Y2).risk, np.full(2, 2.0**119), None, (0.0,)
    )
    assert bounds == Bounds(2.0**119, 2.0**119, proven=True)


def test_a_point_that_separates_nothing_has_no_upper_bound():
    certificate = certify(
        PROBLEMS["hard_dual_rbf"], Point(np.r_[1.0, np.zeros(N - 1)]), rigorous=True
    )
    assert certificate.primal_objective == certificate.gap == np.inf
    assert certificate.reason


def test_one_class_needs_no_weights():
    problem = HardMarginPrimal(X, np.ones(N))
    certificate = certify(problem, Point(np.zeros(N)), rigorous=True)
    assert certificate.dual_objective == certificate.primal_objective == certificate.gap == 0.0


def test_a_point_beyond_float64_is_not_proven():
    with pytest.raises(Unprovable, match="overflows float64"):
        proven_bounds(PROBLEMS["hard_dual_rbf"].risk, np.full(N, np.inf), None, (0.0,))


@pytest.mark.parametrize(
    "kernel", [Sigmoid(0.1, 0.0), Precomputed()], ids=["sigmoid", "precomputed"]
)
def test_unprovable_bounds_have_a_reason(kernel):
    samples = X @ X.T - np.eye(N) if isinstance(kernel, Precomputed) else X
    certificate = certify(SoftMarginDual(samples, Y, 1.0, kernel), Point(0 * Y), rigorous=True)
    assert np.isnan(certificate.gap)
    assert "not proven" in certificate.reason


def test_a_proven_infeasible_margin_needs_no_bounds():
    certificate = certify(HardMarginPrimal(X, Y), Point(np.ones(N)), rigorous=True)
    assert certificate.infeasible
    assert certificate.primal_objective == certificate.dual_objective == np.inf


def test_softmax_variables_off_the_simplex_are_projected_to_exact_distributions():
    problem, rng = PROBLEMS["softmax"], np.random.default_rng(0)
    optimum = solve(problem, target_gap=1e-9).certificate.primal_objective
    for alpha in (np.ones((N, 3)), 1e12 * rng.standard_normal((N, 3)), np.zeros((N, 3))):
        c = certify(problem, Point(alpha), rigorous=True)
        assert c.dual_objective <= optimum * (1 + 1e-8)
        assert optimum <= c.primal_objective * (1 + 1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(1, 0.3, 0.7)])
def test_samples_far_from_the_origin_keep_their_bounds(kernel):
    """β sums to 0 but for its rounding, and what gives way for that must not move w."""
    far = X[:, :1] + 1e9
    centred = RegularizedERM(far - 1e9, TARGETS, 0.05, "squared", kernel, intercept=True)
    alpha = solve(centred, target_gap=1e-10).alpha
    proven = certify(replace(centred, X=far), Point(alpha), rigorous=True)
    assert proven.relative_gap < 1e-6


class Unstated(Squared):
    """A loss whose value is no formula of operators."""

    def value(self, y, f):
        return np.hypot(1.0, f - y)


def test_a_loss_that_is_not_an_operator_formula_is_refused():
    with pytest.raises(TypeError, match="hypot is not supported for numbers with error bounds"):
        certify(RegularizedERM(X, TARGETS, 0.05, Unstated()), Point(w=np.ones(4)))


def test_an_eigenvalue_that_decides_the_gap_calls_no_answer_wrong():
    K = X @ X.T
    problem = SoftMarginDual(np.kron(K, np.ones((4, 4))), np.repeat(Y, 4), 1e14, Precomputed())
    solution = solve(problem, SMO(), max_iter=1000)
    c = certify(problem, Point(np.ones(4 * N)), rigorous=True)
    assert c.resolution > 1
    assert replace(solution, target=Target(rigorous=True)).verdict != "wrong"


THREE = np.array([[0.25, 1.0], [-0.5, -1.0], [1.0, 3.0]]), np.array([1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    "problem",
    [
        SoftMarginDual(*THREE, 1.0),
        RegularizedERM(*THREE, 1 / 3, "hinge"),
        SVRDual(*THREE, 1.0, 0.1),
        HardMarginPrimal(*THREE),
        HardMarginPrimal(THREE[0] + 2.0**40, THREE[1]),  # as tight as near the origin
        # its margins are short of 1 by rounding
        SoftMarginPrimal(np.array([[0.1], [-0.3], [0.7]]), np.array([1.0, -1, 1]), 1e12),
    ],
)
def test_the_bounds_of_a_rounded_optimum_agree_to_1e_14(problem):
    best = exact_reference(problem).point().alpha
    bounds, _ = proven_bounds(problem.risk, best, None, (0.0,))
    assert bounds.gap <= 1e-14 * bounds.upper
