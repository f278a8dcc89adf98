"""The decision function that is drawn is the solution's own."""

import numpy as np

from dualgap.experiments.plots.plane import decision
from dualgap.problems import RBF, HingeERM, NuSVC
from dualgap.solvers import SMO, solve


def test_regions_equal_the_decision_function_of_the_solution(moons):
    points = np.random.default_rng(0).normal(size=(300, 2))
    for problem in (moons, HingeERM(moons.X, moons.y, 0.01)):
        solution = solve(problem, SMO(tol=1e-8))
        f = decision(solution.geometry, points)
        np.testing.assert_allclose(f, solution.decision_function(points), atol=1e-10)


def test_regions_of_nu_svc_have_their_margins_at_one(moons):
    answer = solve(NuSVC(moons.X, moons.y, 0.3, RBF(1.0)), SMO(tol=1e-10)).geometry
    free = decision(answer, moons.X)[answer.kinds == "free"]
    np.testing.assert_allclose(np.abs(free), 1.0, atol=1e-6)
