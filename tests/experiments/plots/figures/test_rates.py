"""Distances and fitted lines are drawn as they were measured."""

import numpy as np
from tests.experiments.plots.conftest import named, runs_of
from tests.experiments.rows import run

from dualgap.experiments.plots.figures.rates import Rates


def test_distances_are_drawn_with_a_row_for_each_run():
    plain = {"solver": "projected_gradient", "params": '{"variant": "plain"}'}
    bounds = {"primal_objective": 2.0, "dual_objective": 2.0}
    runs = runs_of([run(**plain, **bounds, family_hash="f")], {0: [0.5**k for k in range(8)]})
    (_, figure), (_, table) = Rates().draw(runs)
    (line,) = named(figure.axes[0], "projected_gradient")
    np.testing.assert_allclose(line.get_ydata(), 2 * 0.5 ** np.arange(8))
    assert "k^-0.631" in table  # a half for each factor of three
