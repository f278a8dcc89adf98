"""
Losses of binary classification
===============================

Every loss as a function of the margin y·f(x). The number of mistakes (0-1) should be small;
the convex losses can be minimised. Hinge and squared hinge cost nothing beyond the margin 1,
the perceptron's loss nothing beyond 0; the logistic loss is never zero; the squared error penalises
samples that are far on the right side.

From M. Straka's NPFL129 notes, "Binary Classification Loss Functions Comparison", with the losses of
P. Gori's notes.
"""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLACK, BLUE, GREEN, ORANGE, VERMILION, figure, legend
from dualgap.problems import Vector
from dualgap.problems.losses import Hinge, Logistic, Perceptron, Squared, SquaredHinge

STYLES: list[dict[str, Any]] = [
    {"color": "#BBBBBB", "linewidth": 4},
    {"color": BLACK},
    {"color": BLUE, "linewidth": 2},
    {"color": ORANGE, "linestyle": "--"},
    {"color": VERMILION, "linestyle": ":", "linewidth": 2},
    {"color": GREEN, "linestyle": "-."},
]


def compute() -> tuple[Vector, dict[str, Vector]]:
    """Return margins, and the value of each loss there."""
    margin = np.linspace(-2.0, 3.0, 501)
    y = np.ones_like(margin)  # then f is the margin
    return margin, {
        "squared  (1 − yf)²": 2.0 * Squared().value(y, margin),
        "0-1": np.where(margin < 0, 1.0, 0.0),
        "hinge  max(0, 1 − yf)": Hinge().value(y, margin),
        "squared hinge  max(0, 1 − yf)²": SquaredHinge().value(y, margin),
        "logistic  ln(1 + exp(−yf))": Logistic().value(y, margin),
        "perceptron  max(0, −yf)": Perceptron().value(y, margin),
    }


def draw(numbers: tuple[Vector, dict[str, Vector]]) -> Figure:
    """Draw every loss in one panel."""
    margin, losses = numbers
    new = figure(5.4, 3.9)
    ax = new.add_subplot()
    entries: list[tuple[Artist, str]] = []
    for (name, value), mark in zip(losses.items(), STYLES, strict=True):
        entries += [(line, name) for line in ax.plot(margin, value, **mark)]
    ax.set(xlim=(-2, 3), ylim=(-0.1, 4), xlabel="margin  y·f(x)", ylabel="loss")
    legend(new, entries, columns=2)
    return new
