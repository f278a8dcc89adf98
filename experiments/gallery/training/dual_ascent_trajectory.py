"""
Gradient ascent on the dual, between its bounds
===============================================

With two samples and no intercept, the dual has two variables, so its steps can be drawn. Each step
follows the gradient of L_D(α) = 1ᵀα − ½αᵀQα and is clipped to the box, whose best point is the star. On
the right, the same method on four Gaussians: the dual objective rises, the primal objective at w(α)
falls, and the optimum is between them at every step.

From C. Anderson's notebook on dual gradient ascent, with the box of a soft margin.
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLACK, BLUE, GREY, SKY, VERMILION, panels
from dualgap.problems import RBF, BoxQP, Point, SoftMarginDual, Vector, certify, datasets, reduce
from dualgap.problems.kernels import Block
from dualgap.solvers import ProjectedGradient

C = 0.45
TOY = SoftMarginDual(np.array([[1.0, 0.4], [0.5, -1.5]]), np.array([1.0, -1.0]), C, intercept=False)


def ascent(problem: SoftMarginDual, rate: float, steps: int) -> Block:
    """Return α before the first step and after each, shape (steps + 1, n)."""
    form, solver = reduce(problem, BoxQP).form, ProjectedGradient("plain", tol=1e-9, rate=rate)
    points = zip(range(steps + 1), solver.iterates(form), strict=False)
    return np.array([point.x for _, point in points])


def compute() -> tuple[Block, Block]:
    """Return the path for two samples, and (dual, primal) bounds by step for four Gaussians."""
    data = datasets.load("four_gaussians", n=100)
    problem = SoftMarginDual(data.X, data.y, 1.0, RBF(1 / 20))
    bounds = [certify(problem, Point(alpha)) for alpha in ascent(problem, 1.0, 300)]
    return ascent(TOY, 0.3, 40), np.array([(c.dual_objective, c.primal_objective) for c in bounds])


def dual(alpha: Vector) -> float:
    """Return L_D of two variables."""
    Q = reduce(TOY, BoxQP).form.Q.dense()
    return float(alpha.sum() - 0.5 * alpha @ Q @ alpha)


def draw(numbers: tuple[Block, Block]) -> Figure:
    """Draw the path in the box, and the bounds by step."""
    path, bounds = numbers
    new, (path_ax, bounds_ax) = panels(
        ["two multipliers, in their box", "four Gaussians: both bounds"]
    )
    grid = np.linspace(-0.1, 1.1, 60)
    values = [[dual(np.array([u, v])) for u in grid] for v in grid]
    path_ax.contour(grid, grid, values, 14, colors=GREY, linewidths=0.6, linestyles="-")
    path_ax.fill([0, C, C, 0], [0, 0, C, C], color=SKY, alpha=0.3, linewidth=0)
    path_ax.plot(*path.T, color=BLUE, marker="o", markersize=3)
    path_ax.plot(*path[-1], marker="*", color=VERMILION, markersize=11, markeredgecolor=BLACK)
    path_ax.set(xlabel=r"$\alpha_1$", ylabel=r"$\alpha_2$")
    path_ax.grid(visible=False)
    bounds_ax.plot(bounds[:, 1], color=VERMILION, linestyle="--", label="primal objective at w(α)")
    bounds_ax.plot(bounds[:, 0], color=BLUE, label="dual objective $L_D$")
    bounds_ax.set(xlabel="step", xscale="symlog", xlim=(0, len(bounds)))
    bounds_ax.legend()
    return new
