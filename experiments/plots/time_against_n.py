"""Time against the number of samples, with the exponent k of time ∝ n^k fitted for each solver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from experiments.plots.runs import Runs
from experiments.plots.style import TEXT_WIDTH, Look, figure, key, plain, wrap
from problems import Vector

_LEAST = 3  # different n that make a curve
_HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white"}


def growing(runs: Runs) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield (title, runs) of each problem that was run at three or more n, otherwise equal."""
    ran = runs.table.dropna(subset=["n", "time_solve"])
    for title, table in ran.groupby(ran["problem_id"].astype(str).map(without_size)):
        if table["n"].nunique() >= _LEAST:
            yield str(title), table


def time_against_n(runs: Runs, title: str, table: pd.DataFrame) -> Figure:
    """Draw the median time of the runs that solved it, hollow where none at that n did."""
    new = figure(TEXT_WIDTH, 0.45 * TEXT_WIDTH)
    ax = new.add_subplot()
    ax.set_title(wrap(title, 70))
    entries: list[tuple[Artist, str]] = []
    for series, mine in table.groupby("series"):
        for i, (configuration, same) in enumerate(mine.groupby("configuration")):
            look = runs.looks[str(series)].variant(i)
            entries.append((key(**look.line()), _line(ax, str(configuration), same, look)))
    if any(line.get_markerfacecolor() == "white" for line in ax.lines):
        entries.append((key(color="#555555", marker="o", **_HOLLOW), "hollow: not solved"))
    ax.set(xscale="log", yscale="log", xlabel="samples n", ylabel="time solving (s), median")
    label_sizes(ax, np.unique(table["n"].to_numpy(dtype=np.float64)))
    handles, labels = zip(*entries, strict=True)
    new.legend(handles, labels, loc="outside right upper")
    return new


def _line(ax: Axes, configuration: str, table: pd.DataFrame, look: Look) -> str:
    """Draw one solver's times; return what the legend says of it."""
    solved = _medians(table[table["verdict"] == "solved"])
    others = _medians(table[~table["n"].isin(solved.index)])
    for times, changes in ((solved, {}), (others, _HOLLOW)):
        if len(times):
            drawn = look.line(**changes)
            ax.plot(times.index, times.to_numpy(), label=configuration, **drawn)
    k = exponent(solved)
    return plain(configuration) + (f": $n^{{{k:.1f}}}$" if np.isfinite(k) else "")


def label_sizes(ax: Axes, sizes: Vector) -> None:
    """Write the numbers of samples themselves on the axis, as many as there is room for."""
    ax.xaxis.set_major_locator(FixedLocator(list(_spread(sizes))))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.set_xlim(sizes.min() / 1.15, sizes.max() * 1.15)


def exponent(times: pd.Series) -> float:
    """Return k of the least-squares line log t = k log n + c; NaN with fewer than three n."""
    times = times[times > 0]
    if len(times) < _LEAST:
        return float("nan")
    n = np.log(times.index.to_numpy(dtype=np.float64))
    return float(np.polyfit(n, np.log(times.to_numpy(dtype=np.float64)), 1)[0])


def _medians(table: pd.DataFrame) -> pd.Series:
    """Return the median time by n, in the order of n."""
    return table.groupby("n")["time_solve"].median().sort_index()


def _spread(sizes: Vector) -> Iterator[float]:
    """Yield those n that leave room for each other's labels."""
    last = 0.0
    for n in sizes:
        if n > 1.25 * last:
            yield float(n)
            last = float(n)


def without_size(problem: str) -> str:
    """Return a problem's name with what tells its number of samples left out."""
    return re.sub(r"\b(n|limit)=\d+(, )?", "", problem).replace(", )", ")").replace("()", "")
