"""The solver that shows the choice of `solve` solves both kinds of problem, and says what it picked."""

import numpy as np
import pytest

from experiments.choice import ByDiagnosis
from problems import RBF, SoftMarginDual
from solvers import solve


@pytest.mark.parametrize(("gamma", "picked"), [(4.0, 1.0), (0.05, 0.0)])
def test_what_is_picked_is_counted_and_solves_the_problem(gamma, picked):
    X = np.random.default_rng(0).standard_normal((3000, 15))
    problem = SoftMarginDual(X, np.where(X[:, 0] > 0, 1.0, -1.0), 1.0, RBF(gamma))
    answer = solve(problem, ByDiagnosis(tol=1e-4))
    assert answer.counters["picked_newton"] == picked
    assert answer.certificate.relative_gap < 1e-3
