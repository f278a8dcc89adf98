"""What all figures of a results folder share: its runs and traces, and a line style for each solver."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.profiles import LEAST_GAP
from dualgap.experiments.analysis.times import CLOCK_RESOLUTION_S, grouped
from dualgap.experiments.plots.solver_styles import solver_styles
from dualgap.experiments.plots.style import LineStyle
from dualgap.problems import Geometry, Vector

Unit = Literal["time", "rounds"]  # seconds of solving, or questions that every block was asked


class Curve(NamedTuple):
    """The evaluations of a run, or its end: what it had taken, and certified relative gaps."""

    series: str
    configuration: str
    taken: Vector
    gaps: Vector


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a folder, ready to be drawn.

    Attributes
    ----------
    table : one row a run, the columns of `load_results` and those of `analysis.times.labelled`.
    traces : one row an evaluation: run_id, time (s), iteration, bounds, n_support.
    model : run_id -> its answer in the plane, or None if none was kept.
    checks : what `dualgap verify` has found, empty if it was not run.
    paths : one row an answer on a path, see `records.columns.PATHS`.
    """

    table: pd.DataFrame
    traces: pd.DataFrame
    model: Callable[[str], Geometry | None] = lambda _: None
    checks: pd.DataFrame = field(default_factory=pd.DataFrame)
    paths: pd.DataFrame = field(default_factory=pd.DataFrame)

    @cached_property
    def styles(self) -> dict[str, LineStyle]:
        """How each series is drawn, in all figures."""
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
        """Return the evaluations of one run in the order of time."""
        evaluations = self.traces.iloc[self._of_runs.get(run_id, [])]
        return evaluations.sort_values("time", kind="stable") if len(evaluations) else evaluations

    @cached_property
    def _of_runs(self) -> dict[Any, Any]:
        return {} if self.traces.empty else self.traces.groupby("run_id").indices

    def typical(self, problem: str) -> Iterator[pd.Series]:
        """Yield one run for each configuration: the one whose time is the median (the lower one)."""
        for place in self._typical.get(problem, ()):
            yield self.table.iloc[place]

    @cached_property
    def _typical(self) -> dict[str, list[int]]:
        """The places of the typical runs in the table, by problem, in the order of configurations."""
        table = self.table.reset_index(drop=True).dropna(subset=["time_solve"])
        table = table.sort_values(["configuration", "time_solve"], kind="stable")
        found: dict[str, list[int]] = {}
        groups = grouped(table.index.tolist(), table["problem_id"], table["configuration"])
        for (problem, _), same in groups.items():
            found.setdefault(str(problem), []).append(same[(len(same) - 1) // 2])
        return found

    def curves(self, problem: str, unit: Unit = "time") -> list[Curve]:
        """Return how the gaps of the typical runs fell, where they have certified ones.

        Of a run with fewer than two evaluations the end stands for them.
        """
        found: list[Curve] = []
        during, whole = ("time", "time_solve") if unit == "time" else ("iteration", "rounds")
        for run in self.typical(problem):
            taken, gaps = self.trace(run["run_id"])[[during, "relative_gap"]].to_numpy(np.float64).T
            if len(taken) < 2:
                taken, gaps = np.array([[run[whole]], [run["relative_gap"]]], np.float64)
            certified = np.isfinite(gaps) & np.isfinite(taken)
            if certified.any():
                taken = taken[certified].clip(CLOCK_RESOLUTION_S)
                gaps = gaps[certified].clip(LEAST_GAP)
                found.append(Curve(str(run["series"]), str(run["configuration"]), taken, gaps))
        return found
