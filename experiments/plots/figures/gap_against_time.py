"""Certified gap against time or rounds: how soon each solver's answer is provably good.

A solver whose iterates were evaluated is a line, its typical run (the median time of its repetitions).
One that was evaluated only at its end is a point, or several points for several tolerances. A legend
of more than eight solvers is hard to follow: each panel then has names on its right.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dualgap.experiments.analysis.profiles import MIN_PLOTTED_GAP
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Curve, Runs, Unit
from dualgap.experiments.plots.style import (
    decades,
    key,
    label_outside,
    legend,
    note,
    panels,
    plain,
    solver_keys,
)
from dualgap.problems import Vector

_TARGET: dict[str, Any] = {"color": "#555555", "linestyle": (0, (1, 2)), "linewidth": 0.9}
# 7: caret down
_CLIPPED: dict[str, Any] = {"color": "#555555", "marker": 7, "linestyle": "none"}
_REACHED: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markersize": 5.5}


class GapAgainstTime(Drawing):
    """Certified relative gap against seconds; one panel per problem."""

    columns = ("time_solve", "relative_gap", "target_gap", "traces.time", "traces.relative_gap")

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per six problems."""
        yield from self.paged(gap_against_time, runs)


class GapAgainstRounds(Drawing):
    """Certified relative gap against rounds, for solvers on blocks; one panel per problem."""

    columns = (
        "rounds",
        "time_solve",
        "relative_gap",
        "target_gap",
        "traces.iteration",
        "traces.relative_gap",
    )

    def applies_to(self, runs: Runs) -> bool:
        """Whether some run has rounds, and was evaluated between them."""
        if "rounds" not in runs.table or runs.traces.empty:
            return False
        counted = runs.table.loc[runs.table["rounds"].notna(), "run_id"]
        return bool(runs.traces["run_id"][runs.traces["run_id"].isin(counted)].duplicated().any())

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per six problems."""
        counted = replace(runs, table=runs.table[runs.table["rounds"].notna()])
        yield from self.paged(partial(gap_against_time, unit="rounds"), counted)


def gap_against_time(runs: Runs, problems: Sequence[str], unit: Unit = "time") -> Figure:
    """Draw the certified relative gap against seconds of solving, or rounds, one panel per problem."""
    curves = {problem: runs.curves(problem, unit) for problem in problems}
    drawn = [curve for problem_curves in curves.values() for curve in problem_curves]
    series = {curve.series for curve in drawn}
    crowded = len(series) > 8  # too many for a legend: solvers are named next to each panel
    figure, axes = panels(problems, 1.5 if crowded else 2.0, shared_axes="y", named=crowded)
    axes[0].set_yscale("log")
    # include all curves and targets, with space for the marks below
    targets = runs.table["target_gap"].dropna().to_numpy(dtype=np.float64)
    heights = np.concatenate([targets, *(curve.gaps for curve in drawn)])
    low, high = float(heights.min(initial=1.0)), float(heights.max(initial=MIN_PLOTTED_GAP))
    axes[0].set_ylim(low / 10, 4 * max(low, high))
    for ax, problem in zip(axes, problems, strict=True):
        _panel(ax, runs, problem, curves[problem], unit)
        if crowded and curves[problem]:
            _add_names(ax, runs, curves[problem])
    spent = "solving time (s)" if unit == "time" else "rounds, each a pass over all samples"
    label_outside(axes, spent, "certified relative gap")
    lines = {curve.series for curve in drawn if len(curve.spent) > 1}
    keys: list[tuple[Artist, str]] = []
    if not crowded:
        keys = solver_keys(runs.styles, lines)
        keys += solver_keys(runs.styles, series - lines, linestyle="none")
    keys.append((key(**_TARGET), "target gap"))
    if lines:
        reached = key(marker="o", color="#555555", **_REACHED)
        keys.append((reached, "first evaluation within the target"))
    if any((curve.gaps <= MIN_PLOTTED_GAP).any() for curve in drawn):
        keys.append((key(**_CLIPPED), f"0, or below {MIN_PLOTTED_GAP:g}"))
    legend(figure, keys)
    return figure


def _add_names(ax: Axes, runs: Runs, curves: Sequence[Curve]) -> None:
    """Write the solvers' names next to the panel in the order of their last gaps, with leader lines."""
    ends: dict[str, Curve] = {}
    for curve in sorted(curves, key=lambda curve: curve.gaps[-1]):
        ends.setdefault(curve.series, curve)
    space = ax.bbox.height / ax.figure.dpi
    low, high = np.log(ax.get_ylim())
    ends_at = [(np.log(c.gaps[-1]) - low) / (high - low) for c in ends.values()]
    spacing = 0.115 / space  # inches between names
    heights = spread_out(np.array(ends_at), spacing)
    for curve, y in zip(ends.values(), heights, strict=True):
        line = runs.styles[curve.series]
        mark = line.arguments(linestyle="none", label="_key", clip_on=False, markersize=4)
        ax.plot([1.06], [y], transform=ax.transAxes, **mark)
        ax.annotate(
            plain(curve.series),
            (curve.spent[-1], curve.gaps[-1]),
            (1.12, y),
            textcoords="axes fraction",
            fontsize=6.5,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": line.colour,
                "linewidth": 0.4,
                "relpos": (0, 0.5),
            },
        )


def spread_out(heights: Vector, distance: float) -> Vector:
    """Return increasing `heights` within (0, 1), at least `distance` apart."""
    steps = distance * np.arange(len(heights))
    moved = heights - steps
    up, down = np.maximum.accumulate(moved), np.minimum.accumulate(moved[::-1])[::-1]
    return np.clip(0.5 * (up + down), 0.0, max(0.0, 1.0 - steps[-1])) + steps


def _panel(ax: Axes, runs: Runs, problem: str, curves: Sequence[Curve], unit: Unit) -> None:
    """Draw one problem: points, and lines with marks where they reach the target and end."""
    if unit == "time":
        ax.set_xscale("log")
    target = float(runs.of(problem)["target_gap"].max())
    if np.isfinite(target):
        ax.axhline(target, **_TARGET)
    for series, _, spent, gaps in curves:
        line = runs.styles[series]
        if len(spent) == 1:
            ax.plot(spent, gaps, label=series, **line.arguments(linestyle="none"))
        else:
            ax.plot(spent, gaps, label=series, **line.arguments(markevery=[-1]))
            reached = np.flatnonzero(gaps <= target)[:1]
            ax.plot(spent[reached], gaps[reached], label="_reached", **line.arguments(**_REACHED))
        low = gaps <= MIN_PLOTTED_GAP
        if low.any():
            ax.plot(spent[low], 0.4 * gaps[low], label="_clipped", **_CLIPPED)
    if not curves:
        note(ax, "no certified gap")
    if unit == "time":
        decades(ax)
    else:
        ax.set_xlim(left=0)
        ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
