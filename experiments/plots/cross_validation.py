"""Mean test score over the folds against the parameter that varies most, the best model ringed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.cross_validation import mean_scores
from experiments.plots.runs import Runs
from experiments.plots.style import PANELS, key, label_outside, legend, looks, panels

_PARAMETERS = ("C", "lam", "epsilon")


def validated(runs: Runs) -> pd.DataFrame:
    """Return the mean scores of a folder's models, with a `title` for each choice among them."""
    scores = mean_scores(runs.table)
    titles = scores["dataset"] + " " + scores["formulation"] + " " + scores["solver"]
    return scores.assign(title=titles.astype(str))


def cross_validation(scores: pd.DataFrame) -> Figure:
    """Draw a panel for each of up to six choices: score ± standard error, a line a kernel.

    `scores` is what `validated` returns.
    """
    titles = list(dict.fromkeys(scores["title"]))[:PANELS]
    lines = {title: _lines(scores[scores["title"] == title]) for title in titles}
    drawn = looks(label for found in lines.values() for label in found)
    new, axes = panels(titles, height=2.2)
    for title, ax in zip(titles, axes, strict=True):
        mine = scores[scores["title"] == title]
        parameter = _swept(mine)
        for label, unordered in lines[title].items():
            rows, look = unordered.sort_values(parameter), drawn[label].line(capsize=2)
            ax.errorbar(rows[parameter], rows["mean"], rows["error"], **look)
        _ring(ax, mine[mine["best"]], parameter)
        ax.set_xscale("log" if (mine[parameter] > 0).all() else "linear")
        ax.set_xlabel(parameter)
    label_outside(axes, axes[-1].get_xlabel(), "score on the part held out")
    entries: list[tuple[Artist, str]] = [(key(**look.line()), name) for name, look in drawn.items()]
    ring = key(color="#000000", marker="o", linestyle="none", markerfacecolor="none", markersize=9)
    legend(new, [*entries, (ring, "best mean")])
    return new


def _swept(scores: pd.DataFrame) -> str:
    """Return the parameter with the most values."""
    return max(_PARAMETERS, key=lambda name: scores[name].nunique())


def _lines(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the models of one choice by what tells them apart beside the swept parameter."""
    swept = _swept(scores)
    rest = [p for p in _PARAMETERS if p != swept and scores[p].nunique() > 1]
    labels = scores["kernel"].astype(str)
    for name in rest:
        labels = labels + f", {name}=" + scores[name].map("{:g}".format)
    return {str(label): rows for label, rows in scores.groupby(labels, sort=False)}


def _ring(ax: Axes, best: pd.DataFrame, parameter: str) -> None:
    ax.plot(
        best[parameter],
        best["mean"].to_numpy(dtype=np.float64),
        color="#000000",
        marker="o",
        linestyle="none",
        markerfacecolor="none",
        markersize=9,
        zorder=5,
    )
