"""Runs of several hosts: times are compared only within one host."""

import json
from functools import cache

import pandas as pd


def split_by_host(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs; if there are several hosts, those of each host become separate problems.

    `problem_id`, `family_hash` and the data set in `problem` (from which names are made) then include
    the host, so that groups by them are of one host; `on_all_hosts` is the original `problem_id`.
    Bounds were pooled when the results were loaded: they hold on every host.
    """
    if results["host"].nunique() < 2:
        return results
    # a run that was lost with its host has none
    host = results["host"].astype(object).fillna("an unknown host").astype(str)
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
    """Return the note for a table of runs on these hosts; empty for a single host."""
    names = sorted({str(host) for host in hosts.dropna()})
    if len(names) < 2:
        return ""
    return (
        f"Run on several hosts ({', '.join(names)}): times are compared and solvers ranked only "
        "within one host."
    )
