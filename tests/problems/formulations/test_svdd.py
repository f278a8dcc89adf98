"""SVDD against the one-class machine, which it is where k(x, x) is constant, and its own geometry."""

import numpy as np
import pytest

from dualgap.problems import RBF, SVDD, Linear, OneClassSVM, Polynomial, certify
from dualgap.solvers import SMO, LibSVM, Status, solve

X = np.random.default_rng(0).standard_normal((60, 2)) + 1.0


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
def test_svdd_with_a_constant_diagonal_is_the_one_class_machine(nu):
    ball = solve(SVDD(X, nu, RBF(0.7)), SMO(tol=1e-11))
    plane = solve(OneClassSVM(X, nu, RBF(0.7)), SMO(tol=1e-11))
    np.testing.assert_allclose(ball.alpha, plane.alpha, atol=1e-6)
    mass = nu * 60
    np.testing.assert_allclose(  # R² − ‖φ(x) − a‖² is 2/(νn) times wᵀφ(x) − ρ
        ball.decision_function(X), 2 / mass * plane.decision_function(X), atol=1e-8
    )
    # the objectives differ by ½(νn)²: tᵀα
    c, other = ball.certificate, plane.certificate
    assert c.dual_objective == pytest.approx(other.dual_objective + 0.5 * mass**2, rel=1e-9)


def test_svdd_without_a_constant_diagonal_is_another_machine():
    ball, plane = solve(SVDD(X, 0.3)), solve(OneClassSVM(X, 0.3))
    assert np.abs(ball.alpha - plane.alpha).max() > 0.5
    assert "ν-SVC, ν-SVR and one class" in solve(SVDD(X, 0.3), LibSVM()).reason
    assert solve(SVDD(X, 0.3, RBF(1.0)), LibSVM(tol=1e-8)).status is Status.FINISHED


def test_the_decision_is_the_distance_to_the_ball():
    nu = 0.2
    solution = solve(SVDD(X, nu), SMO(tol=1e-10))
    centre = solution.alpha @ X / (nu * 60)
    decision = solution.decision_function(X)
    radius2 = decision + ((X - centre) ** 2).sum(axis=1)
    np.testing.assert_allclose(radius2, radius2[0])
    primal = radius2[0] + solution.geometry.slacks.sum() / (nu * 60)
    assert solution.certificate.primal_objective == pytest.approx(0.5 * (nu * 60) ** 2 * primal)
    assert (solution.geometry.slacks > 1e-9).mean() <= nu
    assert solution.problem.task.score(decision, np.ones(60)) >= 1 - nu
    with pytest.raises(ValueError, match="no hyperplane"):
        _ = solution.geometry.distances


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), RBF(0.3)])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_proven_bounds_are_within_the_float64_ones(kernel, offset):
    problem = SVDD(X + offset, 0.2, kernel)
    solution = solve(problem, SMO(tol=1e-6))
    plain = certify(problem, solution, target_gap=np.inf)
    proven = certify(problem, solution, rigorous=True)
    assert plain.dual_objective <= proven.dual_objective <= proven.primal_objective
    assert proven.primal_objective <= plain.primal_objective
