"""Validation errors along paths, with the band that those of all optima are in.

Of folds the mean: no value of the parameter has a cross-validation error below the band's lower edge.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.analysis.labels import words_of
from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs
from experiments.plots.style import decades, key, legend, line_styles, panels, wrap
from experiments.tables.formats import file_name
from solvers.paths.cross_validation import Bands, summed

_COLUMNS = ["error", "least_error", "most_error"]


class CertifiedErrors(Drawing):
    """The error on held-out samples at every value of a path's parameter; a figure a problem."""

    needs = ("paths",)

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for each problem, whatever its fold, of which a path was followed."""
        followed: dict[str, dict[str, list[pd.DataFrame]]] = {}
        models = words_of(runs.table, {"fold"})
        for problem in runs.problems:
            for run in runs.typical(problem):
                answers = runs.paths[runs.paths["run_id"] == run["run_id"]]
                if answers["error"].notna().any():
                    series = followed.setdefault(" ".join(models[problem]), {})
                    series.setdefault(str(run["configuration"]), []).append(answers)
        for model, series in followed.items():
            parameter = str(next(iter(series.values()))[0]["parameter"].iloc[0])
            tables = {label: mean_errors(folds) for label, folds in series.items()}
            yield file_name(self.name, model), certified_errors(tables, parameter, model)


def mean_errors(folds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean over folds of the errors of their answers, see `CrossValidation.table`."""
    bands = [
        Bands(np.append(own["from"], own["to"].iloc[-1]), own[_COLUMNS].to_numpy(float).T)
        for own in folds
    ]
    return summed(bands, len(bands), rounded=True)


def certified_errors(tables: Mapping[str, pd.DataFrame], parameter: str, title: str = "") -> Figure:
    """Draw the errors of answers as lines, and between which those of all optima are as bands.

    `tables` are those of `CrossValidation`, by what they are called.
    """
    new, (ax,) = panels([wrap(title, 95)])
    styles, entries = line_styles(tables), list[tuple[Artist, str]]()
    for label, table in tables.items():
        line = styles[label].arguments(marker="")
        ends = np.append(table["from"], table["to"].iloc[-1])
        ax.stairs(
            table["most"], ends, baseline=table["least"], fill=True, color=line["color"], alpha=0.2
        )
        ax.step(ends, np.append(table["error"], table["error"].iloc[-1]), where="post", **line)
        found = f"{label}: least error {table['error'].min():.4g}"
        band = Patch(color=line["color"], alpha=0.2)
        entries += [(key(**line), found), (band, f"all optima: {table['least'].min():.4g} or more")]
    ax.set(xlabel=parameter, ylim=(0, None), ylabel="error on held-out samples")
    if parameter != "epsilon":
        ax.set_xscale("log")
        decades(ax)
    legend(new, entries)
    return new
