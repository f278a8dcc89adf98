"""The decision function and the support vectors that are drawn are the solution's own."""

import numpy as np
import pandas as pd

from experiments.plots.plane import decision, kinds_of
from problems import HingeERM
from solvers import SMO, solve


def test_regions_are_the_solutions_own_decision_function(moons, model_of):
    points = np.random.default_rng(0).normal(size=(300, 2))
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        f = decision(model_of(solution), points)
        np.testing.assert_allclose(f, solution.decision_function(points), atol=1e-10)


def test_support_vectors_are_of_the_kinds_that_the_geometry_has(moons, model_of, row_of):
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        row = pd.Series(row_of(solution))
        assert list(kinds_of(row, model_of(solution))) == list(solution.geometry.kinds)
