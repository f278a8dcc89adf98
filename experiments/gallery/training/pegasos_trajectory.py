"""
Pegasos in the plane of its weights
===================================

Stochastic subgradient steps on the regularised hinge risk: w ← (1 − 1/t)·w plus, where the drawn sample
violates its margin, y·x/(lam·t). The first steps are large, and the projection onto the ball
‖w‖ ≤ 1/√lam bounds them; later steps shrink like 1/t. The average of the iterates varies less.

From the COMP 790-125 notes on Pegasos (Shalev-Shwartz et al. 2011).
"""

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from dualgap.experiments.plots.solved import line_of
from dualgap.experiments.plots.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    VERMILION,
    figure,
    key,
    legend,
)
from dualgap.problems import HingeERM, Vector, datasets
from dualgap.problems.kernels import Block
from dualgap.problems.losses import Hinge
from dualgap.solvers import Pegasos, solve

LAM = 0.1
STEPS = 120
DATA = {"n": 60, "distance": 2.0, "seed": 1}


def risk(problem: HingeERM, w: Vector) -> float:
    """Return (lam/2)‖w‖² + the mean hinge loss."""
    return float(0.5 * LAM * w @ w + Hinge().value(problem.y, problem.X @ w).mean())


def compute() -> tuple[HingeERM, dict[str, Block], Vector]:
    """Return the problem, the paths of the last and the averaged weights, and the optimum."""
    data = datasets.load("two_gaussians", **DATA)
    problem = HingeERM(data.X, data.y, LAM)
    paths: dict[str, Block] = {}
    for name, average in (("iterates", False), ("their average", True)):
        solver = Pegasos(sampling="iid", average=average)
        steps = [line_of(solve(problem, solver, max_iter=t))[0] for t in range(1, STEPS + 1)]
        paths[name] = np.vstack([np.zeros(2), *steps])
    return problem, paths, line_of(solve(problem, target_gap=1e-8))[0]


def draw(numbers: tuple[HingeERM, dict[str, Block], Vector]) -> Figure:
    """Draw the risk's contours, the ball, and both paths."""
    problem, paths, optimum = numbers
    new = figure(4.8, 4.6)
    ax = new.add_subplot()
    grid = np.linspace(-1.5, 3.5, 100)
    values = [[risk(problem, np.array([u, v])) for u in grid] for v in grid]
    levels = risk(problem, optimum) + 0.01 * 1.8 ** np.arange(10)
    ax.contour(grid, grid, values, levels, colors=GREY, linewidths=0.5)
    ax.add_patch(Circle((0, 0), LAM**-0.5, fill=False, linestyle=":"))
    entries: list[tuple[Artist, str]] = []
    for (name, path), colour in zip(paths.items(), (BLUE, ORANGE), strict=True):
        ax.plot(*path.T, color=colour, marker=".", markersize=3, linewidth=0.9)
        entries.append((key(color=colour), name))
    ax.plot(*optimum, marker="*", color=VERMILION, markersize=12, markeredgecolor=BLACK)
    ax.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal", xlim=(-1.5, 3.5), ylim=(-1.5, 3.5))
    ax.grid(visible=False)
    star = key(color=VERMILION, marker="*", linestyle="none", markersize=9)
    ball = key(color=BLACK, linestyle=":")
    legend(new, [*entries, (ball, "‖w‖ = 1/√lam"), (star, "optimum")])
    return new
