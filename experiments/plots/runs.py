"""Data of all figures of a results folder: its runs and traces, and a line style per solver."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.profiles import MIN_PLOTTED_GAP
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.times import grouped
from dualgap.experiments.plots.solver_styles import solver_styles
from dualgap.experiments.plots.style import LineStyle
from dualgap.experiments.records.columns import CLOCK_RESOLUTION_S
from dualgap.problems import Geometry, Vector

Unit = Literal["time", "rounds"]  # seconds of solving, or passes over the blocks of samples


class Curve(NamedTuple):
    """The evaluations of a run, or its end: time or rounds spent, and certified relative gaps."""

    series: str
    configuration: str
    spent: Vector
    gaps: Vector


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a folder, ready to be drawn.

    Attributes
    ----------
    table : one row per run, as in `analysis.results.Results.without_repeats`.
    traces : one row per evaluation: run_id, time (s), iteration, bounds, n_support.
    model : run_id -> its answer, or None if none was stored.
    checks : the checks of `dualgap verify`, empty if it was not run.
    paths : one row per answer on a path, see `records.columns.PATHS`.
    results : all runs, with A/A pairs, to compare the times of solvers.
    time_limit : of a run, in seconds.
    """

    table: pd.DataFrame
    traces: pd.DataFrame
    model: Callable[[str], Geometry | None] = lambda _: None
    checks: pd.DataFrame = field(default_factory=pd.DataFrame)
    paths: pd.DataFrame = field(default_factory=pd.DataFrame)
    results: Results | None = None
    time_limit: float | None = None

    @cached_property
    def styles(self) -> dict[str, LineStyle]:
        """The line style of each series, in all figures."""
        return solver_styles(self.table["series"])

    @property
    def problems(self) -> list[str]:
        """Every problem's id, in the order of the table."""
        return list(dict.fromkeys(self.table["problem_id"].astype(str)))

    def of(self, problem: str) -> pd.DataFrame:
        """Return the runs on one problem."""
        return self.table.iloc[self._of_problems.get(problem, [])]

    @cached_property
    def _of_problems(self) -> dict[Any, Any]:
        return self.table.groupby("problem_id").indices

    def trace(self, run_id: Any) -> pd.DataFrame:
        """Return the evaluations of one run in order of time."""
        evaluations = self.traces.iloc[self._of_runs.get(run_id, [])]
        return evaluations.sort_values("time", kind="stable") if len(evaluations) else evaluations

    @cached_property
    def _of_runs(self) -> dict[Any, Any]:
        return {} if self.traces.empty else self.traces.groupby("run_id").indices

    def typical(self, problem: str) -> Iterator[pd.Series]:
        """Yield one run per configuration: the one of (lower) median time."""
        for index in self._typical.get(problem, ()):
            yield self.table.iloc[index]

    @cached_property
    def _typical(self) -> dict[str, list[int]]:
        """Return the row numbers of the typical runs, by problem, in the order of configurations."""
        table = self.table.reset_index(drop=True).dropna(subset=["time_solve"])
        table = table.sort_values(["configuration", "time_solve"], kind="stable")
        by_problem: dict[str, list[int]] = {}
        groups = grouped(table.index.tolist(), table["problem_id"], table["configuration"])
        for (problem, _), same in groups.items():
            by_problem.setdefault(str(problem), []).append(same[(len(same) - 1) // 2])
        return by_problem

    def curves(self, problem: str, unit: Unit = "time") -> list[Curve]:
        """Return the curves of the typical runs that have certified gaps.

        A run with fewer than two evaluations is represented by its end.
        """
        result: list[Curve] = []
        during, total = ("time", "time_solve") if unit == "time" else ("iteration", "rounds")
        for run in self.typical(problem):
            spent, gaps = self.trace(run["run_id"])[[during, "relative_gap"]].to_numpy(np.float64).T
            if len(spent) < 2:
                spent, gaps = np.array([[run[total]], [run["relative_gap"]]], np.float64)
            certified = np.isfinite(gaps) & np.isfinite(spent)
            if certified.any():
                spent = spent[certified].clip(CLOCK_RESOLUTION_S)
                gaps = gaps[certified].clip(MIN_PLOTTED_GAP)
                result.append(Curve(str(run["series"]), str(run["configuration"]), spent, gaps))
        return result
