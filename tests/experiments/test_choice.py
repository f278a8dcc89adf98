"""The solver that shows the choice of `solve` solves each kind of problem, and says what it picked."""

import numpy as np
import pytest

from dualgap.experiments.choice import ByDefault
from dualgap.problems import RBF, Linear, SoftMarginDual
from dualgap.solvers import solve


@pytest.mark.parametrize(
    ("kernel", "picked"),
    [
        (RBF(4.0), "semismooth_newton"),
        (RBF(0.05), "smo"),
        (Linear(), "dual_coordinate_descent"),
    ],
)
def test_the_picked_solver_is_counted_and_solves_the_problem(kernel, picked):
    X = np.random.default_rng(0).standard_normal((3000, 15))
    problem = SoftMarginDual(X, np.where(X[:, 0] > 0.3 * X[:, 1] ** 2, 1.0, -1.0), 1.0, kernel)
    answer = solve(problem, ByDefault(tol=1e-4))
    assert answer.counters[f"picked_{picked}"] == 1.0
    assert answer.certificate.relative_gap < 1e-3
    assert answer.claimed == "optimal"
