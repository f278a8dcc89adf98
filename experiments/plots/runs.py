"""What the figures of one results folder share: its runs, their traces, and a look for each solver."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pandas as pd

from experiments.plots.style import Look, looks
from problems import Vector

_ACCURACY = frozenset({"tol"})  # runs that differ only in it are one series: a sweep
_DRAWN = frozenset({"seed"})  # runs that differ only in it are repetitions
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
        return mine.assign(relative_gap=_relative(mine))

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
    """Return the runs of a folder from its two tables and the loader of its answers."""
    settings = [_settings(params) for params in results["params"]]
    solvers = results["solver"].astype(str).tolist()
    differing, short = _differing(solvers, settings), _short_names(solvers)
    names = {
        column: [
            _label(short[solver], {k: mine.get(k) for k in sorted(differing[solver] - left_out)})
            for solver, mine in zip(solvers, settings, strict=True)
        ]
        for column, left_out in (("configuration", frozenset[str]()), ("series", _ACCURACY))
    }
    return Runs(results.assign(**names), traces, model, looks(names["series"]))


def _settings(params: Any) -> dict[str, Any]:
    if isinstance(params, str) and params:
        params = json.loads(params)
    return dict(cast("Mapping[str, Any]", params)) if isinstance(params, Mapping) else {}


def _differing(solvers: list[str], settings: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return for each solver the settings that are not the same in all its runs."""
    runs: dict[str, list[dict[str, Any]]] = {solver: [] for solver in solvers}
    for solver, mine in zip(solvers, settings, strict=True):
        runs[solver].append(mine)
    return {
        solver: {
            name
            for name in set[str]().union(*all_mine) - _DRAWN
            if len({repr(mine.get(name)) for mine in all_mine}) > 1
        }
        for solver, all_mine in runs.items()
    }


def _short_names(solvers: list[str]) -> dict[str, str]:
    """Return each solver's name; of one from a file the file's own, unless two are called so."""
    full = set(solvers)
    tails = [solver.rsplit("/", 1)[-1] for solver in full]
    return {
        solver: t if tails.count(t) == 1 else solver for solver, t in zip(full, tails, strict=True)
    }


def _label(name: str, settings: dict[str, Any]) -> str:
    told = ", ".join(
        f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}"
        for k, v in settings.items()
        if v is not None
    )
    return f"{name} ({told})" if told else name


def _relative(looks_taken: pd.DataFrame) -> Vector:
    """Return gap / max(|primal|, |dual|), 0 where the gap is 0."""
    bounds = looks_taken[["primal_objective", "dual_objective"]].to_numpy(dtype=np.float64)
    gap = looks_taken["gap"].to_numpy(dtype=np.float64)
    size = np.abs(bounds).max(axis=1, initial=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gap == 0, 0.0, gap / size)
