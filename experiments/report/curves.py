"""How the certified gap fell with time: one curve for each problem and configuration of a solver.

A configuration whose iterates were evaluated is a curve, its typical run (the median time of its
repetitions); one that was evaluated only at its end is a point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.analysis.evaluations import convergence
from experiments.plots.runs import Runs
from problems import Vector

_POINTS = 40_000  # of all curves together, which a page of a few megabytes has room for
_FEWEST, _MOST = 12, 120  # points of one curve


@dataclass(frozen=True, eq=False)
class Curve:
    """The evaluations of one run: seconds of solving, and certified relative gaps."""

    series: str
    configuration: str
    times: Vector
    gaps: Vector


def curves(runs: Runs) -> dict[str, list[Curve]]:
    """Return the curves of each problem, thinned so that all of them together stay small.

    Solvers without a certified gap on a problem have no curve there.
    """
    traces = runs.traces.sort_values("time", kind="stable").groupby("run_id", sort=False)
    known = {str(run_id): evaluations for run_id, evaluations in traces}
    most = int(np.clip(_POINTS // max(len(runs.table), 1), _FEWEST, _MOST))
    return {
        problem: [
            curve for run in runs.typical(problem) if len((curve := _curve(run, known, most)).times)
        ]
        for problem in runs.problems
    }


def _curve(run: pd.Series, known: Mapping[str, pd.DataFrame], most: int) -> Curve:
    evaluations = known.get(str(run["run_id"]), pd.DataFrame())
    times, gaps = convergence(run, evaluations)
    kept = thinned(len(times), most)
    return Curve(str(run["series"]), str(run["configuration"]), times[kept], gaps[kept])


def thinned(count: int, most: int) -> np.ndarray:
    """Return at most `most` of `count` places, evenly, the first and the last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
