"""The certificate from blocks against `certify` on the same samples in one array."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.differential.grouped import Pinball
from tests.problems.blocks.files import in_blocks
from tests.small_problems import two_classes

from dualgap.problems import (
    HingeERM,
    Point,
    RegularizedERM,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    certify,
)
from dualgap.problems.blocks import ArraySource, Blocks, DualRule
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.losses import Logistic, SquaredHinge
from dualgap.solvers import Status, solve
from dualgap.solvers.near_rows import NearRows

X, Y = two_classes(n=300, d=5)
TARGETS = X @ [1.0, -2.0, 0.5, 0.0, 1.0] + 0.5 * np.sin(np.arange(300))
WEIGHT = np.random.default_rng(1).uniform(0.1, 3.0, 300)
CUTS = (1, 100, 100, 250)  # blocks of one row and of none among them
POSED = {
    "hinge": lambda X, y, intercept: SoftMarginPrimal(X, y, C=0.5, intercept=intercept),
    "hinge in the dual": lambda X, y, intercept: SoftMarginDual(X, y, C=20.0, intercept=intercept),
    "hinge risk": lambda X, y, intercept: HingeERM(X, y, lam=0.01, intercept=intercept),
    "tube": lambda X, y, intercept: SVRDual(X, y, C=0.5, epsilon=0.1, intercept=intercept),
    "squared hinge": lambda X, y, intercept: WeightedERM(
        X, y, 0.5, SquaredHinge(), intercept=intercept
    ),
    "logistic": lambda X, y, intercept: RegularizedERM(
        X, y, lam=0.01, loss=Logistic(), intercept=intercept
    ),
}


@pytest.fixture(params=POSED)
def pose(request):
    return POSED[request.param]


@pytest.fixture(params=[True, False], ids=["intercept", "no intercept"])
def intercept(request):
    return request.param


def _y(pose):
    return TARGETS if pose is POSED["tube"] else Y


@cache
def solved(pose, intercept):
    """Return the certificate of the samples in one array to a gap of 1e-10."""
    return solve(pose(X, _y(pose), intercept), target_gap=1e-10).certificate


def test_it_agrees_with_that_of_the_joined_samples(pose, intercept, tmp_path):
    joined, problem = (
        pose(X, _y(pose), intercept),
        pose(in_blocks(tmp_path, X, _y(pose), CUTS), None, intercept),
    )
    solution = solve(problem, NearRows())
    c = solution.certificate
    assert c.relative_gap <= 1e-6
    point = Point(w=solution.w, b=solution.b)
    primal = certify(joined, point).primal_objective
    # certify moves an intercept to its best place; the certificate from blocks keeps the solver's
    assert c.primal_objective == pytest.approx(primal, rel=1e-6)
    assert c.primal_objective >= primal * (1 - 1e-12)


def test_its_dual_bound_is_that_of_the_same_dual_variables(intercept, tmp_path):
    problem = SoftMarginDual(in_blocks(tmp_path, X, Y, CUTS), None, C=0.5, intercept=intercept)
    joined = SoftMarginDual(X, Y, C=0.5, intercept=intercept)
    inside = solve(joined, NearRows()).certificate  # the same rounds, whose alpha is in memory
    c = solve(problem, NearRows()).certificate
    assert inside.relative_gap <= 1e-6
    assert c.dual_objective == pytest.approx(inside.dual_objective, rel=1e-6)


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-7])
def test_it_never_excludes_the_optimum(pose, intercept, tol, tmp_path):
    optimum = solved(pose, intercept)
    problem = pose(in_blocks(tmp_path, X, _y(pose), CUTS), None, intercept)
    c = solve(problem, NearRows(), target_gap=tol).certificate
    assert c.dual_objective <= optimum.primal_objective
    assert c.primal_objective >= optimum.dual_objective


def test_it_never_excludes_the_optimum_for_arbitrary_weights(pose, intercept, tmp_path):
    optimum = solved(pose, intercept)
    problem = pose(in_blocks(tmp_path, X, _y(pose), CUTS), None, intercept)
    for w in np.random.default_rng(3).standard_normal((5, 5)):
        c = certify(problem, Point(w=w, b=0.3))
        assert c.dual_objective <= optimum.primal_objective
        assert c.primal_objective >= optimum.dual_objective


def test_weights_of_samples_multiply_C(intercept, tmp_path):
    problem = SoftMarginDual(
        in_blocks(tmp_path, X, Y, CUTS, WEIGHT), None, C=0.5, intercept=intercept
    )
    optimum = solve(SoftMarginDual(X, Y, C=0.5 * WEIGHT, intercept=intercept)).certificate
    c = solve(problem, NearRows()).certificate
    assert c.relative_gap <= 1e-6
    assert c.primal_objective == pytest.approx(optimum.primal_objective, rel=3e-6)


@pytest.mark.parametrize("rule", [np.zeros(3), np.full(16, np.nan), np.full(16, -1.0)])
def test_arrays_that_are_not_dual_variables_are_refused(rule):
    with pytest.raises(ValueError, match="numbers do not form a dual rule for 5 features"):
        DualRule.from_vector(rule, 5)


@pytest.mark.parametrize("w", [np.zeros(3), np.full(6, np.nan)])
def test_a_rule_of_other_samples_proves_nothing(w, tmp_path):
    problem = SoftMarginDual(in_blocks(tmp_path, X, Y, CUTS), None, C=0.5)
    c = certify(problem, Point(w=np.zeros(5), b=0.0, rule=DualRule.at(w)))
    assert np.isnan(c.dual_objective)
    assert "numbers do not form a dual rule for 5 features" in c.reason


def test_dual_variables_in_any_order_are_a_bound(tmp_path):
    problem = SoftMarginPrimal(in_blocks(tmp_path, X, Y, CUTS), None, C=0.5)
    zero = np.zeros(6)
    rule = DualRule(zero, zero, 0.0, 300, np.array([250, 0]), np.array([0.5, 0.5]))
    c = certify(problem, Point(w=np.zeros(5), rule=rule))
    assert c.dual_objective <= c.primal_objective


def test_a_loss_with_other_limits_than_0_and_C_has_no_false_bound():
    ones = np.ones(60)
    blocks = Blocks.checked(ArraySource(ones[:, None], ones, None, 15))
    problem = RegularizedERM(blocks, None, 1.0, Pinball(0.1))
    optimum = solve(replace(problem, X=ones[:, None], y=ones)).certificate.primal_objective
    assert optimum == pytest.approx(0.095, rel=1e-4)
    assert solve(problem).status is Status.UNSUPPORTED
    assert not certify(problem, Point(w=np.ones(1))).dual_objective > optimum
