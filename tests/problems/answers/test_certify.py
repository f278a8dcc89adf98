"""Certificates: against the textbook formulas, against an exact QP, and against wrong answers."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from cvxopt import matrix, solvers
from hypothesis import given
from hypothesis import strategies as st

from problems import (
    RBF,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
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
from solvers import SMO, solve

OPTIONS = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
rng = np.random.default_rng(0)
X = rng.standard_normal((30, 3))
Y = np.where(X[:, 0] + rng.standard_normal(30) > 0, 1.0, -1.0)
TARGETS = X @ [1.0, -2.0, 0.5] + 0.3 * rng.standard_normal(30)
SEPARABLE = X + 3.0 * np.outer(Y, [1.0, 0.0, 0.0])
WEIGHTS = rng.uniform(0.1, 3.0, 30)

SOFT = {
    "linear": SoftMarginDual(X, Y, 0.5),
    "linear, without intercept": SoftMarginDual(X, Y, 0.5, intercept=False),
    "rbf": SoftMarginDual(X, Y, 2.0, RBF(0.5)),
    "rbf, without intercept": SoftMarginDual(X, Y, 2.0, RBF(0.5), intercept=False),
    "one C each": SoftMarginDual(X, Y, WEIGHTS, Polynomial(2)),
    "sparse": SoftMarginDual(sp.csr_array(np.maximum(X, 0.0)), Y, WEIGHTS),
    "precomputed": SoftMarginDual(RBF(0.5)(X, X), Y, 2.0, Precomputed()),
    "primal": SoftMarginPrimal(X, Y, 1.0),
    "risk": HingeERM(X, Y, 0.05),
    "risk, with intercept": HingeERM(sp.csr_array(X), Y, 0.05, intercept=True),
    "regression": SVRDual(X, TARGETS, 1.0, 0.2),
    "regression, rbf": SVRDual(X, TARGETS, 1.0, 0.2, RBF(0.5)),
    "regression, without intercept": SVRPrimal(X, TARGETS, 1.0, 0.2, intercept=False),
    "regression, one C each": SVRPrimal(sp.csr_array(X), TARGETS, WEIGHTS, 0.0),
}
HARD = {
    "linear": HardMarginDual(SEPARABLE, Y),
    "primal": HardMarginPrimal(sp.csr_array(SEPARABLE), Y),
    "without intercept": HardMarginDual(SEPARABLE, Y, intercept=False),
    "rbf": HardMarginDual(X, Y, RBF(1.0)),
}
EVERY = {**{f"soft {k}": v for k, v in SOFT.items()}, **{f"hard {k}": v for k, v in HARD.items()}}


def grams(problem):
    """K and the coefficients' sign, from the definitions."""
    dense = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    K = dense if isinstance(problem.kernel, Precomputed) else problem.kernel(dense, dense)
    return K, np.ones(problem.n) if problem.is_regression else problem.y


def slack_weights(problem):
    if problem.problem_class == "hard_margin":
        return np.inf
    return 1 / (problem.n * problem.lam) if hasattr(problem, "lam") else problem.C


def dual_value(problem, alpha):
    K, sign = grams(problem)
    quadratic = 0.5 * (sign * alpha) @ K @ (sign * alpha)
    if problem.is_regression:
        return problem.y @ alpha - problem.epsilon * np.abs(alpha).sum() - quadratic
    return alpha.sum() - quadratic


def primal_value(problem, norm2, scores, b):
    if problem.is_regression:
        loss = np.maximum(0, np.abs(problem.y - scores - b) - problem.epsilon)
    else:
        loss = np.maximum(0, 1 - problem.y * (scores + b))
    return 0.5 * norm2 + np.sum(slack_weights(problem) * loss)


def best_primal(problem, norm2, scores):
    """The primal at the best of all kinks in b (it is convex and piecewise linear)."""
    if not problem.intercept:
        return primal_value(problem, norm2, scores, 0.0)
    e = getattr(problem, "epsilon", 0.0)
    kinks = [problem.y - scores] if not problem.is_regression else []
    kinks += [problem.y - scores - e, problem.y - scores + e] if problem.is_regression else []
    return min(primal_value(problem, norm2, scores, b) for b in np.concatenate(kinks))


def feasible(problem, seed):
    """A random dual point that is feasible: pairs of opposite sign share one weight."""
    local = np.random.default_rng(seed)
    C = np.broadcast_to(np.minimum(slack_weights(problem), 1e3), problem.n)
    if not problem.intercept:
        alpha = local.random(problem.n) * C
        return alpha * local.choice([-1, 1], problem.n) if problem.is_regression else alpha
    alpha = np.zeros(problem.n)
    if problem.is_regression:
        ups, downs = np.split(local.permutation(problem.n), 2)
    else:
        ups, downs = np.flatnonzero(problem.y > 0), np.flatnonzero(problem.y < 0)
    for i, j in zip(local.permutation(ups), local.permutation(downs), strict=False):
        alpha[i] = alpha[j] = local.choice([0.0, 1.0, local.random()]) * min(C[i], C[j])
    if problem.is_regression:
        alpha[downs] *= -1
    return alpha


def exact_alpha(problem, intercept=None, scale=1.0):
    """The dual optimum by an interior-point QP solver to high accuracy."""
    intercept = problem.intercept if intercept is None else intercept
    K, sign = grams(problem)
    n = problem.n
    if problem.is_regression:
        S = np.hstack([np.eye(n), -np.eye(n)])
        q = problem.epsilon - S.T @ problem.y
    else:
        S, q = np.diag(sign), -np.ones(n)
    m, C = q.size, np.full(n, np.inf)
    G, h = -np.eye(m), np.zeros(m)
    if problem.problem_class != "hard_margin":
        C = scale * np.broadcast_to(slack_weights(problem), n)
        G, h = np.vstack([G, np.eye(m)]), np.concatenate([h, np.tile(C, m // n)])
    A = [matrix(S.sum(0)[None, :]), matrix(0.0)] if intercept else []
    x = solvers.qp(matrix(S.T @ K @ S), matrix(q), matrix(G), matrix(h), *A, options=OPTIONS)["x"]
    x = np.maximum(np.array(x).ravel(), 0.0)
    return x[:n] - x[n:] if problem.is_regression else x


@pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)
def test_bounds_are_the_textbook_values_at_a_feasible_point(problem):
    K, sign = grams(problem)
    for seed in range(5):
        alpha = feasible(problem, seed)
        certificate = certify(problem, Point(alpha))
        beta = sign * alpha
        primal, dual = best_primal(problem, beta @ K @ beta, K @ beta), dual_value(problem, alpha)
        assert certificate.primal_objective == pytest.approx(primal, rel=1e-10)
        assert certificate.dual_objective == pytest.approx(dual, rel=1e-10, abs=1e-10)
        assert certificate.gap == pytest.approx(primal - dual, rel=1e-9)
        assert certificate.relative_gap == pytest.approx((primal - dual) / max(primal, abs(dual)))
        assert certificate.projection_distance == 0
        assert certificate.bound_source == "alpha"


@pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)
def test_no_intercept_on_a_grid_beats_the_certified_one(problem):
    certificate = certify(problem, Point(feasible(problem, 1)))
    K, sign = grams(problem)
    beta = sign * certificate.point.alpha
    grid = np.linspace(-10, 10, 4001) if problem.intercept else [0.0]
    values = [primal_value(problem, beta @ K @ beta, K @ beta, b) for b in grid]
    assert certificate.primal_objective <= min(values) * (1 + 1e-12)
    at_b = primal_value(problem, beta @ K @ beta, K @ beta, certificate.point.b)
    assert at_b == pytest.approx(certificate.primal_objective, rel=1e-10)


@pytest.mark.parametrize("problem", EVERY.values(), ids=EVERY)
def test_an_accurate_answer_is_certified_and_encloses_the_optimum(problem):
    alpha = exact_alpha(problem)
    certificate = certify(problem, Point(alpha))
    assert certificate.relative_gap <= 1e-7
    assert certificate.kkt_violation <= 1e-5
    optimum = dual_value(problem, alpha)
    assert certificate.dual_objective <= optimum + 1e-7 * abs(optimum)
    assert certificate.primal_objective >= optimum - 1e-7 * abs(optimum)


@pytest.mark.parametrize("problem", EVERY.values(), ids=EVERY)
@given(seed=st.integers(0, 2**32 - 1))
def test_weak_duality_between_any_two_points(problem, seed):
    one, other = (certify(problem, Point(feasible(problem, s))) for s in (seed, seed + 1))
    assert one.gap >= 0
    assert one.dual_objective <= other.primal_objective * (1 + 1e-12)


def wrong_points(problem):
    """Answers that a faulty solver gives, by fault."""
    alpha = exact_alpha(problem)
    others = {
        "flipped sign": -alpha,
        "halved": 0.5 * alpha,
        "zero": np.zeros(problem.n),
        "shuffled": alpha[::-1].copy(),
        "outside the box": alpha + 0.05 * alpha.max() * np.sign(np.arange(problem.n) - 14.5),
        "mean for sum": exact_alpha(problem, scale=1 / problem.n),
        "doubled C": exact_alpha(problem, scale=2.0),
    }
    if problem.intercept:
        others["solved without intercept"] = exact_alpha(problem, intercept=False)
        others["off the equality"] = alpha * np.where(problem.beta(alpha) > 0, 0.7, 1.0)
    return others


@pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)
def test_wrong_dual_points_are_never_certified(problem):
    for fault, alpha in wrong_points(problem).items():
        certificate = certify(problem, Point(alpha))
        assert certificate.relative_gap > 1e-6, fault
        assert np.isfinite(certificate.gap), fault


@pytest.mark.parametrize("problem", [p for p in EVERY.values() if p.is_linear])
def test_a_right_alpha_does_not_excuse_wrong_weights(problem):
    alpha = exact_alpha(problem)
    w = problem.X.T @ problem.beta(alpha)
    assert certify(problem, Point(alpha, w)).relative_gap <= 1e-7
    wrong = [-w, w + 0.1, w[::-1].copy(), 0 * w]
    if (
        problem.problem_class != "hard_margin"
    ):  # there the margin is what is compared, not the length
        wrong += [0.9 * w, 2 * w]
    for other in wrong:
        certificate = certify(problem, Point(alpha, other, 0.0))
        assert certificate.bound_source == "alpha and w"
        assert not certificate.relative_gap <= 1e-6


@pytest.mark.parametrize("problem", [p for p in EVERY.values() if p.is_linear])
def test_weights_alone_give_finite_bounds(problem):
    w = problem.X.T @ problem.beta(exact_alpha(problem))
    certificate = certify(problem, Point(w=w))
    assert certificate.bound_source == "recovered from w"
    assert certificate.relative_gap < 1
    assert certificate.dual_objective <= dual_value(problem, exact_alpha(problem)) + 1e-6
    assert certify(problem, Point(w=1.1 * w + 0.01)).gap > 0


def test_a_solvers_own_intercept_is_never_used():
    problem, alpha = SOFT["linear"], exact_alpha(SOFT["linear"])
    for b in (None, 17.0, np.nan):
        assert certify(problem, Point(alpha, b=b)).relative_gap <= 1e-7


def test_an_infeasible_point_is_projected_and_both_distances_told():
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
    low, high = certify(SOFT["rbf"], Point(exact_alpha(SOFT["rbf"]))).b_interval
    assert 0 <= high - low <= 1e-13 * abs(low)


SYMMETRIC = {k: p for k, p in SOFT.items() if k != "precomputed"}


@pytest.mark.parametrize("problem", SYMMETRIC.values(), ids=SYMMETRIC)
def test_permuting_the_samples_changes_no_bound(problem):
    order, alpha = np.random.default_rng(5).permutation(problem.n), feasible(problem, 2)
    fields = {"X": problem.X[order], "y": problem.y[order]}
    if not hasattr(problem, "lam"):
        fields["C"] = problem.upper[order]
    same_bounds(
        certify(replace(problem, **fields), Point(alpha[order])), certify(problem, Point(alpha))
    )


@pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)
def test_flipping_all_labels_changes_no_bound(problem):
    alpha = feasible(problem, 3)
    flipped = -alpha if problem.is_regression else alpha
    other = certify(replace(problem, y=-problem.y), Point(flipped))
    same_bounds(other, certify(problem, Point(alpha)))


@pytest.mark.parametrize("problem", SYMMETRIC.values(), ids=SYMMETRIC)
def test_duplicating_samples_equals_doubling_C(problem):
    alpha = feasible(problem, 4)
    twice = {
        "X": sp.vstack([problem.X] * 2) if sp.issparse(problem.X) else np.tile(problem.X, (2, 1))
    }
    twice["y"] = np.tile(problem.y, 2)
    risk = hasattr(problem, "lam")
    twice |= {"lam": problem.lam / 2} if risk else {"C": np.tile(problem.upper, 2)}
    doubled = {"lam": problem.lam / 2} if risk else {"C": 2 * problem.upper}
    same_bounds(
        certify(replace(problem, **twice), Point(np.tile(alpha, 2))),
        certify(replace(problem, **doubled), Point(2 * alpha)),
    )


@given(s=st.floats(1e-3, 1e3), seed=st.integers(0, 1000))
def test_scaling_the_features_is_scaling_C(s, seed):
    problem = SOFT["linear"]
    alpha = feasible(problem, seed)
    scaled = certify(SoftMarginDual(s * X, Y, problem.C / s**2), Point(alpha / s**2))
    original = certify(problem, Point(alpha))
    assert scaled.primal_objective == pytest.approx(original.primal_objective / s**2, rel=1e-9)
    assert scaled.relative_gap == pytest.approx(original.relative_gap, rel=1e-6, abs=1e-12)


def same_bounds(one, other):
    assert one.primal_objective == pytest.approx(other.primal_objective, rel=1e-10)
    assert one.dual_objective == pytest.approx(other.dual_objective, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("problem", HARD.values(), ids=HARD)
@pytest.mark.parametrize("factor", [1e-200, 0.5, 2.0, 1e200])
def test_a_hard_margin_is_certified_at_any_length(problem, factor):
    alpha = exact_alpha(problem)
    expected = certify(problem, Point(alpha))
    w = problem.X.T @ problem.beta(alpha) if problem.is_linear else None
    for point in [Point(factor * alpha)] + (
        [Point(alpha, factor * w)] if problem.is_linear else []
    ):
        certificate = certify(problem, point)
        assert certificate.relative_gap <= 1e-7
        np.testing.assert_allclose(certificate.point.alpha, expected.point.alpha, atol=1e-7)


@pytest.mark.parametrize("problem", [p for p in HARD.values() if p.is_linear])
@pytest.mark.parametrize("length", [1e-200, 1.0, 1e200])
def test_a_separating_but_suboptimal_hyperplane_is_not_certified_at_any_length(problem, length):
    alpha = exact_alpha(problem)
    w = problem.X.T @ problem.beta(alpha)
    w = length * (w + 0.3 * np.linalg.norm(w) * np.array([0.0, 1.0, 0.0]))
    assert certify(problem, Point(alpha, w)).relative_gap > 1e-3


def test_a_hard_margin_is_scaled_to_a_smallest_margin_of_one():
    problem = HARD["linear"]
    point = certify(problem, Point(0.1 * exact_alpha(problem))).point
    assert (Y * (SEPARABLE @ point.w + point.b)).min() == pytest.approx(1.0)


def test_a_point_on_the_wrong_side_tells_how_large_a_margin_cannot_be():
    problem = HARD["linear"]
    alpha = np.zeros(30)
    alpha[[np.flatnonzero(Y > 0)[0], np.flatnonzero(Y < 0)[0]]] = 1.0
    certificate = certify(problem, Point(alpha, np.array([-1.0, 0.0, 0.0])))
    assert certificate.primal_objective == np.inf
    limit = 2 / np.sqrt(2 * certificate.dual_objective)
    assert certificate.reason == f"no margin above {limit:.3g}"
    best = certify(problem, Point(exact_alpha(problem)))
    assert 2 / np.linalg.norm(best.point.w) <= limit


def test_one_class_needs_no_weights():
    for cls in (HardMarginDual, SoftMarginDual):
        certificate = certify(cls(X, np.ones(30)), Point(np.zeros(30)))
        assert 0.0 <= certificate.primal_objective <= 1e-12
        assert certificate.relative_gap <= 1e-13
    wrong = certify(HardMarginDual(X, np.ones(30)), Point(np.zeros(30), np.ones(3)))
    assert wrong.relative_gap == pytest.approx(1.0)


def test_an_indefinite_kernel_has_no_bounds_but_stationarity():
    certificate = certify(SoftMarginDual(X, Y, 1.0, Sigmoid(1.0, -1.0)), Point(np.zeros(30)))
    assert np.isnan(certificate.primal_objective)
    assert np.isnan(certificate.relative_gap)
    assert certificate.reason == "indefinite kernel, stationarity only"
    assert certificate.kkt_violation > 0


def test_no_point_and_no_number_are_told_apart():
    problem = SOFT["linear"]
    assert certify(problem, Point()).reason == "the solver gave no point"
    for point in (Point(np.full(30, np.nan)), Point(np.zeros(30), np.full(3, np.inf))):
        assert certify(problem, point).reason == "the point has NaN or infinite entries"


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (Point(np.zeros(29)), "alpha: has 29 entries, expected 30"),
        (Point(np.zeros(30), np.zeros(2)), "w: has 2 entries, expected 3"),
    ],
)
def test_a_point_of_the_wrong_size_is_refused(point, message):
    with pytest.raises(ValueError, match=message):
        certify(SOFT["linear"], point)


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (np.zeros(30), "ndarray"),
        ((np.zeros(3), 0.0), "tuple"),
        ({"alpha": 0}, "dict"),
        (None, "None"),
    ],
)
def test_what_does_not_tell_alpha_from_w_is_refused(answer, name):
    told = rf"solution_or_point: must be a Solution, a Point, .* got {name}.*Point\(alpha=\.\.\.\)"
    with pytest.raises(TypeError, match=told):
        certify(SOFT["linear"], answer)


def test_weights_alone_are_refused_with_a_kernel():
    with pytest.raises(ValueError, match="alpha: is needed with a kernel"):
        certify(SOFT["rbf"], Point(w=np.zeros(3)))


@pytest.mark.parametrize("size", [1e-300, 1e100, 1e200, 1e300])
@pytest.mark.parametrize("problem", EVERY.values(), ids=EVERY)
def test_points_of_any_size_are_judged(problem, size):
    certificate = certify(problem, Point(np.full(problem.n, size)))
    assert not certificate.relative_gap <= 1e-6
    if problem.is_linear:
        assert not certify(problem, Point(w=np.full(problem.d, size))).relative_gap <= 1e-6


def test_bounds_that_leave_float64s_range_do_not_cross():
    problem = RegularizedERM(1e80 * X[:2], np.ones(2), 0.1, "squared")
    certificate = certify(problem, Point(np.array([1e240, -1e240])))
    assert np.isnan(certificate.relative_gap)
    assert certificate.reason == "the bounds are beyond float64's range"


def test_a_linear_kernel_under_another_name_has_the_same_bounds():
    alpha = feasible(SOFT["linear"], 0)
    for kernel in (1.0 * Linear(), Polynomial(1, coef0=0.0)):
        other = certify(SoftMarginDual(X, Y, 0.5, kernel), Point(alpha))
        same_bounds(other, certify(SOFT["linear"], Point(alpha)))


def test_rounding_at_a_huge_C_does_not_spoil_a_right_answer():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((80, 3)) + 3 * y[:, None]
    for C in (1e6, 1e9, 1e12):
        problem = SoftMarginDual(X, y, C, RBF(0.1))
        assert solve(problem, SMO(tol=1e-10)).certificate.relative_gap < 1e-8
        alpha = solve(problem, SMO(tol=1e-10)).alpha
        assert certify(problem, Point(0.999 * alpha)).relative_gap > 1e-4


def test_a_dual_bound_made_of_rounding_error_is_not_believed():
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
                found = certify(problem, Point(alpha=alpha))
                assert found.dual_objective <= best * (1 + 1e-9)


def test_a_primal_bound_is_never_below_zero():
    rng = np.random.default_rng(0)
    problem = SVRDual(rng.standard_normal((9, 2)), 1e-3 * rng.standard_normal(9), 1.0, 10.0)
    for size in (1e-300, 1e-100, 1.0, 1e100, 1e160, 1e300):
        found = certify(problem, Point(alpha=size * rng.standard_normal(9)))
        assert not found.primal_objective < 0
        assert not found.gap < 0
