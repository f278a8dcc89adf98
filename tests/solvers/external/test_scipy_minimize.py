"""SciPy's general minimisers on the dual."""

import pytest

from problems import RBF, SoftMarginDual, datasets
from solvers import ScipyMinimize, solve


def small(**settings):
    data = datasets.load("four_gaussians", n=40, seed=0)
    return SoftMarginDual(data.X, data.y, kernel=RBF(0.05), **settings)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_scipy_reaches_the_certified_optimum(method):
    found = solve(small(C=1.0), ScipyMinimize(method), target_gap=1e-4)
    assert found.claimed == "optimal"
    assert found.verdict == "solved"
