"""mystic's direct search on the dual."""

import pytest

from problems import RBF, SoftMarginDual, datasets
from solvers import Mystic, solve


def small(**settings):
    data = datasets.load("four_gaussians", n=40, seed=0)
    return SoftMarginDual(data.X, data.y, kernel=RBF(0.05), **settings)


def test_mystic_comes_near_on_a_small_problem():
    pytest.importorskip("mystic")
    found = solve(small(C=1.0), Mystic())
    assert found.claimed == "stopped"
    assert found.certificate.relative_gap <= 0.1
