"""Scaled conjugate gradient on the dual's augmented Lagrangian."""

import numpy as np
import pytest

from dualgap.solvers.scg import minimise


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
