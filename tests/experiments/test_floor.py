"""The measured time of dense kernel values."""

import pytest

from dualgap.experiments.floor import KernelFloor
from dualgap.problems import RBF, Linear, SoftMarginDual, SVRDual, datasets, reduce
from dualgap.problems.forms import BoxQP
from dualgap.solvers import solve


def test_the_floor_counts_its_values_and_gives_no_answer():
    data = datasets.load("breast_cancer")
    problem = SoftMarginDual(data.X, data.y, 1.0, RBF(1e-3))
    solution = solve(problem, KernelFloor(values=1e6))
    assert 1e6 <= solution.counters["kernel_evaluations"] < 2e6
    assert solution.time_solve > 0
    assert solution.claimed == "none"
    assert solution.verdict == "uncertified"
    assert solution.alpha is None


def test_the_floor_is_the_same_for_sparse_samples_and_for_regression():
    sparse = datasets.make("sparse_classification", n=50, d=30).load()
    problem = SVRDual(sparse.X, sparse.y, C=1.0, epsilon=0.1, kernel=RBF(0.1))
    assert solve(problem, KernelFloor(values=1e5)).counters["kernel_evaluations"] >= 1e5


def test_the_floor_of_a_linear_kernel_is_refused():
    data = datasets.make("two_moons", n=20).load()
    form = reduce(SoftMarginDual(data.X, data.y, 1.0, Linear()), BoxQP).form
    assert "RBF" in KernelFloor().refuses(form)


def test_the_floor_requires_a_positive_number_of_values():
    with pytest.raises(ValueError, match="values"):
        KernelFloor(values=0)
