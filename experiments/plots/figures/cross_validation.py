"""Mean test score over the folds against the parameter that varies most, the best model ringed."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dualgap.experiments.analysis.cross_validation import CHOICE, mean_scores
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import (
    BLACK,
    MAX_PANELS,
    key,
    label_outside,
    legend,
    line_styles,
    panels,
    solver_keys,
)
from dualgap.experiments.tables.table import Cell, Table

_RING: dict[str, Any] = {
    "color": BLACK,
    "marker": "o",
    "linestyle": "none",
    "markerfacecolor": "none",
    "markersize": 9,
}
_PARAMETERS = ("C", "lam", "epsilon", "nu")


class CrossValidation(Drawing):
    """Mean score on the held-out folds against a parameter; one panel per choice of models."""

    columns = ("formulation", "test_accuracy", "verdict", "kernel", "C", "lam", "epsilon")
    exclusive = True  # means over folds are more useful than one page per fold

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield a figure and a table if the runs are folds of a cross-validation."""
        scores = mean_scores(runs.table)
        if not scores.empty:
            yield self.name, cross_validation(scores)
            models = [*map(Cell, scores["model"], scores["mean"], scores["best"])]
            rows = scores[[*CHOICE, "folds"]].assign(
                model=pd.Series(models, scores.index, dtype=object),
                score=scores["mean"].map("{:.4f}".format)
                + scores["error"].map(lambda e: "" if np.isnan(e) else f" ± {e:.4f}"),
            )
            caption = "Mean over the folds of the score on the held-out fold, ± its standard error."
            yield self.name, f"# Cross-validation\n\n{Table.of(rows).markdown()}\n\n{caption}\n"


def cross_validation(scores: pd.DataFrame) -> Figure:
    """Draw a panel for each of up to six choices: score ± standard error.

    A line connects models that differ only in the parameter. `scores` is the result of `mean_scores`.
    """
    choices = {
        " ".join(map(str, choice)): group for choice, group in scores.groupby(CHOICE, sort=False)
    }
    titles = list(choices)[:MAX_PANELS]
    lines: dict[str, dict[str, pd.DataFrame]] = {}  # by everything except the parameter
    for title in titles:
        selected, swept = choices[title], f"{_swept(choices[title])}="
        labels = pd.Series(
            [" ".join(w for w in ws[2:] if not w.startswith(swept)) for ws in selected["words"]],
            selected.index,
        )
        lines[title] = {str(label): group for label, group in selected.groupby(labels, sort=False)}
    drawn = line_styles(label for by_label in lines.values() for label in by_label)
    new, axes = panels(titles, height=2.2)
    label_outside(axes, "", "score on the held-out fold")
    for title, ax in zip(titles, axes, strict=True):
        selected = choices[title]
        parameter = _swept(selected)
        for label, unordered in lines[title].items():
            rows, line = unordered.sort_values(parameter), drawn[label].arguments(capsize=2)
            ax.errorbar(rows[parameter], rows["mean"], rows["error"], **line)
        best = selected[selected["best"]]
        ax.plot(best[parameter], best["mean"], zorder=5, **_RING)
        ax.set_xscale("log" if (selected[parameter] > 0).all() else "linear")
        ax.set_xlabel(parameter)
    legend(new, [*solver_keys(drawn), (key(**_RING), "best mean")])
    return new


def _swept(scores: pd.DataFrame) -> str:
    """Return the parameter with the most values."""
    return max(_PARAMETERS, key=lambda name: scores[name].nunique())
