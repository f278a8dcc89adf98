"""
Three kernels on four Gaussians
===============================

Each class has two clouds, placed so that no straight line separates the classes. The linear kernel
fails; the polynomial of degree 4 and the Gaussian exp(−‖x − z‖²/20) separate them, each with a border
that resembles its own basis functions, and with few support vectors.

From C. Anderson's notebook on support vector machines and gradient ascent: its data and its kernels.
"""

from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_regions, region_keys
from dualgap.experiments.plots.style import label_outside, legend, panels
from dualgap.problems import RBF, Linear, Polynomial, SoftMarginDual, datasets
from dualgap.solvers import Solution, solve

KERNELS = {"linear": Linear(), "polynomial, degree 4": Polynomial(4), "Gaussian": RBF(1 / 20)}


def compute() -> dict[str, Solution]:
    """Return the answer with each kernel."""
    data = datasets.load("four_gaussians", n=200)
    return {
        name: solve(SoftMarginDual(data.X, data.y, 1.0, kernel)) for name, kernel in KERNELS.items()
    }


def draw(solutions: dict[str, Solution]) -> Figure:
    """Draw one panel per kernel, with its training accuracy."""
    new, axes = panels([""] * len(solutions), shared_axes="both")
    for ax, (name, solution) in zip(axes, solutions.items(), strict=True):
        draw_regions(ax, solution.geometry)
        right = (solution.predict(solution.problem.X) == solution.problem.y).mean()
        count = len(solution.geometry.support)
        ax.set_title(f"{name}\n{right:.0%} right, {count} support vectors")
    label_outside(axes, "$x_1$", "$x_2$")
    legend(new, region_keys(), columns=3)
    return new
