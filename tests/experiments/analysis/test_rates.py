"""Rates are found in distances that have them, and published bounds hold where they were proven."""

import json

import numpy as np
import pandas as pd
import pytest

from dualgap.experiments.analysis.rates import approach, fit_rate
from dualgap.experiments.cases.description import describe_optimum
from dualgap.problems import HingeERM
from dualgap.problems.datasets import TwoGaussians
from dualgap.solvers import SMO, ProjectedGradient, solve

FOLLOWING_THEORY = {
    "plain": {"variant": "plain"},
    "accelerated": {"variant": "accelerated", "restart": False},
}
K = np.unique(np.geomspace(1, 1000, 40).astype(int)).astype(float)


@pytest.mark.parametrize(
    ("order", "distances", "value"),
    [("sublinear", 3 * K**-2.0, -2.0), ("linear", 5 * 0.97**K, 0.97)],
)
def test_the_order_and_the_rate_are_those_of_the_distances(order, distances, value):
    noisy = distances * np.exp(0.1 * np.random.default_rng(0).standard_normal(K.size))
    rate = fit_rate(K, noisy, resolution=0.0)
    assert rate.order == order
    assert rate.low < value < rate.high
    assert abs(rate.value - value) < 0.1 * abs(value)


def test_a_jump_to_the_optimum_is_finite_and_5_evaluations_have_no_rate():
    distances = np.array([1.0, 0.5, 0.2, 0.0, 0.0])
    assert fit_rate(np.arange(10.0, 15.0), distances, 1e-12)[:2] == ("finite", 13.0)
    assert fit_rate(10 ** np.arange(1.0, 6.0), distances, 1e-12)[:2] == ("", 1e4)


@pytest.mark.parametrize("variant", FOLLOWING_THEORY)
def test_a_published_bound_is_above_every_distance(variant):
    data = TwoGaussians(n=40, d=3, distance=2.0, seed=1).load()
    problem = HingeERM(data.X, data.y, lam=0.1)
    best = solve(problem, SMO(tol=1e-10))
    solver, rows = ProjectedGradient(**FOLLOWING_THEORY[variant], max_iter=60), []
    for k in range(1, 40):
        c = solve(problem, solver, max_iter=k).certificate
        rows.append({"iteration": k, "dual_objective": c.dual_objective})
    settings = {
        "solver": "projected_gradient",
        "params": json.dumps(FOLLOWING_THEORY[variant]),
        "primal_objective": best.certificate.primal_objective,
        "dual_objective": best.certificate.dual_objective,
        "relative_gap": best.certificate.relative_gap,
    }
    results = pd.DataFrame([settings | describe_optimum(best)])
    curve = approach(results.iloc[0], pd.DataFrame(rows), results)
    assert curve.steps.size > 10
    assert (curve.bounds > curve.distances).all()
