"""Simplified SMO and Platt's: how near they come, what they claim, and every point on their way."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_regression

from problems import (
    RBF,
    BoxQP,
    HardMarginDual,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    reduce,
)
from solvers import PlattSMO, SimplifiedSMO, solve


def cancer(n=120):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], np.where(y > 0, 1.0, -1.0)[:n]


def regression(n=40):
    X, y = make_regression(n, 3, noise=5.0, random_state=0)
    return X, y / y.std()


def problems():
    X, y = cancer()
    Xr, yr = regression()
    weights = np.random.default_rng(0).uniform(0.2, 2.0, y.size)
    return {
        "linear": SoftMarginPrimal(X, y, 1.0),
        "rbf": SoftMarginDual(X, y, 10.0, RBF(0.05)),
        "weights": SoftMarginDual(X, y, weights, RBF(0.05)),
        "svr": SVRDual(Xr, yr, 1.0, 0.1, RBF(0.3)),
        "hard margin": HardMarginDual(X, y, RBF(0.05)),
    }


BOTH = pytest.mark.parametrize("solver", [SimplifiedSMO, PlattSMO])


@pytest.mark.parametrize("name", ["rbf", "weights", "svr", "hard margin"])
def test_simplified_comes_close_and_claims_nothing(name):
    answer = solve(problems()[name], SimplifiedSMO(tol=1e-4, max_passes=30))
    assert answer.claimed == "stopped"
    assert answer.certificate.relative_gap < 1e-2


@BOTH
def test_objective_never_rises_and_the_point_stays_feasible(solver, monkeypatch):
    monkeypatch.setattr(f"{solver.__module__}._BLOCK_ENTRIES", 1000)
    form = reduce(problems()["rbf"], BoxQP).form
    values = []
    for point in solver().iterates(form):
        x = point.x
        assert (x >= 0).all()
        assert (x <= form.ub).all()
        assert abs(form.a @ x) < 1e-10 * form.ub.max()
        values.append(0.5 * x @ form.Q.matvec(x) + form.p @ x)
    assert len(values) > 1
    assert (np.diff(values) <= 1e-12 * abs(values[-1])).all()


@pytest.mark.parametrize("name", problems())
def test_platt_claims_optimal_within_the_gap_its_tol_implies(name):
    problem, tol = problems()[name], 1e-4
    best = solve(problem).certificate
    answer = solve(problem, PlattSMO(tol=tol))
    certificate = answer.certificate
    assert answer.claimed == "optimal"
    assert certificate.violating_pair <= 2 * tol * (1 + 1e-6)
    if name != "hard margin":
        assert certificate.gap <= tol * problem.upper.sum()
        assert best.dual_objective - certificate.dual_objective <= certificate.gap + best.gap
    assert certificate.relative_gap < 1e-2
