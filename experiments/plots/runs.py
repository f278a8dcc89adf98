"""What the figures of one results folder share: its runs, their traces, and a look for each solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.analysis.noise import without_twins
from experiments.output.tables import solver_labels
from experiments.plots.style import Look, looks
from problems import Vector

_ACCURACY = frozenset({"tol"})  # runs that differ only in it are one series: a sweep
Model = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a folder, ready to be drawn.

    Attributes
    ----------
    table : one row a run, the columns of `load_results` and two more: `configuration`, the solver
        with the settings in which its runs differ, and `series`, the same without the tolerance.
    traces : one row a look: run_id, time (s), iteration, bounds, n_support.
    model : run_id -> X, y, alpha, w, b, kernel of its answer, or None if none was kept.
    looks : how each series is drawn, in all figures.
    """

    table: pd.DataFrame
    traces: pd.DataFrame
    model: Callable[[str], Model | None]
    looks: dict[str, Look]

    @property
    def problems(self) -> list[str]:
        """Every problem's id, in the order of the table."""
        return list(dict.fromkeys(self.table["problem_id"].astype(str)))

    def of(self, problem: str) -> pd.DataFrame:
        """Return the runs on one problem."""
        return self.table[self.table["problem_id"].astype(str) == problem]

    def trace(self, run_id: Any) -> pd.DataFrame:
        """Return the looks at one run in the order of time, with their `relative_gap`."""
        mine = self.traces[self.traces["run_id"] == run_id].sort_values("time", kind="stable")
        return mine.assign(relative_gap=relative_gap(mine))

    def typical(self, problem: str) -> Iterator[pd.Series]:
        """Yield one run for each configuration: the one whose time is the median (the lower one)."""
        ran = self.of(problem).dropna(subset=["time_solve"])
        for _, same in ran.groupby("configuration", sort=True):
            yield same.sort_values("time_solve", kind="stable").iloc[(len(same) - 1) // 2]


def gather(
    results: pd.DataFrame,
    traces: pd.DataFrame,
    model: Callable[[str], Model | None] = lambda _: None,
) -> Runs:
    """Return the runs of a folder from its two tables and the loader of its answers.

    The second runs of A/A pairs are left out: they are drawn already.
    """
    results = without_twins(results)
    series = solver_labels(results, leave_out=_ACCURACY)
    table = results.assign(configuration=solver_labels(results), series=series)
    return Runs(table, traces, model, looks(series))


def relative_gap(looks_taken: pd.DataFrame) -> Vector:
    """Return gap / max(|primal|, |dual|), 0 where the gap is 0."""
    bounds = looks_taken[["primal_objective", "dual_objective"]].to_numpy(dtype=np.float64)
    gap = looks_taken["gap"].to_numpy(dtype=np.float64)
    size = np.abs(bounds).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / size)
