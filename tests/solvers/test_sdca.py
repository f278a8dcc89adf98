"""Stochastic dual coordinate ascent: the dual rises, and a start is where it begins."""

from itertools import pairwise

from problems import ERM, Point, RegularizedERM, certify, datasets, reduce
from solvers import SDCA

CANCER = datasets.load("breast_cancer", standardize=True, limit=200, seed=0)
DIABETES = datasets.load("diabetes", standardize=True, limit=200, seed=0)
LOGISTIC = RegularizedERM(CANCER.X, CANCER.y, 0.01, "logistic")
SQUARED = RegularizedERM(DIABETES.X, DIABETES.y / 100.0, 0.01, "squared")


def test_coordinate_ascent_never_lowers_the_dual():
    problem = LOGISTIC
    points = SDCA(tol=1e-10).iterates(reduce(problem, ERM).form)
    duals = [certify(problem, Point(problem.alpha(p.beta))).dual_objective for p in points]
    assert len(duals) > 5
    assert all(new >= old * (1 - 1e-14) for old, new in pairwise(duals))
