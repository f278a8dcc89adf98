"""Certificates: against the textbook formulas, against an exact QP, and against wrong answers."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from cvxopt import matrix, solvers
from hypothesis import given
from hypothesis import strategies as st
from tests import small_problems as problem_set
from tests.halves import quick_cases
from tests.small_problems import HARD, N, X, Y

from dualgap.problems import (
    RBF,
    HardMarginDual,
    Linear,
    Point,
    Precomputed,
    RegularizedERM,
    Sigmoid,
    SoftMarginDual,
    SVRDual,
    certify,
)
from dualgap.solvers import SMO, solve

SOFT = {
    k: p for k, p in {**problem_set.SOFT, **problem_set.TUBES}.items() if not k.startswith("risk")
}
EVERY = {**SOFT, **HARD}
LINEAR, GAUSSIAN = SOFT["soft_dual_linear"], SOFT["soft_dual_rbf"]
OPTIONS = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}


def grams(problem):
    """K and the coefficients' sign, from the definitions."""
    dense = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    K = dense if isinstance(problem.kernel, Precomputed) else problem.kernel(dense, dense)
    return K, np.ones(problem.n) if problem.risk.loss.is_regression else problem.y


def slack_weights(problem):
    if problem.may_be_infeasible:
        return np.inf
    return 1 / (problem.n * problem.lam) if hasattr(problem, "lam") else problem.C


def dual_value(problem, alpha):
    K, sign = grams(problem)
    quadratic = 0.5 * (sign * alpha) @ K @ (sign * alpha)
    if problem.risk.loss.is_regression:
        return problem.y @ alpha - problem.epsilon * np.abs(alpha).sum() - quadratic
    return alpha.sum() - quadratic


def primal_value(problem, norm2, scores, b):
    if problem.risk.loss.is_regression:
        loss = np.maximum(0, np.abs(problem.y - scores - b) - problem.epsilon)
    else:
        loss = np.maximum(0, 1 - problem.y * (scores + b))
    return 0.5 * norm2 + np.sum(slack_weights(problem) * loss)


def best_primal(problem, norm2, scores):
    """The primal at the best of all kinks in b (it is convex and piecewise linear)."""
    if not problem.intercept:
        return primal_value(problem, norm2, scores, 0.0)
    e = getattr(problem, "epsilon", 0.0)
    kinks = [problem.y - scores] if not problem.risk.loss.is_regression else []
    kinks += (
        [problem.y - scores - e, problem.y - scores + e] if problem.risk.loss.is_regression else []
    )
    return min(primal_value(problem, norm2, scores, b) for b in np.concatenate(kinks))


def feasible(problem, seed):
    """A random dual point that is feasible: pairs of opposite sign share one weight."""
    local = np.random.default_rng(seed)
    C = np.broadcast_to(np.minimum(slack_weights(problem), 1e3), problem.n)
    if not problem.intercept:
        alpha = local.random(problem.n) * C
        return (
            alpha * local.choice([-1, 1], problem.n) if problem.risk.loss.is_regression else alpha
        )
    alpha = np.zeros(problem.n)
    if problem.risk.loss.is_regression:
        ups, downs = np.split(local.permutation(problem.n), 2)
    else:
        ups, downs = np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)
    for i, j in zip(local.permutation(ups), local.permutation(downs), strict=False):
        alpha[i] = alpha[j] = local.choice([0.0, 1.0, local.random()]) * min(C[i], C[j])
    if problem.risk.loss.is_regression:
        alpha[downs] *= -1
    return alpha


@cache
def exact_alpha(problem, intercept=None, scale=1.0):
    """The dual optimum by an interior-point QP solver to high accuracy."""
    intercept = problem.intercept if intercept is None else intercept
    K, sign = grams(problem)
    n = problem.n
    if problem.risk.loss.is_regression:
        S = np.hstack([np.eye(n), -np.eye(n)])
        q = problem.epsilon - S.T @ problem.y
    else:
        S, q = np.diag(sign), -np.ones(n)
    m, C = q.size, np.full(n, np.inf)
    G, h = -np.eye(m), np.zeros(m)
    if not problem.may_be_infeasible:
        C = scale * np.broadcast_to(slack_weights(problem), n)
        G, h = np.vstack([G, np.eye(m)]), np.concatenate([h, np.tile(C, m // n)])
    A = [matrix(S.sum(0)[None, :]), matrix(0.0)] if intercept else []
    x = solvers.qp(matrix(S.T @ K @ S), matrix(q), matrix(G), matrix(h), *A, options=OPTIONS)["x"]
    x = np.maximum(np.array(x).ravel(), 0.0)
    return x[:n] - x[n:] if problem.risk.loss.is_regression else x


@pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)
def test_bounds_are_the_textbook_values_at_a_feasible_point(problem):
    K, sign = grams(problem)
    bounds = []
    for seed in range(5):
        alpha = feasible(problem, seed)
        certificate = certify(problem, Point(alpha))
        beta = sign * alpha
        primal, dual = best_primal(problem, beta @ K @ beta, K @ beta), dual_value(problem, alpha)
        assert certificate.primal_objective == pytest.approx(primal, rel=1e-9)
        assert certificate.dual_objective == pytest.approx(dual, rel=1e-9, abs=1e-9)
        assert certificate.gap == pytest.approx(primal - dual, rel=1e-9)
        assert certificate.relative_gap == pytest.approx((primal - dual) / max(primal, abs(dual)))
        assert certificate.projection_distance == 0
        assert certificate.bound_source == "alpha"
        at_b = primal_value(problem, beta @ K @ beta, K @ beta, certificate.point.b)
        assert at_b == pytest.approx(primal, rel=1e-9)
        bounds.append((certificate.dual_objective, certificate.primal_objective))
    duals, primals = zip(*bounds, strict=True)
    assert max(duals) <= min(primals) * (1 + 1e-12)


@pytest.mark.parametrize("problem", EVERY.values(), ids=EVERY)
def test_an_accurate_answer_is_certified_and_encloses_the_optimum(problem):
    alpha = exact_alpha(problem)
    certificate = certify(problem, Point(alpha))
    assert certificate.relative_gap <= 1e-7
    assert certificate.kkt_violation <= 1e-5
    optimum = dual_value(problem, alpha)
    assert certificate.dual_objective <= optimum + 1e-7 * abs(optimum)
    assert certificate.primal_objective >= optimum - 1e-7 * abs(optimum)


@pytest.mark.parametrize("problem", HARD.values(), ids=HARD)
@given(seed=st.integers(0, 2**32 - 1))
def test_weak_duality_between_any_two_points(problem, seed):
    one, other = (certify(problem, Point(feasible(problem, s))) for s in (seed, seed + 1))
    assert one.gap >= 0
    assert one.dual_objective <= other.primal_objective * (1 + 1e-12)


def wrong_points(problem):
    """Answers that a faulty solver gives, by fault."""
    alpha = exact_alpha(problem)
    cases = {
        "flipped sign": -alpha,
        "halved": 0.5 * alpha,
        "zero": np.zeros(problem.n),
        "shuffled": alpha[::-1].copy(),
        "outside the box": alpha
        + 0.05 * alpha.max() * np.where(np.arange(problem.n) < 15, -1.0, 1.0),
        "mean for sum": exact_alpha(problem, scale=1 / problem.n),
    }
    if (np.abs(alpha) > 0.99 * slack_weights(problem)).any():
        cases["doubled C"] = exact_alpha(problem, scale=2.0)
    if problem.intercept:
        cases["solved without intercept"] = exact_alpha(problem, intercept=False)
        cases["off the equality"] = alpha * np.where(problem.risk.beta(alpha) > 0, 0.7, 1.0)
    return cases


@pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)
def test_wrong_dual_points_are_never_certified(problem):
    for fault, alpha in wrong_points(problem).items():
        certificate = certify(problem, Point(alpha))
        assert certificate.relative_gap > 1e-6, fault
        assert np.isfinite(certificate.gap), fault


@pytest.mark.parametrize("problem", [p for p in EVERY.values() if p.samples.is_linear])
def test_a_correct_alpha_does_not_excuse_wrong_weights(problem):
    alpha = exact_alpha(problem)
    w = problem.X.T @ problem.risk.beta(alpha)
    assert certify(problem, Point(alpha, w)).relative_gap <= 1e-7
    wrong = [-w, w + 0.1, w[::-1].copy(), 0 * w]
    if not problem.may_be_infeasible:  # there the margin is what is compared, not the length
        wrong += [0.9 * w, 2 * w]
    for other in wrong:
        certificate = certify(problem, Point(alpha, other, 0.0))
        assert certificate.bound_source == "alpha and w"
        assert not certificate.relative_gap <= 1e-6


def test_the_intercept_of_a_solver_is_ignored():
    problem, alpha = LINEAR, exact_alpha(LINEAR)
    for b in (None, 17.0, np.nan):
        assert certify(problem, Point(alpha, b=b)).relative_gap <= 1e-7


def test_an_infeasible_point_is_projected_and_both_distances_are_reported():
    problem = SoftMarginDual([[0.0], [1.0]], [1, -1], 1.0)
    certificate = certify(problem, Point(np.array([1.5, 0.5])))
    np.testing.assert_allclose(certificate.point.alpha, [1.0, 1.0])
    assert certificate.primal_residual == 1.0  # 1.5 − 0.5 off the equality, 0.5 off the box
    assert certificate.projection_distance == pytest.approx(np.sqrt(0.5))


def test_without_a_free_support_vector_b_is_the_middle_of_an_interval():
    problem = SoftMarginDual([[-1.0], [1.0]], [-1, 1], C=0.25)
    certificate = certify(problem, Point(np.full(2, 0.25)))
    np.testing.assert_allclose(certificate.b_interval, [-0.5, 0.5])
    assert certificate.point.b == 0.0
    assert certificate.relative_gap <= 1e-13


def test_the_same_weights_with_a_free_support_vector_have_one_b():
    low, high = certify(GAUSSIAN, Point(exact_alpha(GAUSSIAN))).b_interval
    assert 0 <= high - low <= 1e-13 * abs(low)


@pytest.mark.parametrize("problem", HARD.values(), ids=HARD)
@pytest.mark.parametrize("factor", [1e-200, 0.5, 2.0, 1e200])
def test_a_hard_margin_is_certified_at_any_length(problem, factor):
    alpha = exact_alpha(problem)
    expected = certify(problem, Point(alpha))
    w = problem.X.T @ problem.risk.beta(alpha) if problem.samples.is_linear else None
    for point in [Point(factor * alpha)] + (
        [Point(alpha, factor * w)] if problem.samples.is_linear else []
    ):
        certificate = certify(problem, point)
        assert certificate.relative_gap <= 1e-7
        np.testing.assert_allclose(certificate.point.alpha, expected.point.alpha, atol=1e-7)


@pytest.mark.parametrize("problem", [p for p in HARD.values() if p.samples.is_linear])
@pytest.mark.parametrize("length", [1e-200, 1.0, 1e200])
def test_a_separating_but_suboptimal_hyperplane_is_not_certified_at_any_length(problem, length):
    alpha = exact_alpha(problem)
    w = problem.X.T @ problem.risk.beta(alpha)
    w = length * (w + 0.3 * np.linalg.norm(w) * np.eye(problem.d)[1])
    assert certify(problem, Point(alpha, w)).relative_gap > 1e-3


def test_a_hard_margin_is_scaled_to_a_smallest_margin_of_one():
    problem = HARD["hard_dual_linear"]
    point = certify(problem, Point(0.1 * exact_alpha(problem))).point
    assert (Y * (problem.X @ point.w + point.b)).min() == pytest.approx(1.0)


def test_a_nonseparating_point_bounds_the_margin_from_above():
    problem = HARD["hard_dual_linear"]
    alpha = np.zeros(N)
    alpha[[np.flatnonzero(Y > 0)[0], np.flatnonzero(Y < 0)[0]]] = 1.0
    certificate = certify(problem, Point(alpha, -np.eye(4)[0]))
    assert certificate.primal_objective == np.inf
    limit = 2 / np.sqrt(2 * certificate.dual_objective)
    assert certificate.reason == f"no margin exceeds {limit:.3g}"
    best = certify(problem, Point(exact_alpha(problem)))
    assert 2 / np.linalg.norm(best.point.w) <= limit


def test_one_class_needs_no_weights():
    for cls in (HardMarginDual, SoftMarginDual):
        certificate = certify(cls(X, np.ones(N)), Point(np.zeros(N)))
        assert 0.0 <= certificate.primal_objective <= 1e-12
        assert certificate.relative_gap <= 1e-13
    wrong = certify(HardMarginDual(X, np.ones(N)), Point(np.zeros(N), np.ones(4)))
    assert wrong.relative_gap == pytest.approx(1.0)


def test_an_indefinite_kernel_has_no_bounds_but_stationarity():
    certificate = certify(SoftMarginDual(X, Y, 1.0, Sigmoid(1.0, -1.0)), Point(np.zeros(N)))
    assert np.isnan(certificate.primal_objective)
    assert np.isnan(certificate.relative_gap)
    assert certificate.reason == "the kernel is indefinite: only stationarity can be checked"
    assert certificate.kkt_violation > 0


def test_a_missing_point_and_nan_entries_have_different_reasons():
    problem = LINEAR
    assert certify(problem, Point()).reason == "the solver gave no point"
    for point in (Point(np.full(N, np.nan)), Point(np.zeros(N), np.full(4, np.inf))):
        assert certify(problem, point).reason == "the point has NaN or infinite entries"


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (Point(np.zeros(29)), "alpha: has 29 entries, expected 42"),
        (Point(np.zeros(N), np.zeros(2)), "w: has 2 entries, expected 4"),
        (Point(np.zeros((2, N // 2))), r"alpha: has shape \(2, 21\), expected \(42,\)"),
    ],
)
def test_a_point_of_the_wrong_size_is_refused(point, message):
    with pytest.raises(ValueError, match=message):
        certify(LINEAR, point)


def test_rows_of_one_answer_are_the_answer():
    alpha, w = np.linspace(0, 1, N), np.arange(4.0)
    plain, rows = (Point(alpha, w), Point(alpha[None], w[None]))
    assert certify(LINEAR, rows).gap == certify(LINEAR, plain).gap


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (np.zeros(N), "ndarray"),
        ((np.zeros(4), 0.0), "tuple"),
        ({"alpha": 0}, "dict"),
        (None, "None"),
    ],
)
def test_a_bare_array_that_could_be_alpha_or_w_is_refused(answer, name):
    text = rf"solution_or_point: must be a Solution, a Point, .* got {name}.*Point\(alpha=\.\.\.\)"
    with pytest.raises(TypeError, match=text):
        certify(LINEAR, answer)


def test_weights_alone_are_refused_with_a_kernel():
    with pytest.raises(ValueError, match="alpha: is needed with a kernel"):
        certify(GAUSSIAN, Point(w=np.zeros(4)))


@pytest.mark.parametrize("size", quick_cases([1e-300, 1e100, 1e200, 1e300], [1e-300, 1e300]))
@pytest.mark.parametrize("problem", EVERY.values(), ids=EVERY)
def test_points_of_any_magnitude_are_certified(problem, size):
    certificate = certify(problem, Point(np.full(problem.n, size)))
    assert not certificate.relative_gap <= 1e-6
    if problem.samples.is_linear:
        assert not certify(problem, Point(w=np.full(problem.d, size))).relative_gap <= 1e-6


def test_bounds_that_leave_float64s_range_do_not_cross():
    problem = RegularizedERM(1e80 * X[:2], np.ones(2), 0.1, "squared")
    certificate = certify(problem, Point(np.array([1e240, -1e240])))
    assert np.isnan(certificate.relative_gap)
    assert certificate.reason == "the bounds overflow float64"


def test_rounding_at_a_huge_C_does_not_reject_a_correct_answer():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((80, 3)) + 3 * y[:, None]
    for C in (1e6, 1e9, 1e12):
        problem = SoftMarginDual(X, y, C, RBF(0.1))
        solution = solve(problem, SMO(tol=1e-10))
        assert solution.certificate.relative_gap < 1e-8
        assert certify(problem, Point(0.999 * solution.alpha)).relative_gap > 1e-4


def test_a_dual_bound_that_is_rounding_error_is_rejected():
    """βᵀKβ = 0 but for rounding: entries of 1e8·C² cancel, and came out below 0."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((18, 2)), np.where(np.arange(18) < 9, 1.0, -1.0)
    kernel = 1e8 * Linear() + 1e-8 * RBF(1.0)
    zero = Point(alpha=np.zeros(18))
    for C in (1e2, 1e4, 1e6, 1e8):
        for problem in (
            SoftMarginDual(np.ones((18, 2)) + 1e-9 * X, y, C, kernel),
            SoftMarginDual(np.ones((18, 2)), y, C, kernel),
        ):
            best = certify(problem, zero).primal_objective
            for alpha in (np.full(18, C), C * (0.5 + 0.5 * rng.random(18))):
                c = certify(problem, Point(alpha=alpha))
                assert c.dual_objective <= best * (1 + 1e-9)


def test_a_primal_bound_is_never_below_zero():
    rng = np.random.default_rng(0)
    problem = SVRDual(rng.standard_normal((9, 2)), 1e-3 * rng.standard_normal(9), 1.0, 10.0)
    for size in (1e-300, 1e-100, 1.0, 1e100, 1e160, 1e300):
        c = certify(problem, Point(alpha=size * rng.standard_normal(9)))
        assert not c.primal_objective < 0
        assert not c.gap < 0
