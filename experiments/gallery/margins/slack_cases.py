"""
Slack: the four positions of a sample
=====================================

The soft margin lets a sample be on the wrong side of its margin, at the cost C·ξ, where the slack is
ξ = max(0, 1 − y·f(x)). There are four cases:

- outside the margin ξ = 0, and α = 0;
- on it ξ = 0, and 0 ≤ α ≤ C;
- inside it 0 < ξ < 1, and α = C;
- beyond the hyperplane ξ > 1, and α = C.

Each dotted line leads from a sample to where it should be; its length is ξ/‖w‖.

From M. Straka's NPFL129 notes (slack variables, support vectors) and P. Gori's notes, figure 5.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_regions, region_keys
from dualgap.experiments.plots.solved import line_of
from dualgap.experiments.plots.style import figure, legend
from dualgap.problems import SoftMarginPrimal, datasets
from dualgap.solvers import Solution, solve


def compute() -> Solution:
    """Solve a soft margin on two clouds that overlap."""
    data = datasets.load("two_gaussians", n=30, distance=2.4, seed=186)
    return solve(SoftMarginPrimal(data.X, data.y, C=1.0), target_gap=1e-9)


def draw(solution: Solution) -> Figure:
    """Draw the regions, and each slack from the sample to its margin."""
    X, y, xi = solution.problem.X, solution.problem.y, solution.geometry.slacks
    w, _ = line_of(solution)
    new = figure(5.4, 5.0)
    ax = new.add_subplot()
    draw_regions(ax, solution.geometry)
    ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    goals = X + (y * xi)[:, None] * w / (w @ w)  # there y·f = 1
    for i in np.flatnonzero(xi > 1e-6):
        ax.plot(*np.transpose([X[i], goals[i]]), color="black", linestyle=":", linewidth=0.9)
        side: dict[str, Any] = {
            "xytext": (-9 * y[i], 0),  # away from where it should be
            "ha": "right" if y[i] > 0 else "left",
            "va": "center",
            "bbox": {"facecolor": "white", "alpha": 0.6, "linewidth": 0, "pad": 0.5},
        }
        ax.annotate(f"ξ = {xi[i]:.2g}", X[i], textcoords="offset points", **side)
    legend(new, region_keys(), columns=3)
    return new
