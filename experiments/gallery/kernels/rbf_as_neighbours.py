"""
A Gaussian kernel lets near samples vote
========================================

f(x) = b + Σ αᵢyᵢ·exp(−gamma·‖x − xᵢ‖²): each support vector votes for its class, with a weight that
falls with its distance. That is a k-nearest-neighbour rule with soft weights, in which only support
vectors vote, each with the weight α. On the left, the votes and their sum along a line; on the right,
the votes of the support vectors for one point, with areas in proportion to their weights.

From M. Straka's NPFL129 notes, "SVM With RBF".
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import CLASSES, draw_samples, region_keys
from dualgap.experiments.plots.style import BLACK, GREY, legend, panels
from dualgap.problems import RBF, SoftMarginDual, Vector, datasets
from dualgap.solvers import Solution, solve

QUERY = np.array([[0.45, 0.35]])


def votes(solution: Solution, points: Vector) -> Vector:
    """Return αᵢyᵢK(x, xᵢ) for each of the points x (m, d) and samples i, shape (m, n)."""
    problem, alpha = solution.problem, solution.alpha
    assert alpha is not None
    every = np.arange(problem.n)
    return problem.kernel.bind(problem.X).cross(points, every) * problem.risk.beta(alpha)


def compute() -> tuple[Solution, Solution]:
    """Solve a problem on the line and one in the plane."""
    x, y = np.array([0.0, 0.7, 1.6, 2.2, 3.4, 4.1, 4.9]), np.array([1.0, 1, -1, -1, 1, 1, -1])
    moons = datasets.load("two_moons", n=40, noise=0.15, seed=2)
    line = SoftMarginDual(x[:, None], y, 10.0, RBF(gamma=2.0))
    return solve(line), solve(SoftMarginDual(moons.X, moons.y, 10.0, RBF(gamma=2.0)))


def draw(solutions: tuple[Solution, Solution]) -> Figure:
    """Draw both panels."""
    line, plane = solutions
    b = float(line.b or 0.0)
    weight = votes(plane, QUERY)[0]
    titles = [
        "votes αᵢyᵢK(x, xᵢ) along a line",
        f"votes on ✕ (area = weight), f(✕) = {weight.sum() + plane.b:.2f}",
    ]
    new, (line_ax, plane_ax) = panels(titles)
    x = np.linspace(-0.8, 5.7, 400)
    line_votes = votes(line, x[:, None])
    for label, colour, marker in CLASSES:
        members = line.problem.y == label
        line_ax.plot(x, line_votes[:, members], color=colour, linewidth=0.9)
        line_ax.plot(line.problem.X[members], np.zeros(members.sum()), marker, color=colour)
        plane_members = plane.problem.y == label
        X = plane.problem.X[plane_members]
        plane_ax.scatter(
            X[:, 0], X[:, 1], 400 * abs(weight[plane_members]), c=colour, alpha=0.4, linewidths=0
        )
    line_ax.plot(x, line_votes.sum(axis=1) + b, color=BLACK)
    line_ax.axhline(b, color=GREY, linestyle=":", linewidth=0.9)
    line_ax.annotate("b", (5.75, b), va="center")
    line_ax.set(xlabel="$x$", ylabel="votes, and b + their sum (black)")
    draw_samples(plane_ax, plane.problem.X, plane.problem.y)
    plane_ax.plot(*QUERY[0], marker="x", color=BLACK, markersize=8, markeredgewidth=2)
    plane_ax.set(xlabel="$x_1$", ylabel="$x_2$")
    legend(new, region_keys()[:2])
    return new
