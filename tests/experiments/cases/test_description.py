"""What is recorded of a problem is what can be computed of it by other means."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.experiments.cases.description import at_optimum, describe_optimum, distinct, spectrum
from dualgap.problems import RBF, BoxQP, Precomputed, SoftMarginDual, reduce
from dualgap.problems.datasets import TwoGaussians
from dualgap.solvers import SMO, solve


def test_the_description_of_an_optimum_agrees_with_dense_matrices():
    data = TwoGaussians(n=60, d=3, distance=2.0, seed=1).load()
    X, y = np.vstack([data.X, data.X[:15]]), np.append(data.y, data.y[:15])
    problem = SoftMarginDual(X, y, C=1.0, kernel=RBF(0.5))
    solution = solve(problem, SMO(tol=1e-10))
    optimum_values, alpha = describe_optimum(solution), solution.alpha
    K = problem.kernel.bind(X).block(slice(None), slice(None))
    Q = y[:, None] * K * y
    assert optimum_values["fraction_duplicate"] == pytest.approx(0.2)
    assert optimum_values["fraction_bounded"] == np.mean(alpha > 1 - 1e-8)
    assert optimum_values["largest_eigenvalue"] == pytest.approx(np.linalg.norm(Q, 2), rel=1e-3)
    assert optimum_values["start_distance"] == pytest.approx(np.linalg.norm(alpha))
    assert optimum_values["effective_rank"] == pytest.approx(np.trace(K) ** 2 / (K**2).sum())
    assert optimum_values["effective_rank_error"] == 0.0
    assert optimum_values["radius"] == pytest.approx(1.0)
    assert optimum_values["strict_complementarity"] >= 0


def test_free_variables_are_conditioned_within_the_equality():
    K = np.diag([1.0, 2.0, 10.0, 10.0])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    problem = SoftMarginDual(K, y, C=100.0, kernel=Precomputed())
    optimum_values = describe_optimum(solve(problem, SMO(tol=1e-12)))
    keeping = np.eye(4) - np.outer(y, y) / 4
    values = np.linalg.eigvalsh(keeping @ (y[:, None] * K * y) @ keeping)[
        1:
    ]  # the first is 0, along y
    assert optimum_values["fraction_free"] == 1.0
    assert optimum_values["condition_number_free"] == pytest.approx(values[-1] / values[0])


def test_blocks_estimate_the_spectrum_within_their_standard_error():
    data = TwoGaussians(n=1200, d=4, distance=2.0, seed=1).load()
    K = RBF(0.2).bind(data.X).block(slice(None), slice(None))
    order = np.random.default_rng(0).permutation(1200)
    optimum_values = spectrum([K[np.ix_(rows, rows)] for rows in np.split(order[:1000], 4)], 1200)
    full = spectrum([K], 1200)
    error = optimum_values["effective_rank_error"]
    assert 0 < error < 0.1 * full["effective_rank"]
    assert abs(optimum_values["effective_rank"] - full["effective_rank"]) < 4 * error


def test_equal_rows_are_counted_once_dense_or_sparse():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    assert distinct(X) == distinct(sp.csr_array(X)) == 3


@pytest.mark.parametrize(("X", "rank"), [(np.ones((1, 1)), 1.0), (np.zeros((6, 2)), np.nan)])
def test_one_sample_and_samples_of_zero_are_described(X, rank):
    y = np.where(np.arange(len(X)) % 2, -1.0, 1.0)
    columns = describe_optimum(solve(SoftMarginDual(X, y, C=1.0), SMO()))
    assert columns["largest_eigenvalue"] == float(X[0] @ X[0])
    assert columns["effective_rank"] == pytest.approx(rank, nan_ok=True)


def test_interior_point_residues_of_zero_count_as_lower_bounds():
    data = TwoGaussians(n=60, d=3, distance=2.0, seed=1).load()
    problem = SoftMarginDual(data.X, data.y, C=1.0, kernel=RBF(0.5))
    x, box = solve(problem, SMO(tol=1e-10)).alpha, reduce(problem, BoxQP).form
    exact, inside = (at_optimum(box, point) for point in (x, np.clip(x, 1e-10, 1 - 1e-10)))
    assert inside["fraction_bounded"] == exact["fraction_bounded"]
