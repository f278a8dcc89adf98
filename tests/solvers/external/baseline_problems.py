"""The small problems that every baseline is tried on, and what an answer to one is worth."""

from typing import Any

import pytest
from tests.small_problems import PROBLEMS, X, Y

from dualgap.problems import RBF, Formulation, Problem, SoftMarginDual, SVRDual
from dualgap.solvers import SMO, Solution, Solver, Status, solve

LINEAR = {
    "one C": PROBLEMS["soft_primal_no_intercept"],
    "sparse": PROBLEMS["erm_sparse"],
    "a C for each": PROBLEMS["soft_dual_linear_no_intercept"],
    "risk": PROBLEMS["erm"],
    "regression": PROBLEMS["svr_primal_no_intercept"],
    "regression, a C for each": PROBLEMS["svr_dual_linear_no_intercept"],
}
KERNEL = {
    "linear": PROBLEMS["soft_dual_linear"],
    "rbf, a C for each": PROBLEMS["soft_dual_weights"],
    "polynomial, sparse": PROBLEMS["soft_dual_polynomial_sparse"],
    "regression": PROBLEMS["svr_dual_rbf"],
    "regression, a C for each": PROBLEMS["svr_primal_sparse"],
}
QUADRATIC = {
    "dual": KERNEL["rbf, a C for each"],
    "singular dual": KERNEL["linear"],
    "small C": SoftMarginDual(X, Y, 1e-4, RBF(0.3)),
    "primal": PROBLEMS["soft_primal_sparse"],
    "primal without intercept": PROBLEMS["soft_primal_no_intercept"],
    "regression primal": PROBLEMS["svr_primal"],
    "hard margin": PROBLEMS["hard_primal"],
    "hard margin dual": PROBLEMS["hard_dual_rbf_no_intercept"],
}


def optimum(problem: Formulation) -> float:
    """Return the primal optimum, certified."""
    settings = problem.X, problem.y, problem.risk.C
    if problem.risk.loss.is_regression:
        view = SVRDual(*settings, problem.epsilon, problem.kernel, problem.intercept)
    else:
        view = SoftMarginDual(*settings, problem.kernel, problem.intercept)
    certificate = solve(view, SMO(tol=1e-8)).certificate
    assert certificate.relative_gap <= 1e-6
    return certificate.primal_objective


def excess(solution: Solution) -> float:
    """Return by how much an answer's primal value exceeds the optimum, relatively."""
    return solution.certificate.primal_objective / optimum(solution.problem) - 1


def solve_installed(problem: Problem, solver: Solver, **limits: Any) -> Solution:
    """Return a solver's answer; skip the test where its package is not installed."""
    solution = solve(problem, solver, **limits)
    if solution.status is Status.NOT_INSTALLED:
        pytest.skip(solution.note)
    return solution
