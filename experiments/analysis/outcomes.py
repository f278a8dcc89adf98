"""What the outcome of a run means: which are final, which mean that nothing was run, and the worst."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from experiments.cases.records import BAD

FINAL = ("solved", "infeasible")  # verdicts that settle the problem
COMPLETED = ("finished", "infeasible")  # statuses of runs whose time is that of the whole algorithm
NOT_RUN = ("unsupported", "not_installed")  # statuses of runs in which no solver was started
NOT_ASKED = "short"  # of a target: the gap still fell at the smallest tolerance that was tried
BROKEN = ("wrong", *BAD)
_WORST_FIRST = ("wrong", "uncertified", "inaccurate", "infeasible", "solved")


def worst_outcome(statuses: Iterable[Any], verdicts: Iterable[Any]) -> str:
    """Return the status of a run that did not complete, otherwise the worst verdict of all runs."""
    failed = [str(status) for status in statuses if status not in COMPLETED]
    worst = min(map(str, verdicts), key=_WORST_FIRST.index)
    if not failed or worst in FINAL or worst == "wrong":
        return worst
    return failed[0]


def solved_of(row: Mapping[Any, Any]) -> str:
    """Return `1 of 3 solved` where not all runs of a configuration ended alike, else nothing."""
    some = 0 < row["solved"] < row["runs"]
    return f"{row['solved']} of {row['runs']} solved" if some else ""


def missed(row: Mapping[Any, Any]) -> str:
    """Return what a table shows instead of a time to a target; nothing if it was not asked for.

    Parameters
    ----------
    row : `gap` and `outcome` of a row of `cheapest`.
    """
    outcome = str(row["outcome"]).replace("_", " ")
    if outcome == NOT_ASKED:
        return "– no certified answer" if np.isnan(row["gap"]) else ""
    if np.isnan(row["gap"]):
        return f"– {outcome}" if outcome != "stalled" else "– no certified answer"
    gap = f"{row['gap']:.1e}"
    return f"– stalls at {gap}" if outcome == "stalled" else f"– {gap}, then {outcome}"
