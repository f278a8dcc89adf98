"""Time against the number of samples, with the exponent k of time ∝ n^k fitted for each solver."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from dualgap.experiments.analysis.growth import exponent, growing_problems
from dualgap.experiments.analysis.labels import SIZES, names_of
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import TEXT_WIDTH, figure, key, label_sizes, plain, wrap
from dualgap.experiments.tables.formats import file_name

_HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white"}


def solved_sizes(runs: Runs, results: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (title, runs) of otherwise equal problems that were run at three or more n.

    The problems' names are made from `results`.
    """
    runs_of_sizes = runs.table.dropna(subset=["n", "time_solve"])
    return growing_problems(runs_of_sizes, "problem_id", names_of(results, SIZES))


class TimeAgainstN(Drawing):
    """Growth of time with n, and its exponent; one figure per growing problem."""

    columns = ("n", "time_solve", "verdict")

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per problem that was run at three or more n."""
        for title, table in solved_sizes(runs, runs.table):
            yield file_name(self.name, title), time_against_n(runs, title, table)


def time_against_n(runs: Runs, title: str, table: pd.DataFrame) -> Figure:
    """Draw the median times of solved runs; hollow at an n that no run solved."""
    new = figure(TEXT_WIDTH, 0.45 * TEXT_WIDTH)
    ax = new.add_subplot()
    ax.set_title(wrap(title, 70))
    entries: list[tuple[Artist, str]] = []
    for series, series_runs in table.groupby("series"):
        for i, (configuration, configuration_runs) in enumerate(
            series_runs.groupby("configuration")
        ):
            line = runs.styles[str(series)].variant(i)
            solved = _medians(configuration_runs[configuration_runs["verdict"] == "solved"])
            unsolved = _medians(configuration_runs[~configuration_runs["n"].isin(solved.index)])
            for times, changes in ((solved, {}), (unsolved, _HOLLOW)):
                if len(times):
                    mark = line.arguments(**changes)
                    ax.plot(times.index, times.to_numpy(), label=str(configuration), **mark)
            k = exponent(solved)
            power = f": $n^{{{k:.1f}}}$" if np.isfinite(k) else ""
            entries.append((key(**line.arguments()), plain(str(configuration)) + power))
    if any(line.get_markerfacecolor() == "white" for line in ax.lines):
        entries.append((key(color="#555555", marker="o", **_HOLLOW), "hollow: not solved"))
    ax.set(
        xscale="log", yscale="log", xlabel="number of samples n", ylabel="median solving time (s)"
    )
    label_sizes(ax, np.unique(table["n"].to_numpy(dtype=np.float64)))
    new.set_figheight(max(new.get_figheight(), 0.19 * len(entries) + 0.2))
    new.legend(*zip(*entries, strict=True), loc="outside right upper")
    return new


def _medians(runs: pd.DataFrame) -> pd.Series:
    return runs.groupby("n")["time_solve"].median().sort_index()
