"""Mean test score over the folds against the parameter that varies most, the best model ringed."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from dualgap.experiments.analysis.cross_validation import CHOICE, mean_scores
from dualgap.experiments.plots.drawing import Drawing, Named
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import (
    BLACK,
    PANELS,
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
    """Mean score on the held-out folds against a parameter; a panel a choice of models."""

    instead = True  # a page for each fold would say less than their means

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure and a table if the runs are folds of a cross-validation."""
        scores = mean_scores(runs.table)
        if not scores.empty:
            yield self.name, cross_validation(scores)
            models = [*map(Cell, scores["model"], scores["mean"], scores["best"])]
            shown = scores[[*CHOICE, "folds"]].assign(
                model=pd.Series(models, scores.index, dtype=object),
                score=scores["mean"].map("{:.4f}".format) + scores["error"].map(" ± {:.4f}".format),
            )
            said = "Mean over the folds of the score on the held-out fold, ± its standard error."
            yield self.name, f"# Cross-validation\n\n{Table.of(shown).markdown()}\n\n{said}\n"


def cross_validation(scores: pd.DataFrame) -> Figure:
    """Draw a panel for each of up to six choices: score ± standard error.

    A line has the models that differ in the parameter alone. `scores` is what `mean_scores` returns.
    """
    choices = {
        " ".join(map(str, choice)): own for choice, own in scores.groupby(CHOICE, sort=False)
    }
    titles = list(choices)[:PANELS]
    lines: dict[str, dict[str, pd.DataFrame]] = {}  # by all but the parameter
    for title in titles:
        mine, swept = choices[title], f"{_swept(choices[title])}="
        labels = pd.Series(
            [" ".join(w for w in own[2:] if not w.startswith(swept)) for own in mine["words"]],
            mine.index,
        )
        lines[title] = {str(label): own for label, own in mine.groupby(labels, sort=False)}
    drawn = line_styles(label for found in lines.values() for label in found)
    new, axes = panels(titles, height=2.2)
    label_outside(axes, "", "score on the held-out fold")
    for title, ax in zip(titles, axes, strict=True):
        mine = choices[title]
        parameter = _swept(mine)
        for label, unordered in lines[title].items():
            rows, line = unordered.sort_values(parameter), drawn[label].arguments(capsize=2)
            ax.errorbar(rows[parameter], rows["mean"], rows["error"], **line)
        best = mine[mine["best"]]
        ax.plot(best[parameter], best["mean"], zorder=5, **_RING)
        ax.set_xscale("log" if (mine[parameter] > 0).all() else "linear")
        ax.set_xlabel(parameter)
    legend(new, [*solver_keys(drawn), (key(**_RING), "best mean")])
    return new


def _swept(scores: pd.DataFrame) -> str:
    """Return the parameter with the most values."""
    return max(_PARAMETERS, key=lambda name: scores[name].nunique())
