"""The decision function and the support vectors that are drawn are the solution's own."""

import numpy as np
import pandas as pd

from experiments.plots import solved
from experiments.plots.plane import decision, kinds_of
from problems import RBF, HingeERM, NuSVC
from solvers import SMO, solve
from tests.experiments.plots.conftest import model_of, row_of


def test_regions_are_the_solutions_own_decision_function(moons):
    points = np.random.default_rng(0).normal(size=(300, 2))
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        f = decision(model_of(solution), points)
        np.testing.assert_allclose(f, solution.decision_function(points), atol=1e-10)


def test_regions_of_nu_svc_have_their_margins_at_one(moons):
    solution = solve(NuSVC(moons.X, moons.y, 0.3, RBF(1.0)), SMO(tol=1e-10))
    model, kinds = solved.model_of(solution), solution.geometry.kinds
    np.testing.assert_allclose(np.abs(decision(model, moons.X)[kinds == "free"]), 1.0, atol=1e-6)
    assert list(kinds_of(solved.run_of(solution), model)) == list(kinds)


def test_support_vectors_are_of_the_kinds_that_the_geometry_has(moons):
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        row = pd.Series(row_of(solution))
        assert list(kinds_of(row, model_of(solution))) == list(solution.geometry.kinds)
