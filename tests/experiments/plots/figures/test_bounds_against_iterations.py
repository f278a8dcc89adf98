"""Both bounds are drawn as the traces have them."""

import numpy as np

from experiments.plots.figures.bounds_against_iterations import bounds_against_iterations
from experiments.plots.style import style


def test_bounds_lines_hold_both_objectives(run, runs_of, named):
    runs = runs_of([run()], {0: [1.0, 0.5, 0.0]})
    with style():
        (ax,) = bounds_against_iterations(runs, ["p"]).axes
    np.testing.assert_allclose(named(ax, "smo dual_objective")[0].get_ydata(), [0, 1, 2])
    np.testing.assert_allclose(named(ax, "smo primal_objective")[0].get_ydata(), [2, 2, 2])
    np.testing.assert_allclose(named(ax, "smo dual_objective")[0].get_xdata(), [1, 3, 9])
