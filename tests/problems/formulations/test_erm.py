"""Regularised risks with every loss: their certificates against the definitions."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests import small_problems as problem_set
from tests.small_problems import TARGETS, N, X, Y

from dualgap.problems import (
    ERM,
    QP,
    RBF,
    BoxQP,
    HingeERM,
    Point,
    Polynomial,
    Precomputed,
    RegularizedERM,
    Sigmoid,
    SoftMarginDual,
    SVRDual,
    Unsupported,
    certify,
    reduce,
)
from dualgap.problems.formulations.softmax import Softmax
from dualgap.problems.losses import EpsilonInsensitive, SquaredEpsilonInsensitive

LAM = 0.05
C = 1 / (N * LAM)
RISKS = {name: p for name, p in problem_set.RISKS.items() if isinstance(p, RegularizedERM)} | {
    "risk_perceptron_intercept": RegularizedERM(X, Y, LAM, "perceptron", intercept=True),
    "risk_polynomial_ridge": RegularizedERM(X, TARGETS, LAM, "squared", Polynomial(2)),
}
LINEAR = {name: risk for name, risk in RISKS.items() if risk.samples.is_linear}


def gram(problem):
    dense = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    return problem.kernel(dense, dense)


def weight(problem):
    return 1 / (N * problem.lam)


def primal_value(problem, w, b):
    losses = problem.risk.loss.value(problem.y, problem.X @ w + b)
    return 0.5 * w @ w + weight(problem) * losses.sum()


def dual_value(problem, alpha):
    beta = alpha if problem.risk.loss.is_regression else Y * alpha
    C = weight(problem)
    conjugates = problem.risk.loss.conjugate(problem.y, -beta / C)
    return -0.5 * beta @ gram(problem) @ beta - C * conjugates.sum()


def feasible(problem, seed):
    """Random dual variables within the loss's domain, and on the plane of an intercept."""
    local, C = np.random.default_rng(seed), weight(problem)
    beta = local.uniform(0.1, 0.4, N) * C * (1 if problem.risk.loss.is_regression else Y)
    if problem.intercept:
        beta -= beta.mean() if problem.risk.loss.is_regression else 0.0
        for sign in () if problem.risk.loss.is_regression else (1, -1):
            beta[sign == Y] *= C / abs(beta[sign == Y].sum())
    return beta if problem.risk.loss.is_regression else Y * beta


@pytest.mark.parametrize("name", RISKS)
@given(seed=st.integers(0, 1000))
def test_the_bounds_from_alpha_are_the_definitions(name, seed):
    problem = RISKS[name]
    alpha = feasible(problem, seed)
    c = certify(problem, Point(alpha))
    assert c.dual_objective == pytest.approx(dual_value(problem, alpha), rel=1e-9, abs=1e-9)
    beta = problem.risk.beta(alpha)
    scores = gram(problem) @ beta
    losses = problem.risk.loss.value(problem.y, scores + c.point.b)
    primal = 0.5 * beta @ scores + weight(problem) * losses.sum()
    assert c.primal_objective == pytest.approx(primal, rel=1e-9)
    assert c.gap >= 0
    assert c.primal_residual <= 1e-12
    assert c.bound_source == "alpha"


@pytest.mark.parametrize("name", LINEAR)
@given(seed=st.integers(0, 1000), size=st.floats(1e-3, 1e3))
def test_any_weights_lie_above_any_dual_point(name, seed, size):
    problem = LINEAR[name]
    w = size * np.random.default_rng(seed).standard_normal(4)
    from_w, both = certify(problem, Point(w=w)), certify(problem, Point(feasible(problem, seed), w))
    assert from_w.primal_objective == pytest.approx(primal_value(problem, w, from_w.point.b))
    assert from_w.dual_objective <= both.primal_objective * (1 + 1e-12)
    assert both.dual_objective <= from_w.primal_objective * (1 + 1e-12)
    assert (from_w.bound_source, both.bound_source) == ("recovered from w", "alpha and w")


@pytest.mark.parametrize("name", [name for name in RISKS if "intercept" in name])
@given(seed=st.integers(0, 1000), off=st.floats(-3.0, 3.0))
def test_the_intercept_is_the_best_one(name, seed, off):
    problem = RISKS[name]
    w = np.random.default_rng(seed).standard_normal(4)
    b = certify(problem, Point(w=w)).point.b
    best = primal_value(problem, w, b)
    assert best <= primal_value(problem, w, b + off) * (1 + 1e-12)


def test_alpha_off_the_plane_or_the_domain_is_projected():
    problem = RISKS["risk_logistic_intercept"]
    c = certify(problem, Point(np.full(N, 2 * C)))
    assert c.primal_residual >= C
    assert c.projection_distance > 0
    assert abs(Y @ c.point.alpha) <= 1e-12
    assert (c.point.alpha >= 0).all()
    assert (c.point.alpha <= C).all()


@pytest.mark.parametrize("name", ["risk_ridge", "risk_kernel_ridge", "risk_polynomial_ridge"])
def test_ridge_regression_is_certified_at_its_closed_form(name):
    problem = RISKS[name]
    alpha = np.linalg.solve(gram(problem) + N * problem.lam * np.eye(N), TARGETS)
    c, proven = (certify(problem, Point(alpha), rigorous=r) for r in (False, True))
    assert proven.relative_gap <= 1e-12
    assert c.relative_gap <= c.resolution <= 1e-11
    assert c.kkt_violation <= 1e-12
    assert certify(problem, Point(1.01 * alpha)).relative_gap > 1e-5


def test_ridge_regression_with_an_intercept_centres_the_data():
    centred = X - X.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + N * LAM * np.eye(4), centred.T @ TARGETS)
    c = certify(RISKS["risk_ridge_intercept"], Point(w=w))
    assert c.relative_gap <= 1e-13
    assert c.point.b == pytest.approx(TARGETS.mean() - X.mean(axis=0) @ w, rel=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_perceptrons_optimum_is_zero(intercept):
    """Every w ≠ 0 costs ½‖w‖² and w = 0 nothing: regularised, it is a degenerate problem."""
    problem = RegularizedERM(X, Y, LAM, "perceptron", intercept=intercept)
    at_zero = certify(problem, Point(w=np.zeros(4)))
    suboptimal = certify(problem, Point(w=np.full(4, 1e-3)))
    assert at_zero.dual_objective <= 0 <= at_zero.primal_objective
    assert at_zero.relative_gap <= 1e-15
    assert "w = 0 is optimal" in at_zero.reason
    assert 0 < suboptimal.primal_objective <= suboptimal.gap
    assert suboptimal.relative_gap == pytest.approx(suboptimal.gap / (N * C))


def test_one_class_with_an_intercept_costs_nothing():
    problem = RegularizedERM(X, np.ones(N), LAM, intercept=True)
    c = certify(problem, Point(w=np.zeros(4)))
    assert c.relative_gap <= 1e-12
    assert np.isfinite(c.point.b)


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("size", [1e160, 1e308])
def test_weights_beyond_float64_have_no_bound_and_a_reason(name, size):
    c = certify(LINEAR[name], Point(w=np.full(4, size)))
    assert not np.isfinite(c.gap)
    assert "float64" in c.reason


def test_the_hinge_risk_is_the_soft_margin():
    risk, old = RegularizedERM(X, Y, LAM, "hinge"), HingeERM(X, Y, LAM)
    alpha = np.random.default_rng(1).uniform(0, C, N)
    assert risk.family_hash == old.family_hash
    assert certify(risk, Point(alpha)).gap == certify(old, Point(alpha)).gap
    with_kernel = RegularizedERM(X, Y, LAM, "hinge", RBF(1.0), intercept=True)
    assert with_kernel.family_hash == SoftMarginDual(X, Y, C, RBF(1.0)).family_hash
    assert reduce(with_kernel, QP).form.n == reduce(with_kernel, BoxQP).form.n == N


def test_the_epsilon_insensitive_risk_is_support_vector_regression():
    risk = RegularizedERM(X, TARGETS, LAM, EpsilonInsensitive(0.1), RBF(1.0), intercept=True)
    assert risk.family_hash == SVRDual(X, TARGETS, C, 0.1, RBF(1.0)).family_hash


def test_risks_with_other_losses_are_other_problems():
    names = ("squared_hinge", "logistic", "perceptron")
    risks = [RegularizedERM(X, Y, LAM, name) for name in names]
    risks += [RegularizedERM(X, Y, LAM, SquaredEpsilonInsensitive(e)) for e in (0.1, 0.2)]
    assert len({risk.family_hash for risk in risks}) == 5
    assert len({risk.hash for risk in risks}) == 5


@pytest.mark.parametrize("form", [QP, BoxQP])
def test_a_risk_without_a_quadratic_program_is_refused_with_a_reason(form):
    with pytest.raises(Unsupported, match="logistic loss has no form as a quadratic program"):
        reduce(RISKS["risk_logistic_sparse"], form)


def test_an_indefinite_kernel_has_no_bounds():
    c = certify(RegularizedERM(X, Y, LAM, kernel=Sigmoid(1.0, -1.0)), Point(np.full(N, 0.1)))
    assert np.isnan(c.gap)
    assert c.reason == "the kernel is indefinite: only stationarity can be checked"


def test_a_precomputed_kernel_gives_the_same_certificate():
    risk = RISKS["risk_logistic_rbf"]
    stored, point = replace(risk, X=gram(risk), kernel=Precomputed()), Point(feasible(risk, 0))
    assert certify(stored, point).gap == pytest.approx(certify(risk, point).gap)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "hing"}, "loss: must be one of .*, hinge, logistic"),
        ({"loss": "epsilon_insensitive"}, "it has an epsilon"),
        ({"loss": Softmax(3)}, "loss: must be one of"),
        ({"lam": 0.0}, "lam: must be"),
        ({"y": TARGETS}, "y: labels must be -1 and"),
        ({"intercept": 1}, "intercept: must be"),
    ],
)
def test_a_bad_setting_is_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        RegularizedERM(**({"X": X, "y": Y, "lam": LAM} | change))


def test_every_risk_has_an_erm_form():
    for problem in RISKS.values():
        form = reduce(problem, ERM).form
        assert np.allclose(form.C, weight(problem))
        assert form.loss == problem.risk.loss
