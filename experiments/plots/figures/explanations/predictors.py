"""What predicts the fastest solver: a cell for every solver and property of the problems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.analysis.explanations.predictors import PREDICTORS, correlations, descriptions
from experiments.analysis.times import times
from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs
from experiments.plots.style import TEXT_WIDTH, figure, wrap
from experiments.tables.table import Column, Table

_DARK = 0.6  # correlations above it have colours on which black is hard to read
_COLUMNS = {
    "solver": Column("solver"),
    "predictor": Column("predictor"),
    "correlation": Column("correlation", "{:.2f}".format),
    "p": Column("p", "{:.1e}".format),
    "problems": Column("problems"),
    "telling": Column("telling", lambda telling: "yes" if telling else ""),
}


class Predictors(Drawing):
    """Rank correlations of what problems are like with how far behind each solver is."""

    on_request = True

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure and a table for each target gap that has correlations."""
        described = descriptions(runs.table)
        table = times(runs.table, "first_within", traces=runs.traces)
        for target, at_target in table.groupby("target"):
            found = correlations(at_target, described)
            if len(found):
                name = f"{self.name}_{target:.0e}"
                yield name, predictors(found, float(str(target)))
                largest = found.sort_values("correlation", key=abs, ascending=False, kind="stable")
                yield f"{name}_table", Table.of(largest, _COLUMNS).markdown()


def predictors(found: pd.DataFrame, target: float) -> Figure:
    """Draw the correlations, blue where more of a property is good for a solver; telling ones bold."""
    order = [name for name in PREDICTORS if name in set(found["predictor"])]
    cells, telling = (
        found.pivot(index="solver", columns="predictor", values=name)[order]
        for name in ("correlation", "telling")
    )
    new = figure(TEXT_WIDTH, 0.28 * len(cells) + 2.0)
    ax = new.add_subplot()
    colours = ax.imshow(cells.to_numpy(), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    for (y, x), value in np.ndenumerate(cells.to_numpy(np.float64)):
        ax.text(
            x,
            y,
            f"{value:.2f}",
            ha="center",
            va="center",
            color="white" if abs(value) > _DARK else "black",
            fontweight="bold" if telling.iloc[y, x] else "normal",
        )
    names = [name.replace("_", " ") for name in order]
    ax.set_xticks(np.arange(len(names)), names, rotation=35, ha="right", rotation_mode="anchor")
    ax.set_yticks(np.arange(len(cells)), [wrap(str(name), 34) for name in cells.index])
    ax.set_title(
        f"time to a gap of {target:.0e} over that of the best other solver\n"
        "(bold: significant at 5 % over all cells)"
    )
    ax.grid(visible=False)
    bar = new.colorbar(colours, ax=ax)
    bar.set_label("Spearman's correlation;\nabove 0: more of it, slower")
    return new
