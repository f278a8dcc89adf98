"""Distances, fitted lines and published bounds are drawn as they were measured."""

import numpy as np
from tests.experiments.plots.conftest import named, runs_of
from tests.experiments.rows import run

from dualgap.experiments.plots.figures.rates import Rates
from dualgap.experiments.records.columns import DESCRIBED

NAMES = [own.name for own in DESCRIBED]


def test_distances_are_drawn_below_the_published_bound_with_a_row_for_each_run():
    known = dict.fromkeys(NAMES, 1.0) | {
        "largest_eigenvalue": 20.0,
        "family_hash": "f",
    }
    plain = {"solver": "projected_gradient", "params": '{"variant": "plain"}'}
    bounds = {"primal_objective": 2.0, "dual_objective": 2.0}
    runs = runs_of([run(**plain, **known, **bounds)], {0: [0.5**k for k in range(8)]})
    (_, figure), (_, table) = Rates().draw(runs)
    (line,), (bound,) = named(figure.axes[0], "projected_gradient"), named(figure.axes[0], "_bound")
    np.testing.assert_allclose(line.get_ydata(), 2 * 0.5 ** np.arange(8))
    np.testing.assert_allclose(bound.get_ydata(), 10 / 3.0 ** np.arange(8))
    assert "k^-0.631" in table  # a half for each factor of three
