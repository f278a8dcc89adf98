"""Validation errors along paths, with the band that those of all optima are in.

Of folds the mean: no value of the parameter has a cross-validation error below the band's lower edge.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dualgap.experiments.analysis.labels import names_of
from dualgap.experiments.plots.drawing import Drawing, Named
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import decades, key, legend, line_styles, panels
from dualgap.experiments.tables.formats import file_name
from dualgap.solvers.paths.cross_validation import Bands, summed

_COLUMNS = ["error", "least_error", "most_error"]


class CertifiedErrors(Drawing):
    """The error on held-out samples at every value of a path's parameter; a figure a problem."""

    needs = ("paths",)

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for each problem, whatever its fold, of which a path was followed."""
        followed: dict[str, dict[str, dict[str, pd.DataFrame]]] = {}
        # errors are the same on every host, and each may have had some of the folds
        models, named = names_of(runs.table, {"fold", "host"}), names_of(runs.table, {"host"})
        posed = Counter({named[problem]: models[problem] for problem in runs.problems}.values())
        for problem in runs.problems:
            for run in runs.typical(problem):
                answers = runs.paths[runs.paths["run_id"] == run["run_id"]]
                if answers["error"].notna().any():
                    series = followed.setdefault(models[problem], {})
                    series.setdefault(str(run["configuration"]), {})[named[problem]] = answers
        for model, series in followed.items():
            answers = next(iter(next(iter(series.values())).values()))
            parameter = str(answers["parameter"].iloc[0])
            tables = dict[str, pd.DataFrame]()
            for label, folds in series.items():
                some = f" ({len(folds)} of {posed[model]} folds)" * (len(folds) < posed[model])
                tables[label + some] = mean_errors([*folds.values()])
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
    new, (ax,) = panels([title])
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
