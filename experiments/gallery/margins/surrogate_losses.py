"""
Convex surrogates of the number of mistakes
===========================================

A mistake costs 1, whatever its size: the gradient is zero almost everywhere, and minimising it is
NP-hard. Its convex surrogates lie above it, so that a small surrogate risk means few mistakes. The
logistic loss does so once it is divided by ln 2, so that it passes through (0, 1) as well.

From P. Gori's notes on support vector machines, figure 6 (after Ben-David et al. 2012).
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLACK, BLUE, GREEN, VERMILION, figure
from dualgap.problems import Vector
from dualgap.problems.losses import Hinge, Logistic, Squared


def compute() -> tuple[Vector, dict[str, Vector]]:
    """Return margins, and the value of each loss there."""
    margin = np.linspace(-2.0, 2.5, 451)
    y = np.ones_like(margin)
    return margin, {
        "0-1": np.where(margin < 0, 1.0, 0.0),
        "hinge": Hinge().value(y, margin),
        "logistic / ln 2": Logistic().value(y, margin) / np.log(2.0),
        "squared (1 − yf)²": 2.0 * Squared().value(y, margin),
    }


def draw(numbers: tuple[Vector, dict[str, Vector]]) -> Figure:
    """Draw every loss in one panel, in the colours of the notes."""
    margin, losses = numbers
    new = figure(4.8, 3.4)
    ax = new.add_subplot()
    styles = ((BLACK, "-"), (BLUE, "-"), (VERMILION, "--"), (GREEN, "-."))
    for (name, value), (colour, dash) in zip(losses.items(), styles, strict=True):
        ax.plot(margin, value, color=colour, linestyle=dash, label=name)
    ax.plot(0, 1, "o", color=BLACK)
    ax.annotate("(0, 1)", (0, 1), (6, 4), textcoords="offset points")
    ax.set(xlim=(-2, 2.5), ylim=(-0.1, 4), xlabel="margin  y·f(x)", ylabel="loss")
    ax.legend(loc="upper right")
    return new
