"""
What gamma and C do to a Gaussian kernel
========================================

gamma sets how far a sample's influence reaches, 1/√gamma, and C what a slack costs. With a small gamma
the border is nearly straight; with a large one each sample has a separate island. With a small C many
samples lie inside the margin and nearly all are support vectors; with a large one the border bends to
get every sample right.

From M. Straka's NPFL129 notes and P. Gori's notes on the Gaussian kernel.
"""

from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_regions, region_keys
from dualgap.experiments.plots.style import label_outside, legend, panels
from dualgap.problems import RBF, SoftMarginDual, datasets
from dualgap.solvers import Solution, solve

GAMMAS = (0.1, 1.0, 20.0)
CS = (0.3, 100.0)


def compute() -> dict[tuple[float, float], Solution]:
    """Return the answer for each (C, gamma)."""
    data = datasets.load("two_moons", n=80, noise=0.25, seed=1)
    return {
        (C, gamma): solve(SoftMarginDual(data.X, data.y, C, RBF(gamma)))
        for C in CS
        for gamma in GAMMAS
    }


def draw(solutions: dict[tuple[float, float], Solution]) -> Figure:
    """Draw one panel per pair, with gamma growing to the right and C downwards."""
    new, axes = panels([""] * len(solutions), shared_axes="both")
    for ax, ((C, gamma), solution) in zip(axes, solutions.items(), strict=True):
        draw_regions(ax, solution.geometry)
        count = len(solution.geometry.support)
        ax.set_title(f"gamma = {gamma:g}, C = {C:g}\n{count} support vectors")
    label_outside(axes, "$x_1$", "$x_2$")
    legend(new, region_keys(), columns=3)
    return new
