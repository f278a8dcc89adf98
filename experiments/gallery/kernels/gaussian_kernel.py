"""
A Gaussian kernel draws a curved border
=======================================

f(x) = Σ αᵢyᵢ·exp(−gamma·‖x − xᵢ‖²) + b is linear in the feature space and curved in the plane. Grey
lines show where f is constant; the border f = 0 is black, the margins f = ±1 are dashed, and support
vectors have rings. Far from both classes, f tends to b.

From P. Gori's notes on support vector machines, figure 4, and M. Straka's NPFL129 notes (after Bishop
2006, figure 7.2).
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_regions, region_keys
from dualgap.experiments.plots.style import GREY, figure, legend
from dualgap.problems import RBF, HardMarginDual, datasets
from dualgap.solvers import Solution, solve


def compute() -> Solution:
    """Solve a hard margin on two moons: a Gaussian kernel separates any distinct samples."""
    data = datasets.load("two_moons", n=40, noise=0.15, seed=2)
    return solve(HardMarginDual(data.X, data.y, RBF(gamma=2.0)))


def draw(solution: Solution) -> Figure:
    """Draw the regions, and lines of constant f."""
    new = figure(5.4, 4.6)
    ax = new.add_subplot()
    draw_regions(ax, solution.geometry)
    x1, x2 = (np.linspace(*limits, 160) for limits in (ax.get_xlim(), ax.get_ylim()))
    grid = np.column_stack([g.ravel() for g in np.meshgrid(x1, x2)])
    f = solution.decision_function(grid).reshape(160, 160)
    ax.contour(x1, x2, f, np.arange(-2.8, 3.0, 0.4), colors=GREY, linewidths=0.4, linestyles="-")
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    legend(new, region_keys(hard=True), columns=3)
    return new
