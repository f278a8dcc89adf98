"""Validation errors along paths, with the band that contains the errors of all optima.

Folds are averaged: no value of the parameter has a cross-validation error below the band's lower edge.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dualgap.experiments.analysis.labels import names_of
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import decades, key, legend, line_styles, panels
from dualgap.experiments.tables.formats import file_name

_COLUMNS = ["error", "error_lower", "error_upper"]


class CertifiedErrors(Drawing):
    """The error on held-out samples at every value of a path's parameter; one figure per problem."""

    columns = (
        "time_solve",
        "paths.from",
        "paths.to",
        "paths.error",
        "paths.error_lower",
        "paths.error_upper",
    )
    needs = ("paths",)

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per problem with a path, for all its folds."""
        followed: dict[str, dict[str, dict[str, pd.DataFrame]]] = {}
        # errors do not depend on the host, and the folds may be spread over several hosts
        models, names = names_of(runs.table, {"fold", "host"}), names_of(runs.table, {"host"})
        total = Counter({names[problem]: models[problem] for problem in runs.problems}.values())
        for problem in runs.problems:
            for run in runs.typical(problem):
                answers = runs.paths[runs.paths["run_id"] == run["run_id"]]
                if answers["error"].notna().any():
                    series = followed.setdefault(models[problem], {})
                    series.setdefault(str(run["configuration"]), {})[names[problem]] = answers
        for model, series in followed.items():
            answers = next(iter(next(iter(series.values())).values()))
            parameter = str(answers["parameter"].iloc[0])
            tables = dict[str, pd.DataFrame]()
            for label, folds in series.items():
                note = f" ({len(folds)} of {total[model]} folds)" * (len(folds) < total[model])
                tables[label + note] = mean_errors([*folds.values()])
            yield file_name(self.name, model), certified_errors(tables, parameter, model)


def mean_errors(folds: list[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean errors over folds, with a row wherever the range of a fold's answer ends."""
    ends = np.unique(np.concatenate([[*fold["from"], fold["to"].iloc[-1]] for fold in folds]))
    middles = 0.5 * (ends[1:] + ends[:-1])
    of_folds = [
        fold[_COLUMNS].to_numpy(float)[fold["from"].searchsorted(middles, "right") - 1]
        for fold in folds
    ]
    columns = dict(zip(("error", "least", "most"), np.mean(of_folds, axis=0).T, strict=True))
    return pd.DataFrame({"from": ends[:-1], "to": ends[1:], **columns})


def certified_errors(tables: Mapping[str, pd.DataFrame], parameter: str, title: str = "") -> Figure:
    """Draw the errors of answers as lines, and the ranges of the errors of all optima as bands.

    `tables` are those of `CrossValidation`, by label.
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
        text = f"{label}: least error {table['error'].min():.4g}"
        band = Patch(color=line["color"], alpha=0.2)
        entries += [(key(**line), text), (band, f"all optima: {table['least'].min():.4g} or more")]
    ax.set(xlabel=parameter, ylim=(0, None), ylabel="error on held-out samples")
    if parameter != "epsilon":
        ax.set_xscale("log")
        decades(ax)
    legend(new, entries)
    return new
