"""Runs of several hosts: times are only ever compared within one of them."""

import json
from functools import cache

import pandas as pd

_UNKNOWN = "an unknown host"  # of a run that was lost together with its host


def split_by_host(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs, with those of each host as problems of their own if there are several hosts.

    `problem_id` and `family_hash` then name the host too, so that whatever is grouped by them is of one
    host, and so does the data set in `problem`, of which names are made; `on_all_hosts` is the
    `problem_id` as it was. Bounds were pooled when the results were loaded: they hold on every host.
    """
    if results["host"].nunique() < 2:
        return results
    host = results["host"].astype(object).fillna(_UNKNOWN).astype(str)
    names = {key: results[key].str.cat(host, sep=" on ") for key in ("problem_id", "family_hash")}
    if "problem" in results:
        names["problem"] = pd.Series(list(map(_on_host, results["problem"], host)), results.index)
    return results.assign(**names, on_all_hosts=results["problem_id"])


@cache
def _on_host(problem: str | None, host: str) -> str | None:
    """Return the specification of a problem with the host as an option of its data set."""
    if not isinstance(problem, str):
        return None
    spec = json.loads(problem)
    return json.dumps({**spec, "dataset": {**spec["dataset"], "host": host}})


def hosts_note(hosts: pd.Series) -> str:
    """Return what a table of runs on these hosts has to say; an empty string for a single host."""
    names = sorted({str(host) for host in hosts.dropna()})
    if len(names) < 2:
        return ""
    return (
        f"Run on several hosts ({', '.join(names)}): times are compared, and solvers ranked, only "
        "within one host."
    )
