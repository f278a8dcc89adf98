"""Times relative to our fastest solver: one panel per target, row per problem and point per solver.

Left of 1, a solver is faster than our fastest one. A hollow point at the right edge is a solver that did
not reach the target although ours did; a row without points is a target that ours missed. Problems that
no baseline supports are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from dualgap.experiments.analysis.labels import gap_text
from dualgap.experiments.analysis.times import missed_target
from dualgap.experiments.plots.solver_styles import solver_styles
from dualgap.experiments.plots.style import (
    GREY,
    TEXT_WIDTH,
    figure,
    key,
    legend,
    solver_keys,
    wrap,
)
from dualgap.experiments.records.choices import distinct_names
from dualgap.experiments.records.outcomes import NOT_RUN

_NAME_LENGTH = 30  # characters of a problem's name per line; names have two lines
_LONG_NAME_LENGTH = 48  # if shorter lines would leave out parameters
_HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white"}


def speedup(table: pd.DataFrame, words: Mapping[str, Sequence[str]]) -> Figure:
    """Draw the ratios of the table of `means.compared`, for the targets that have any.

    Our solvers are drawn only if there are several: the fastest is at 1 by definition. `words` are those
    of the problems' names.
    """
    ratios = table.dropna(subset=["ratio"])
    targets = list(ratios["target"].unique())
    several = ratios[ratios["kind"] == "ours"]["solver"].nunique() > 1
    drawn = table["kind"].isin(["ours", "peer"] if several else ["peer"])
    comparable = table["ratio"].notna() | missed_target(table)
    points = table[table["target"].isin(targets) & drawn & comparable]
    supported = table[drawn & ~table["outcome"].isin(NOT_RUN)]
    problems = [str(problem) for problem in supported["problem"].unique()]
    styles = solver_styles(points["solver"].astype(str))
    new = figure(TEXT_WIDTH, max(1.4, 0.34 * len(problems)) + 1.1)  # inches
    # whole powers of two beyond the ratios
    low = np.log2(min(float(ratios["ratio"].min()), 1.0))
    high = np.log2(max(float(ratios["ratio"].max()), 2.0))
    limits = 2.0 ** (np.floor(low) - 0.3), 2.0 ** (np.ceil(high) + 0.3)
    half = 0.2 * (len(styles) > 1)  # of a row: points of different solvers do not overlap
    offsets = np.linspace(-half, half, len(styles))
    first: Axes | None = None
    for i, target in enumerate(targets, 1):
        ax = new.add_subplot(1, len(targets), i, sharey=first)
        first = first or ax
        ax.set_title(f"gap ≤ {gap_text(target)}")
        rows = points[points["target"] == target]
        solved = set(table[(table["target"] == target) & (table["ratio"] == 1)]["problem"])
        for solver, offset in zip(styles, offsets, strict=True):
            group = rows[rows["solver"] == solver]
            group = group.assign(y=[problems.index(str(p)) + offset for p in group["problem"]])
            line = styles[solver].arguments(linestyle="none")
            ax.plot(group["ratio"].tolist(), group["y"].tolist(), **line)
            missed = group[missed_target(group) & group["problem"].isin(solved)]["y"].tolist()
            if missed:  # unclipped lines enter the layout even without points
                hollow: dict[str, Any] = {**line, **_HOLLOW, "clip_on": False}
                ax.plot([limits[1]] * len(missed), missed, **hollow)
        _decorate(ax, limits, i == 1, [words[problem] for problem in problems])
    entries = solver_keys(styles, linestyle="none")
    if any(line.get_markerfacecolor() == "white" for ax in new.axes for line in ax.lines):
        entries.append((key(color=GREY, marker="o", **_HOLLOW), "at the edge: target not reached"))
    legend(new, entries)
    label = "time relative to our fastest solver (above 1: ours is faster)"
    middle = 0.5 if len(targets) % 2 else 1.04  # of the panel, or between two panels
    new.axes[(len(targets) - 1) // 2].set_xlabel(label, x=middle)
    return new


def _decorate(
    ax: Axes, limits: tuple[float, float], leftmost: bool, problems: Sequence[Sequence[str]]
) -> None:
    ax.axvline(1.0, color="#555555", linewidth=0.8)
    ax.set(xscale="log", xlim=limits, ylim=(len(problems) - 0.5, -0.5))
    ax.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0) if limits[1] < 200 else (1.0,)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_yticks(range(len(problems)))
    ax.tick_params(axis="y", length=0, labelleft=leftmost)
    if leftmost:
        ax.set_yticklabels(_labels(problems))


def _labels(problems: Sequence[Sequence[str]]) -> list[str]:
    """Return distinct names of problems; if they are too long, the shortest that are distinct.

    Those are the data sets, or longer lines without the formulations.
    """
    names, datasets = distinct_names(problems), [words[0] for words in problems]
    labels = [wrap(name, _NAME_LENGTH) for name in names]
    if "…" not in "".join(labels):
        return labels
    if len(set(datasets)) == len(datasets):
        return [wrap(name, _NAME_LENGTH) for name in datasets]
    unformulated = distinct_names([[words[0], *words[2:]] for words in problems])
    is_distinct = len(set(unformulated)) == len(problems)
    return [wrap(name, _LONG_NAME_LENGTH) for name in (unformulated if is_distinct else names)]
