"""The cutting plane against the quadratic program over every labelling."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from dualgap.problems import ChainMargin, datasets
from dualgap.solvers import CuttingPlane, solve


def small_chains(C: float = 1.0) -> ChainMargin:
    data = datasets.load("hidden_markov", n=6, length=3, d=2, labels=3, seed=1)
    return ChainMargin(data.X, data.y, length=3, C=C)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_its_optimum_is_that_of_every_constraint(C):
    problem = small_chains(C)
    chains = problem.chains
    w, slack = cp.Variable(chains.size), cp.Variable(6, nonneg=True)
    constraints = []
    for s in range(6):
        one = ChainMargin(problem.X, problem.y, 3).chains
        for labels in product(range(3), repeat=3):
            other = one.y.copy()
            other[s] = labels
            g, c = one.plane(other)  # all other sequences have their own labels, and add nothing
            constraints.append(slack[s] >= c - g @ w)
    reference = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * cp.sum(slack)), constraints)
    reference.solve(solver=cp.CLARABEL)

    solution = solve(problem, CuttingPlane(tol=1e-8))

    assert solution.claimed == "optimal"
    assert solution.certificate.relative_gap <= 1e-7
    assert np.isclose(solution.certificate.primal_objective, reference.value, rtol=1e-6)


def test_context_helps_if_single_samples_are_ambiguous():
    data = datasets.load("hidden_markov", n=60, length=10, seed=0)
    accuracy = []
    for length in (10, 1):
        problem = ChainMargin(data.X, data.y, length=length, C=0.03)
        solution = solve(problem, CuttingPlane(tol=1e-3), target_gap=1e-3)
        assert solution.verdict == "solved"
        accuracy.append((solution.decision_function(data.X).argmax(axis=1) == data.y).mean())
    assert accuracy[0] > accuracy[1] + 0.05
