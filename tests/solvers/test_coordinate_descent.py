"""Coordinate descent: the general loop on smooth functions, and the solver it gives for a box QP."""

import numpy as np
import pytest

from dualgap.problems import (
    RBF,
    SoftMarginDual,
    datasets,
)
from dualgap.solvers import CoordinateDescent, solve
from dualgap.solvers.coordinate_descent import minimise


def quadratic(d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    return A @ A.T + np.eye(d), rng.standard_normal(d)


@pytest.mark.parametrize("seed", range(5))
def test_the_general_loop_finds_the_minimum_of_a_quadratic(seed: int) -> None:
    P, q = quadratic(4, seed)
    path = minimise(lambda x: 0.5 * x @ P @ x + q @ x, np.ones(4), sweeps=500, tol=1e-8)
    assert np.allclose(path[-1], np.linalg.solve(P, -q), atol=1e-5)


def test_the_general_loop_minimises_a_nonquadratic_function() -> None:
    def f(x: np.ndarray) -> float:
        return float(np.logaddexp(x[0] + 2 * x[1], -x[0]) + 0.5 * x @ x)

    path = minimise(f, np.array([3.0, -2.0]))
    h = 1e-5 * np.eye(2)
    gradient = [(f(path[-1] + step) - f(path[-1] - step)) / 2e-5 for step in h]
    assert np.abs(gradient).max() < 1e-5


def test_every_step_is_along_one_coordinate_and_none_rises() -> None:
    P, q = quadratic(3, 9)

    def f(x: np.ndarray) -> float:
        return float(0.5 * x @ P @ x + q @ x)

    path = minimise(f, np.array([2.0, -1.0, 4.0]), sweeps=8, tol=1e-12)
    steps = np.diff(path, axis=0)
    assert path.shape == (8 * 3 + 1, 3)
    turns = np.arange(24) % 3
    assert all(
        np.flatnonzero(step).tolist() in ([turn], [])
        for step, turn in zip(steps, turns, strict=True)
    )
    assert (np.diff([f(x) for x in path]) <= 0).all()


def test_coordinate_descent_may_stick_at_a_kink() -> None:
    path = minimise(lambda x: abs(x[0] - x[1]) + 0.1 * abs(x[0] + x[1] - 4), np.zeros(2))
    assert np.allclose(path[-1], 0.0, atol=1e-6), "the minimum is at (2, 2)"


@pytest.mark.parametrize("x", [np.zeros((2, 2)), np.array([1.0, np.nan])])
def test_the_general_loop_refuses_an_invalid_point(x: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"^x: must be a vector of finite numbers"):
        minimise(lambda z: float(z.sum()), x)


def test_the_dual_never_falls_from_sweep_to_sweep() -> None:
    data = datasets.load("two_gaussians", n=60)
    problem = SoftMarginDual(data.X, data.y, 1.0, RBF(1.0), intercept=False)
    values = [
        solve(problem, CoordinateDescent(tol=1e-12), max_iter=k).certificate.dual_objective
        for k in range(1, 15)
    ]
    assert (np.diff(values) >= -1e-12 * abs(values[-1])).all()
