"""
Linear discriminant analysis against the linear support vector machine
======================================================================

A linear discriminant depends on means and a covariance, so every sample moves it. A support vector
machine depends on the samples near the border. Move a few samples of one class far away, on their own
side (out of the picture, to the right): the discriminant turns, and the support vector machine does not.

From P. Gori's notes on support vector machines, figure 3.
"""

from typing import Any

from matplotlib.figure import Figure

from dualgap.experiments.plots.plane import draw_samples, region_keys
from dualgap.experiments.plots.solved import line_of
from dualgap.experiments.plots.style import BLACK, GREEN, key, label_outside, legend, panels
from dualgap.problems import SoftMarginPrimal, datasets
from dualgap.solvers import LDA, Solution, solve

STYLES = {"linear SVM": (BLACK, "-"), "LDA": (GREEN, "--")}


def compute() -> dict[str, dict[str, Solution]]:
    """Return both answers, without and with samples moved away."""
    answers: dict[str, dict[str, Solution]] = {}
    for title, moved in (("two Gaussians", 0.0), ("a tenth of one class moved away", 0.1)):
        data = datasets.load("two_gaussians", n=200, distance=5, outliers=moved)
        problem = SoftMarginPrimal(data.X, data.y)
        answers[title] = {"linear SVM": solve(problem), "LDA": solve(problem, LDA())}
    return answers


def draw(answers: dict[str, dict[str, Solution]]) -> Figure:
    """Draw one panel per set of samples, with both borders."""
    new, axes = panels(list(answers), shared_axes="both")
    for ax, (title, by_solver) in zip(axes, answers.items(), strict=True):
        problem = by_solver["LDA"].problem
        draw_samples(ax, problem.X, problem.y)
        for name, (colour, dash) in STYLES.items():
            w, b = line_of(by_solver[name])
            ax.axline((0, -b / w[1]), slope=-w[0] / w[1], color=colour, linestyle=dash)
        wrong = {
            name: int((s.predict(problem.X) != problem.y).sum()) for name, s in by_solver.items()
        }
        counts = ", ".join(f"{name} {count}" for name, count in wrong.items())
        ax.set_title(f"{title}\nmistakes: {counts}")
    axes[1].set(xlim=(-5.5, 6), ylim=(-5.5, 5.5))
    away: dict[str, Any] = {
        "xytext": (3.8, -4.0),
        "arrowprops": {"arrowstyle": "->"},
        "ha": "right",
    }
    axes[1].annotate("ten samples", (5.8, -4.0), va="center", **away)
    label_outside(axes, "$x_1$", "$x_2$")
    lines = [(key(color=c, linestyle=dash), name) for name, (c, dash) in STYLES.items()]
    legend(new, [*region_keys()[:2], *lines])
    return new
