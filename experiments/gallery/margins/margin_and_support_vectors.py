"""
The maximal margin and its support vectors
==========================================

The hyperplane f(x) = wᵀx + b = 0 that is farthest from both classes. The nearest samples lie on
f = ±1, at the distance 1/‖w‖; only these support vectors have multipliers α > 0, and the answer would
be the same without all other samples.

From P. Gori's notes on support vector machines, figure 2; the COMP 790-125 and NPFL129 notes.
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_regions, region_keys
from dualgap.experiments.plots.solved import line_of
from dualgap.experiments.plots.style import figure, legend
from dualgap.problems import HardMarginDual, datasets
from dualgap.solvers import Solution, solve


def compute() -> Solution:
    """Solve the hard margin on two separate clouds."""
    data = datasets.load("two_gaussians", n=40, distance=4, seed=4)
    return solve(HardMarginDual(data.X, data.y), target_gap=1e-9)


def draw(solution: Solution) -> Figure:
    """Draw the regions, the support vectors, and the width 2/‖w‖."""
    w, b = line_of(solution)
    new = figure(4.6, 4.4)
    ax = new.add_subplot()
    draw_regions(ax, solution.geometry)
    ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    foot = 1.5 * along - b * w / (w @ w)  # on f = 0
    ends = tuple(foot + w / (w @ w)), tuple(foot - w / (w @ w))
    ax.annotate(
        "", *ends, arrowprops={"arrowstyle": "<->", "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    )
    ax.annotate("2/‖w‖", ends[0], (6, 2), textcoords="offset points")
    legend(new, region_keys(hard=True), columns=3)
    return new
