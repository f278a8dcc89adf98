"""Certified gap against time: how soon each solver's answer is provably good.

A solver whose iterates were evaluated is a line, its typical run (the median time of its repetitions).
One that was evaluated only at its end is a point, or several points for several tolerances.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.analysis.evaluations import LEAST_GAP, convergence
from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs
from experiments.plots.style import (
    LineStyle,
    decades,
    key,
    label_outside,
    legend,
    note,
    panels,
    solver_keys,
)
from problems import Vector

_TARGET: dict[str, Any] = {"color": "#555555", "linestyle": (0, (1, 2)), "linewidth": 0.9}
_CLIPPED: dict[str, Any] = {
    "color": "#555555",
    "marker": 7,
    "linestyle": "none",
}  # 7: caret down
_REACHED: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "white", "markersize": 5.5}


class GapAgainstTime(Drawing):
    """Certified relative gap against seconds; a panel a problem."""

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for every six problems."""
        yield from self.paged(gap_against_time, runs)


def gap_against_time(runs: Runs, problems: Sequence[str]) -> Figure:
    """Draw the certified relative gap against seconds of solving, one panel a problem."""
    figure, axes = panels(problems, share="y")
    curves = {problem: _curves(runs, problem) for problem in problems}
    drawn = [curve for those in curves.values() for curve in those]
    axes[0].set_yscale("log")
    axes[0].set_ylim(*_range(runs, drawn))
    for ax, problem in zip(axes, problems, strict=True):
        _panel(ax, runs, problem, curves[problem])
    label_outside(axes, "solving time (s)", "certified relative gap")
    lines = {series for series, times, _ in drawn if len(times) > 1}
    points = {series for series, _, _ in drawn} - lines
    solvers = [
        *solver_keys(runs.styles, lines),
        *solver_keys(runs.styles, points, linestyle="none"),
    ]
    legend(figure, [*solvers, *_keys(drawn)])
    return figure


_Curve = tuple[str, Vector, Vector]  # series, seconds, relative gaps


def _curves(runs: Runs, problem: str) -> list[_Curve]:
    """Return the curve of each typical run that has a certified gap."""
    curves: list[_Curve] = []
    for run in runs.typical(problem):
        times, gaps = convergence(run, runs.trace(run["run_id"]))
        if len(times):
            curves.append((str(run["series"]), times, gaps))
    return curves


def _range(runs: Runs, drawn: Sequence[_Curve]) -> tuple[float, float]:
    """Return the limits that hold every curve and target, with room for the marks below it."""
    targets = runs.table["target_gap"].dropna().to_numpy(dtype=np.float64)
    heights = np.concatenate([targets, *(gaps for _, _, gaps in drawn)])
    low, high = float(heights.min(initial=1.0)), float(heights.max(initial=LEAST_GAP))
    return low / 10, 4 * max(low, high)


def _panel(ax: Axes, runs: Runs, problem: str, curves: Sequence[_Curve]) -> None:
    ax.set_xscale("log")
    target = float(runs.of(problem)["target_gap"].max())
    if np.isfinite(target):
        ax.axhline(target, **_TARGET)
    for series, times, gaps in curves:
        _curve(ax, runs.styles[series], series, times, gaps, target)
    if not curves:
        note(ax, "no certified gap")
    decades(ax)


def _curve(
    ax: Axes,
    line: LineStyle,
    series: str,
    times: Vector,
    gaps: Vector,
    target: float,
) -> None:
    """Draw one line, marked where it reaches the target and where it ends, or one point."""
    if len(times) == 1:
        ax.plot(times, gaps, label=series, **line.arguments(linestyle="none"))
    else:
        ax.plot(times, gaps, label=series, **line.arguments(markevery=[-1]))
        reached = np.flatnonzero(gaps <= target)[:1]
        ax.plot(times[reached], gaps[reached], label="_reached", **line.arguments(**_REACHED))
    low = gaps <= LEAST_GAP
    if low.any():
        ax.plot(times[low], 0.4 * gaps[low], label="_clipped", **_CLIPPED)


def _keys(drawn: Sequence[_Curve]) -> list[tuple[Artist, str]]:
    keys: list[tuple[Artist, str]] = [
        (key(**_TARGET), "target gap"),
        (key(marker="o", color="#555555", **_REACHED), "first evaluation within the target"),
    ]
    clipped = any((gaps <= LEAST_GAP).any() for _, _, gaps in drawn)
    return [*keys, (key(**_CLIPPED), f"0, or below {LEAST_GAP:g}")] if clipped else keys
