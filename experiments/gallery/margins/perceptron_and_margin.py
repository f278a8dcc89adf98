"""
Separating hyperplanes, and the one with the maximal margin
===========================================================

Where one hyperplane separates two classes, infinitely many do. Rosenblatt's perceptron finds one of
them, which depends on the order of the samples. The hyperplane with the maximal margin is unique,
whatever the order. Novikoff's theorem bounds the perceptron's mistakes by R²/γ².

From P. Gori's notes on support vector machines: figure 1, and the section on the perceptron.
"""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_samples, region_keys
from dualgap.experiments.plots.solved import line_of
from dualgap.experiments.plots.style import (
    GREEN,
    PURPLE,
    VERMILION,
    key,
    label_outside,
    legend,
    panels,
)
from dualgap.problems import HardMarginPrimal, datasets
from dualgap.solvers import Perceptron, Solution, solve
from dualgap.solvers.perceptron import mistake_bound

N_ORDERS = 3  # orders of the samples


def compute() -> tuple[Solution, list[Solution], float]:
    """Return the maximal margin, the perceptron's answers for several orders, and R²/γ²."""
    data = datasets.load("two_gaussians", n=40, distance=4, seed=2)
    problem = HardMarginPrimal(data.X, data.y)
    maximal = solve(problem)
    shuffles = [np.random.default_rng(seed).permutation(data.n) for seed in range(N_ORDERS)]
    perceptrons = [solve(HardMarginPrimal(data.X[s], data.y[s]), Perceptron()) for s in shuffles]
    return maximal, perceptrons, mistake_bound(problem, maximal.certificate)


def draw(numbers: tuple[Solution, list[Solution], float]) -> Figure:
    """Draw the perceptron's hyperplanes on the left, the maximal margin on the right."""
    maximal, perceptrons, bound = numbers
    titles = [f"perceptron: at most R²/γ² = {bound:.0f} mistakes", "maximal margin"]
    new, axes = panels(titles, shared_axes="both")
    for ax in axes:
        draw_samples(ax, maximal.problem.X, maximal.problem.y)
    entries = region_keys()[:2]
    for solution, colour in zip(perceptrons, (GREEN, VERMILION, PURPLE), strict=True):
        _draw_line(axes[0], solution, 0, color=colour)
        entries.append((key(color=colour), f"after {solution.iterations} mistakes"))
    for level, dash in ((-1, "--"), (0, "-"), (1, "--")):
        _draw_line(axes[1], maximal, level, color="black", linestyle=dash)
    label_outside(axes, "$x_1$", "$x_2$")
    legend(new, entries, columns=3)
    return new


def _draw_line(ax: Axes, solution: Solution, level: float, **mark: Any) -> None:
    """Draw where wᵀx + b = level."""
    w, b = line_of(solution)
    ax.axline((0, (level - b) / w[1]), slope=-w[0] / w[1], linewidth=1.1, **mark)
