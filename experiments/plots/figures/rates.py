"""Rates of convergence: distances to the optimum, and fitted lines."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dualgap.experiments.analysis.rates import Approach, approach
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import (
    decades,
    key,
    label_outside,
    legend,
    note,
    panels,
    solver_keys,
)
from dualgap.experiments.tables.table import Table

_FIT: dict[str, Any] = {"color": "#555555", "linewidth": 3.2, "alpha": 0.35, "linestyle": "-"}
_HEADS = ["problem", "solver", "order", "fitted", "reached at k"]


class Rates(Drawing):
    """Distance to the optimum against iterations, with fitted orders."""

    columns = (
        "family_hash",
        "time_solve",
        "primal_objective",
        "dual_objective",
        "traces.iteration",
    )
    columns += ("traces.primal_objective", "traces.dual_objective")
    needs = ("table", "traces")
    on_request = True

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per six problems, and one table of all rates."""
        yield from self.paged(rates, runs)
        rows: list[list[str]] = []
        for problem in runs.problems:
            for run, result in approaches(runs, problem):
                rate = result.rate
                reached = f"{rate.reached:g}" if np.isfinite(rate.reached) else ""
                rows.append([problem, str(run["configuration"]), rate.order, str(rate), reached])
        yield f"{self.name}_table", Table.of(pd.DataFrame(rows, columns=_HEADS)).markdown()


def approaches(runs: Runs, problem: str) -> Iterator[tuple[pd.Series, Approach]]:
    """Yield the typical runs on a problem that have resolved distances."""
    same_optimum = runs.table["family_hash"].isin(runs.of(problem)["family_hash"].dropna())
    for run in runs.typical(problem):
        measured = approach(run, runs.trace(run["run_id"]), runs.table[same_optimum])
        if measured.steps.size:
            yield run, measured


def rates(runs: Runs, problems: Sequence[str]) -> Figure:
    """Draw distances and fits against each solver's own count, one panel per problem."""
    figure, axes = panels(problems)
    drawn: set[str] = set()
    for ax, problem in zip(axes, problems, strict=True):
        for run, result in approaches(runs, problem):
            series, rate = str(run["series"]), result.rate
            line = runs.styles[series]
            drawn.add(series)
            mark = line.arguments(markersize=3)
            ax.loglog(result.steps, result.distances, label=series, **mark)
            k = rate.steps
            if k.size:  # the fitted line, through the mean of the logarithms
                sublinear = rate.order == "sublinear"
                x = rate.value * np.log(k) if sublinear else np.log(rate.value) * k
                ax.plot(k, np.exp(x - x.mean() + np.log(rate.distances).mean()), **_FIT)
        if ax.lines:
            decades(ax)
        else:
            note(ax, "no distances")
    label_outside(axes, "iterations (solver's own count)", "distance to the optimum")
    legend(figure, [*solver_keys(runs.styles, drawn, markersize=3), (key(**_FIT), "fitted")])
    return figure
