"""Runs of several hosts: times are only ever compared within one of them."""

from __future__ import annotations

import pandas as pd

_UNKNOWN = "an unknown host"  # of a run that was lost with it


def apart(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs, with those of each host as problems of their own if there are several hosts.

    `problem_id` and `family_hash` then tell the host too, so that whatever is grouped by them is of one
    host. Bounds were pooled before, when the results were loaded: they hold on every host.
    """
    if results["host"].nunique() < 2:
        return results
    host = results["host"].astype(object).fillna(_UNKNOWN).astype(str)
    told = {key: results[key].str.cat(host, sep=" on ") for key in ("problem_id", "family_hash")}
    return results.assign(**told)


def told_apart(hosts: pd.Series) -> str:
    """Return what a table of these hosts must say; an empty string if there is only one."""
    names = sorted({str(host) for host in hosts.dropna()})
    if len(names) < 2:
        return ""
    return (
        f"Run on several hosts ({', '.join(names)}): times are compared, and solvers ranked, only "
        "within one host."
    )
