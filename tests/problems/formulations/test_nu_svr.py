"""ν-SVR against its ν-property, regression with the tube that it finds, and scikit-learn."""

import numpy as np
import pytest

from problems import RBF, BoxQP, Linear, NuSVR, Point, SVRDual, certify, reduce
from solvers import SMO, CvxoptQP, LibSVM, ProjectedGradient, solve

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (60, 2))
Y = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RNG.standard_normal(60) + 7.0


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)])
def test_regression_with_its_tube_has_the_same_answer(kernel):
    solution = solve(NuSVR(X, Y, 0.4, 2.0, kernel), SMO(tol=1e-10))
    epsilon = solution.problem.tube_at(solution.certificate.offsets)
    certificate = certify(SVRDual(X, Y, 2.0, epsilon, kernel), Point(solution.alpha))
    assert certificate.relative_gap <= 1e-7
    assert certificate.point.b == pytest.approx(solution.b, abs=1e-6)


@pytest.mark.parametrize(
    "solver", [SMO(tol=1e-9), CvxoptQP(), ProjectedGradient(tol=1e-9), LibSVM(tol=1e-6)]
)
@pytest.mark.parametrize("nu", [1e-3, 0.5, 1.0])
def test_tubes_of_every_width_are_certified(solver, nu):
    weights = np.linspace(0.5, 2.0, 60)
    solution = solve(NuSVR(X, Y, nu, weights, RBF(0.5)), solver, target_gap=1e-5)
    assert solution.verdict == "solved"
    assert solution.certificate.projection_distance <= 1e-5


def test_bounds_of_any_point_enclose_the_optimum_proven_or_not():
    problem = NuSVR(X, Y, 0.3, 2.0)
    best = certify(problem, solve(problem, SMO(tol=1e-11)), rigorous=True)
    rng = np.random.default_rng(1)
    for size in (1e-2, 1.0, 1e2):
        alpha, w = size * rng.standard_normal(60), size * rng.standard_normal(2)
        for point in (Point(alpha), Point(w=w), Point(alpha, w)):
            for rigorous in (False, True):
                found = certify(problem, point, rigorous=rigorous)
                assert found.dual_objective <= best.primal_objective
                assert best.dual_objective <= found.primal_objective
                assert found.gap >= found.primal_objective - found.dual_objective


def test_a_point_at_the_budget_keeps_the_bounds_of_its_variables():
    problem = NuSVR(X, Y, 0.4, 2.0, RBF(0.5))
    solution = solve(problem, SMO(tol=1e-10))
    assert np.abs(solution.alpha).sum() == pytest.approx(problem.budget)
    assert solution.certificate.violating_pair <= 1e-9
    assert {"zero", "free", "bounded"} == set(solution.geometry.kinds)
    x = problem.to_box_variables(solution.alpha)
    form = reduce(problem, BoxQP).form
    np.testing.assert_allclose(np.bincount(form.groups, form.a * x), form.delta)
    np.testing.assert_array_equal(problem.from_box_variables(x), solution.alpha)


def test_less_than_the_budget_is_filled_with_equal_parts():
    problem = NuSVR(X, Y, 1.0, 2.0)
    alpha = np.where(np.arange(60) % 2 == 0, 0.1, -0.1)
    assert problem.infeasibility(alpha) <= 1e-12
    x = problem.to_box_variables(alpha)
    form = reduce(problem, BoxQP).form
    np.testing.assert_allclose(form.project(x), x)
    np.testing.assert_allclose(problem.from_box_variables(x), alpha)
    assert problem.infeasibility(20.0 * alpha) == pytest.approx(0.0)
    assert problem.infeasibility(30.0 * alpha) == pytest.approx(60.0)
