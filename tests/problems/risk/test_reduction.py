"""Reductions: a form's objective is the formulation's, and `recover` brings its points back."""

from dataclasses import replace

import numpy as np
import pytest
from tests.small_problems import BINARY, HARD

from dualgap.problems import (
    ERM,
    QP,
    BoxQP,
    FormPoint,
    Gram,
    Point,
    Unsupported,
    certify,
    reduce,
)
from dualgap.problems.risk.dual_point import project_dual
from dualgap.problems.risk.risk import box_point, from_box_point

EVERY = {name: problem for name, problem in BINARY.items() if not name.startswith("risk")}
SOFT = {name: problem for name, problem in EVERY.items() if name not in HARD}
each = pytest.mark.parametrize("problem", EVERY.values(), ids=EVERY)
each_soft = pytest.mark.parametrize("problem", SOFT.values(), ids=SOFT)


def random_alpha(problem, seed=1):
    local = np.random.default_rng(seed)
    return project_dual(problem.risk, local.normal(0.3, 1.0, problem.n))


def primal(problem, w, b):
    loss = problem.risk.loss.value(problem.y, problem.X @ w + b)
    return 0.5 * w @ w + problem.risk.C @ loss


def minus_dual(problem, alpha):
    beta = problem.risk.beta(alpha)
    linear = alpha.sum()
    if problem.risk.loss.is_regression:
        linear = problem.y @ alpha - problem.epsilon * np.abs(alpha).sum()
    return 0.5 * beta @ problem.samples.gram().dense() @ beta - linear


@each
def test_the_box_qps_objective_is_minus_the_dual(problem):
    reduction, alpha = reduce(problem, BoxQP), random_alpha(problem)
    form, x = reduction.form, box_point(problem.risk, alpha)
    assert 0.5 * x @ form.Q.matvec(x) + form.p @ x == pytest.approx(minus_dual(problem, alpha))
    assert ((form.lb <= x) & (x <= form.ub)).all()
    if problem.intercept:
        assert form.a @ x == pytest.approx(form.delta[0], abs=1e-12)
    else:
        assert form.a is None
    np.testing.assert_array_equal(reduction.recover(FormPoint(x)).alpha, alpha)
    np.testing.assert_array_equal(from_box_point(problem.risk, x), alpha)


@pytest.mark.parametrize("name", [k for k, p in EVERY.items() if p.view == "dual"])
def test_the_qp_of_a_dual_formulation_is_its_box_qp(name):
    problem = EVERY[name]
    reduction, alpha = reduce(problem, QP), random_alpha(problem)
    form, x = reduction.form, box_point(problem.risk, alpha)
    value = 0.5 * x @ form.P.dense() @ x + form.q @ x
    assert value == pytest.approx(minus_dual(problem, alpha))
    assert form.G is None
    if problem.intercept:
        np.testing.assert_allclose(form.A @ x, form.b_eq, atol=1e-12)
    np.testing.assert_array_equal(reduction.recover(FormPoint(x)).alpha, alpha)


@pytest.mark.parametrize("name", [k for k, p in SOFT.items() if p.view != "dual"])
def test_the_qp_of_a_primal_formulation_has_its_objective_at_the_smallest_slacks(name):
    problem = SOFT[name]
    form = reduce(problem, QP).form
    w, b = np.linspace(-1, 1, problem.d), 0.4 if problem.intercept else 0.0
    f = problem.X @ w + b
    if problem.risk.loss.is_regression:
        e = problem.epsilon
        slacks = [np.maximum(0, problem.y - f - e), np.maximum(0, f - problem.y - e)]
    else:
        slacks = [np.maximum(0, 1 - problem.y * f)]
    x = np.concatenate([w, [b] if problem.intercept else [], *slacks])
    assert 0.5 * x @ (form.P @ x) + form.q @ x == pytest.approx(primal(problem, w, b))
    assert (form.G @ x <= form.h + 1e-12).all()
    assert (x >= form.lb).all()
    shrunk = x - np.concatenate([np.zeros(x.size - problem.n), np.full(problem.n, 1e-3)])
    assert (form.G @ shrunk > form.h).any() or (shrunk < form.lb).any()


@pytest.mark.parametrize("name", [k for k, p in EVERY.items() if p.view != "dual"])
def test_a_primal_qps_multipliers_are_the_dual_variables(name):
    problem, alpha = EVERY[name], random_alpha(EVERY[name])
    reduction = reduce(problem, QP)
    x = np.arange(1.0, 1.0 + reduction.form.n)
    point = reduction.recover(FormPoint(x, inequality=box_point(problem.risk, alpha)))
    np.testing.assert_array_equal(point.alpha, alpha)
    np.testing.assert_array_equal(point.w, x[: problem.d])
    assert point.b == (x[problem.d] if problem.intercept else None)
    # stationarity in w: the multipliers' rows of G must add up to -w(alpha)
    form = reduction.form
    rows = (form.G.T @ box_point(problem.risk, alpha))[: problem.d]
    np.testing.assert_allclose(-rows, problem.X.T @ problem.risk.beta(alpha), atol=1e-12)


@each_soft
def test_the_erms_objective_is_the_primal(problem):
    reduction, alpha = reduce(problem, ERM), random_alpha(problem)
    form, beta = reduction.form, problem.risk.beta(alpha)
    scores = form.gram.matvec(beta)
    value = 0.5 * beta @ scores + form.C @ form.loss.value(form.y, scores + 0.3)
    point = reduction.recover(FormPoint(None, beta=beta, b=0.3))
    np.testing.assert_array_equal(point.alpha, alpha)
    assert point.w is None
    assert point.b == 0.3
    if problem.samples.is_linear:
        assert value == pytest.approx(primal(problem, problem.X.T @ beta, 0.3))
        w = np.arange(float(problem.d))
        np.testing.assert_array_equal(reduction.recover(FormPoint(w)).w, w)
    if not problem.intercept:
        certificate = certify(problem, Point(alpha))
        value = 0.5 * beta @ scores + form.C @ form.loss.value(form.y, scores)
        assert value == pytest.approx(certificate.primal_objective)


@pytest.mark.parametrize("problem", HARD.values(), ids=HARD)
def test_the_hard_margin_has_no_empirical_risk(problem):
    with pytest.raises(Unsupported, match="the hard margin has no empirical-risk form"):
        reduce(problem, ERM)


@pytest.mark.parametrize(
    ("problem", "form"),
    [
        (p, f)
        for p in EVERY.values()
        for f in (BoxQP, QP, ERM)
        if f is not ERM or p in SOFT.values()
    ],
)
def test_a_start_is_projected_to_feasibility(problem, form):
    start = np.random.default_rng(3).normal(0, 10, problem.n)
    feasible = reduce(problem, form, Point(start)).form.start
    if form is QP and problem.view != "dual":
        assert feasible is None
        return
    expected = project_dual(problem.risk, start)
    if form is ERM:
        np.testing.assert_allclose(feasible, problem.risk.beta(expected))
    else:
        np.testing.assert_allclose(feasible, box_point(problem.risk, expected))


@each
def test_reducing_changes_nothing_and_is_repeatable(problem):
    before = problem.hash
    one, other = reduce(problem, BoxQP).form, reduce(problem, BoxQP).form
    np.testing.assert_array_equal(one.p, other.p)
    assert one.gram is not other.gram
    assert replace(problem).hash == before


def test_the_gram_matrix_respects_its_memory_limit():
    problem = SOFT["soft_dual_rbf"]
    form = reduce(problem, BoxQP, gram=Gram(problem.X, problem.kernel, memory=100)).form
    with pytest.raises(MemoryError, match="dense matrix of 42 variables"):
        form.Q.dense()
