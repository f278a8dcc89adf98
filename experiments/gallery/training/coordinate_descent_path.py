"""
The path of coordinate descent
==============================

Each step moves one coordinate to the minimum along it: the path has right angles only, and each
corner lies where a line along an axis touches a contour. On a smooth, strictly convex function it ends
at the minimum; where the function has a kink across the axes it may get stuck.

From M. Straka's NPFL129 notes, "Sequential Minimal Optimization Algorithm": SMO is derived from this
loop.
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLACK, BLUE, GREY, VERMILION, figure
from dualgap.problems import Vector
from dualgap.problems.kernels import Block
from dualgap.solvers.coordinate_descent import minimise


def f(x: Vector) -> float:
    """Return a quadratic with correlated variables, plus a smoothed maximum of two planes."""
    bowl = 0.5 * x[0] ** 2 + 1.2 * x[0] * x[1] + 0.9 * x[1] ** 2
    return float(bowl + 0.3 * np.logaddexp(x[0] - x[1], 1.0 - x[0]))


def compute() -> Block:
    """Return the path from (−2.5, 2), shape (steps + 1, 2)."""
    return minimise(f, np.array([-2.5, 2.0]), sweeps=30)


def draw(path: Block) -> Figure:
    """Draw the contours through the path's points, and the path."""
    new = figure(4.6, 4.0)
    ax = new.add_subplot()
    x1, x2 = np.linspace(-3, 3.2, 160), np.linspace(-3.2, 2.6, 160)
    values = [[f(np.array([u, v])) for u in x1] for v in x2]
    levels = f(path[-1]) + 12.0 * 0.6 ** np.arange(14)
    ax.contour(x1, x2, values, np.sort(levels), colors=GREY, linewidths=0.6)
    ax.plot(*path.T, color=BLUE, marker="o", markersize=3)
    ax.annotate("start", path[0], (0, 6), textcoords="offset points", ha="center")
    ax.plot(*path[-1], marker="*", color=VERMILION, markersize=11, markeredgecolor=BLACK)
    box = {"facecolor": "white", "linewidth": 0, "pad": 1}
    ax.annotate("minimum", path[-1], (9, 6), textcoords="offset points", bbox=box)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
    ax.grid(visible=False)
    return new
