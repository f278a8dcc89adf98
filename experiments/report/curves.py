"""How the certified gap fell with time: one curve for each problem and configuration of a solver.

A configuration that was looked at while it ran is a curve, its typical run (the median time of its
repetitions); one that was seen only in the end is a point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from experiments.analysis.profiles import SOONEST
from experiments.plots.gap_against_time import FLOOR
from experiments.plots.runs import Runs, relative_gap
from problems import Vector

_POINTS = 40_000  # of all curves together: what a page of a few megabytes has room for
_FEWEST, _MOST = 12, 120  # points of one curve


@dataclass(frozen=True, eq=False)
class Curve:
    """The looks at one run: seconds of solving, certified relative gaps (0 is drawn as `FLOOR`)."""

    series: str
    configuration: str
    times: Vector
    gaps: Vector


def convergence(runs: Runs) -> dict[str, list[Curve]]:
    """Return the curves of each problem, thinned so that all of them together stay small.

    Solvers without a certified gap on a problem have no curve there.
    """
    known = {str(run_id): looks for run_id, looks in runs.traces.groupby("run_id", sort=False)}
    most = int(np.clip(_POINTS // max(len(runs.table), 1), _FEWEST, _MOST))
    return {
        problem: [
            curve for run in runs.typical(problem) if len((curve := _curve(run, known, most)).times)
        ]
        for problem in runs.problems
    }


def _curve(run: pd.Series, known: Mapping[str, pd.DataFrame], most: int) -> Curve:
    looks = known.get(str(run["run_id"]))
    if looks is None or len(looks) < 2:
        times, gaps = np.array([run["time_solve"]]), np.array([run["relative_gap"]])
    else:
        looks = looks.sort_values("time", kind="stable")
        times, gaps = looks["time"].to_numpy(dtype=np.float64), relative_gap(looks)
    certified = np.isfinite(gaps) & np.isfinite(times)
    times, gaps = times[certified].clip(SOONEST), gaps[certified].clip(FLOOR)
    kept = thinned(len(times), most)
    return Curve(str(run["series"]), str(run["configuration"]), times[kept], gaps[kept])


def thinned(count: int, most: int) -> np.ndarray:
    """Return at most `most` of `count` places, evenly, the first and the last among them."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
