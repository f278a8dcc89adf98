"""SciPy's general minimisers on the dual."""

import pytest

from problems import RBF, SoftMarginDual, datasets
from solvers import ScipyMinimize, Status, solve


def small(**settings):
    data = datasets.load("four_gaussians", n=40, seed=0)
    return SoftMarginDual(data.X, data.y, kernel=RBF(0.05), **settings)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr"])
def test_scipy_reaches_the_certified_optimum(method):
    found = solve(small(C=1.0), ScipyMinimize(method), target_gap=1e-4)
    assert found.claimed == "optimal"
    assert found.verdict == "solved"


def test_too_many_variables_are_refused_in_a_sentence():
    data = datasets.load("four_gaussians", n=1200, seed=0)
    problem = SoftMarginDual(data.X, data.y, kernel=RBF(0.05))
    refused = solve(problem, ScipyMinimize())
    assert refused.status is Status.UNSUPPORTED
    assert "at most" in refused.reason


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method: must be one of slsqp, trust-constr, got 'x'"):
        ScipyMinimize("x")
