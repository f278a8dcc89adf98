"""Runs of several hosts: times are only ever compared within one of them."""

import pandas as pd

_UNKNOWN = "an unknown host"  # of a run that was lost together with its host


def split_by_host(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs, with those of each host as problems of their own if there are several hosts.

    `problem_id` and `family_hash` then name the host too, so that whatever is grouped by them is of one
    host. Bounds were pooled when the results were loaded: they hold on every host.
    """
    if results["host"].nunique() < 2:
        return results
    host = results["host"].astype(object).fillna(_UNKNOWN).astype(str)
    names = {key: results[key].str.cat(host, sep=" on ") for key in ("problem_id", "family_hash")}
    return results.assign(**names)


def hosts_note(hosts: pd.Series) -> str:
    """Return what a table of runs on these hosts has to say; an empty string for a single host."""
    names = sorted({str(host) for host in hosts.dropna()})
    if len(names) < 2:
        return ""
    return (
        f"Run on several hosts ({', '.join(names)}): times are compared, and solvers ranked, only "
        "within one host."
    )
