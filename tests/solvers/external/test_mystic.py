"""mystic's direct search on the dual."""

import pytest

from problems import RBF, SoftMarginDual, datasets
from solvers import Mystic, Status, solve


def small(**settings):
    data = datasets.load("four_gaussians", n=40, seed=0)
    return SoftMarginDual(data.X, data.y, kernel=RBF(0.05), **settings)


def test_mystic_comes_near_on_a_small_problem():
    pytest.importorskip("mystic")
    found = solve(small(C=1.0), Mystic())
    assert found.claimed == "stopped"
    assert found.certificate.relative_gap <= 0.1


def test_too_many_variables_are_refused_in_a_sentence():
    data = datasets.load("four_gaussians", n=1200, seed=0)
    problem = SoftMarginDual(data.X, data.y, kernel=RBF(0.05))
    refused = solve(problem, Mystic())
    assert refused.status is Status.UNSUPPORTED
    assert "at most" in refused.reason
