"""
Support vector regression: a tube without cost
==============================================

Targets within epsilon of f(x) cost nothing; outside, the cost grows linearly. Samples inside the tube
have α − α* = 0, those on its wall between −C and C, those outside have ±C: the answer depends on these
support vectors only.

From P. Gori's notes on support vector machines, the section on regression.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import (
    BLACK,
    BLUE,
    GREY,
    VERMILION,
    key,
    label_outside,
    legend,
    panels,
)
from dualgap.problems import RBF, Linear, SVRDual
from dualgap.solvers import Solution, solve

EPSILON = 0.3
C = 5.0
STYLES: dict[str, tuple[str, dict[str, Any]]] = {
    "zero": ("inside: α − α* = 0", {"color": GREY, "marker": "."}),
    "free": ("on the wall", {"color": BLACK, "marker": "o"}),
    "bounded": ("outside: α − α* = ±C", {"color": VERMILION, "marker": "s", "markersize": 3.5}),
}


def compute() -> dict[str, Solution]:
    """Return the answers with a linear and with a Gaussian kernel."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 45))
    y = np.sin(x) + 0.4 * x + 0.3 * rng.standard_normal(x.size)
    kernels = {"linear": Linear(), "Gaussian": RBF(0.8)}
    return {
        name: solve(SVRDual(x[:, None], y, C, EPSILON, kernel)) for name, kernel in kernels.items()
    }


def draw(solutions: dict[str, Solution]) -> Figure:
    """Draw one panel per kernel."""
    new, axes = panels([f"{name} kernel" for name in solutions], shared_axes="y")
    x = np.linspace(0, 6, 300)
    for ax, solution in zip(axes, solutions.values(), strict=True):
        X, y = solution.problem.X, solution.problem.y
        f = solution.decision_function(x[:, None])
        ax.fill_between(x, f - EPSILON, f + EPSILON, color=BLUE, alpha=0.12, linewidth=0)
        ax.plot(x, f, color=BLUE)
        for kind, (_, mark) in STYLES.items():
            mine = solution.geometry.kinds == kind
            ax.plot(X[mine, 0], y[mine], linestyle="none", **mark)
    label_outside(axes, "$x$", "$y$")
    tube = key(color=BLUE), "f(x), and the tube f(x) ± epsilon"
    points = [(key(linestyle="none", **mark), name) for name, mark in STYLES.values()]
    legend(new, [tube, *points], columns=2)
    return new
