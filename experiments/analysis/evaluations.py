"""The evaluations of a run's iterates, with the precision of their gaps and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from problems import Vector

LEAST_GAP = 1e-16  # relative; float64 cannot resolve less, so smaller gaps are drawn here
SHORTEST_TIME = 1e-7  # seconds, the clock's resolution; shorter times are drawn here


def convergence(run: Mapping[str, Any], evaluations: pd.DataFrame) -> tuple[Vector, Vector]:
    """Return the times (s) and relative gaps of a run, where both are finite, clipped from below.

    Parameters
    ----------
    evaluations : those of the run in the order of time. With fewer than two, the end of the run stands
        for them.
    """
    if len(evaluations) < 2:
        times, gaps = (np.array([run[name]], np.float64) for name in ("time_solve", "relative_gap"))
    else:
        times, gaps = evaluations[["time", "relative_gap"]].to_numpy(np.float64).T
    certified = np.isfinite(gaps) & np.isfinite(times)
    return times[certified].clip(SHORTEST_TIME), gaps[certified].clip(LEAST_GAP)
