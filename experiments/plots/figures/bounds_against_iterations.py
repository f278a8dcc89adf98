"""Bounds against iterations: dual ≤ optimum ≤ primal, and how the two meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs, finite
from experiments.plots.style import (
    count_axis,
    key,
    label_outside,
    legend,
    note,
    panels,
    solver_keys,
)

_BELOW, _ABOVE = 1.1, 1.5  # how much of the first iterates is shown, in units of the optimum
_VIEWS: dict[str, dict[str, Any]] = {
    "primal_objective": {"linestyle": "-"},
    "dual_objective": {"linestyle": (0, (4, 1.5)), "markerfacecolor": "white"},
}


class BoundsAgainstIterations(Drawing):
    """Dual ≤ optimum ≤ primal against iterations; a panel a problem."""

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for every six problems; none where paths alone were followed."""
        if runs.table["n_answers"].isna().any():
            yield from self.paged(bounds_against_iterations, runs)


def bounds_against_iterations(runs: Runs, problems: Sequence[str]) -> Figure:
    """Draw primal and dual bounds against each solver's own count, one panel a problem.

    First iterates can be off by orders of magnitude; what lies far outside is cut.
    """
    figure, axes = panels(problems)
    seen: set[str] = set()
    for ax, problem in zip(axes, problems, strict=True):
        seen |= _panel(ax, runs, problem)
    label_outside(axes, "iterations (solver's own count)", "objective")
    names = ("primal (upper bound)", "dual (lower bound, hollow)")
    views = [
        (key(color="#555555", linestyle=view["linestyle"]), name)
        for name, view in zip(names, _VIEWS.values(), strict=True)
    ]
    legend(figure, [*solver_keys(runs.styles, seen, linestyle="-"), *views])
    return figure


def _panel(ax: Axes, runs: Runs, problem: str) -> set[str]:
    seen: set[str] = set()
    for run in runs.typical(problem):
        evaluations = runs.trace(run["run_id"])
        if len(evaluations) < 2:
            evaluations = pd.DataFrame(run).T.rename(columns={"iterations": "iteration"})
        seen |= _lines(ax, runs, str(run["series"]), evaluations)
    if seen:
        count_axis(ax)
        ax.set_ylim(*_window(runs.of(problem), ax))
    else:
        note(ax, "no bounds")
        ax.set_yticks([])
    return seen


def _lines(ax: Axes, runs: Runs, series: str, evaluations: pd.DataFrame) -> set[str]:
    """Draw both bounds where they are finite; return the series if anything was drawn."""
    seen: set[str] = set()
    for column, view in _VIEWS.items():
        steps, values = finite(evaluations, column)
        if len(values):
            every = max(1, len(values) // 5)
            drawn = runs.styles[series].arguments(**view, markevery=every, markersize=3.5)
            ax.plot(steps, values, label=f"{series} {column}", **drawn)
            seen.add(series)
    return seen


def _window(table: pd.DataFrame, ax: Axes) -> tuple[float, float]:
    """Return limits that hold all bounds, or as much around the best two as is readable."""
    heights = np.concatenate([np.asarray(line.get_ydata(), dtype=np.float64) for line in ax.lines])
    bracket = np.array([table["dual_objective"].max(), table["primal_objective"].min()])
    bracket = bracket[np.isfinite(bracket)]
    centre = float(bracket.mean() if bracket.size else np.median(heights))
    size = abs(centre) if centre else 1.0
    low = max(float(heights.min()), centre - _BELOW * size)
    high = min(float(heights.max()), centre + _ABOVE * size)
    margin = 0.06 * (high - low) if high > low else 0.5 * size
    return low - margin, high + margin
