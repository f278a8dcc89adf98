"""The losses of binary classification as functions of the margin y·f: the figures of the notes.

Left the losses as they are: (yf − 1)² of regression on labels, −ln σ(yf), hinge, and those beside them
(NPFL129 notes). Right the surrogates of the 0-1 loss: the logistic one divided by ln 2, so that it too
passes through (0, 1) (Gori's notes, figure 6; Ben-David et al. 2012).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs
from experiments.plots.style import legend, line_styles, panels, solver_keys
from problems import Vector
from problems.losses import Hinge, Logistic, Perceptron, Squared, SquaredHinge

_MARGIN = np.linspace(-2.0, 3.0, 501)
_ONE = np.ones_like(_MARGIN)  # the label +1: then f is the margin
_HIGHEST = 4.0
_Curves = dict[str, Vector]


class Losses(Drawing):
    """Losses against the margin, where a run has a regularised risk."""

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield one figure, which does not depend on the runs."""
        if (runs.table["formulation"] == "regularized_erm").any():
            yield self.name, losses()


def losses() -> Figure:
    """Draw both panels."""
    as_they_are: _Curves = {
        "squared (yf − 1)²": 2.0 * Squared().value(_ONE, _MARGIN),
        "logistic": Logistic().value(_ONE, _MARGIN),
        "hinge": Hinge().value(_ONE, _MARGIN),
        "squared hinge": SquaredHinge().value(_ONE, _MARGIN),
        "perceptron": Perceptron().value(_ONE, _MARGIN),
    }
    surrogates: _Curves = {
        "0-1": np.where(_MARGIN < 0, 1.0, 0.0),
        "squared (yf − 1)²": as_they_are["squared (yf − 1)²"],
        "logistic / ln 2": as_they_are["logistic"] / np.log(2.0),
        "hinge": as_they_are["hinge"],
    }
    drawn = line_styles([*as_they_are, *surrogates])
    new, axes = panels(["losses of classification", "surrogates of the 0-1 loss"], share="both")
    for ax, curves in zip(axes, (as_they_are, surrogates), strict=True):
        for name, values in curves.items():
            ax.plot(_MARGIN, values, **drawn[name].arguments(marker=""))
        ax.set(xlabel="margin y f", ylim=(-0.1, _HIGHEST), xlim=(_MARGIN[0], _MARGIN[-1]))
    axes[0].set_ylabel("loss")
    legend(new, solver_keys(drawn, marker=""))
    return new
