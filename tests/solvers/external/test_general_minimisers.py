"""Scaled conjugate gradient, SciPy's minimisers and mystic, as the notes' closing challenge has them."""

import numpy as np
import pytest

from problems import RBF, HardMarginDual, SoftMarginDual, datasets
from solvers import SCG, CvxoptQP, Mystic, ScipyMinimize, Status, solve
from solvers.scg import minimise


def small(**settings):
    data = datasets.load("four_gaussians", n=40, seed=0)
    return SoftMarginDual(data.X, data.y, kernel=RBF(0.05), **settings)


@pytest.mark.parametrize("seed", range(3))
def test_scg_finds_the_minimum_of_a_quadratic(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 30))
    A, c = A @ A.T + np.eye(30), rng.standard_normal(30)
    *_, last = minimise(lambda x: (0.5 * x @ A @ x - c @ x, A @ x - c), np.zeros(30), 1e-8, 500)
    assert last.converged
    assert np.allclose(last.x, np.linalg.solve(A, c), atol=1e-7)


def test_scg_finds_the_minimum_of_a_function_that_is_not_quadratic():
    def rosenbrock(x):
        a, b = x[1] - x[0] ** 2, 1 - x[0]
        return 100 * a**2 + b**2, np.array([-400 * a * x[0] - 2 * b, 200 * a])

    *_, last = minimise(rosenbrock, np.array([-1.2, 1.0]), 1e-8, 5000)
    assert last.converged
    assert np.allclose(last.x, 1.0, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_scg_reaches_the_certified_optimum(C, intercept):
    problem = small(C=C, intercept=intercept)
    found, best = solve(problem, SCG(tol=1e-8)), solve(problem, CvxoptQP())
    assert found.claimed == "optimal"
    assert found.certificate.relative_gap <= 1e-6
    assert found.certificate.primal_objective >= best.certificate.dual_objective


def test_scg_needs_no_upper_bounds():
    data = datasets.load("four_gaussians", n=40, seed=0)
    assert solve(HardMarginDual(data.X, data.y, RBF(0.05)), SCG(tol=1e-9)).verdict == "solved"


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_scipy_reaches_the_certified_optimum(method):
    found = solve(small(C=1.0), ScipyMinimize(method), target_gap=1e-4)
    assert found.claimed == "optimal"
    assert found.verdict == "solved"


def test_mystic_comes_near_on_a_small_problem():
    pytest.importorskip("mystic")
    found = solve(small(C=1.0), Mystic())
    assert found.claimed == "stopped"
    assert found.certificate.relative_gap <= 0.1


def test_too_many_variables_are_refused_in_a_sentence():
    data = datasets.load("four_gaussians", n=1200, seed=0)
    problem = SoftMarginDual(data.X, data.y, kernel=RBF(0.05))
    for solver in (ScipyMinimize(), Mystic()):
        refused = solve(problem, solver)
        assert refused.status in (Status.UNSUPPORTED, Status.NOT_INSTALLED)
        assert "at most" in refused.reason or "pip install" in refused.reason


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method: must be one of slsqp, trust-constr, got 'x'"):
        ScipyMinimize("x")
