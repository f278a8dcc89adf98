"""The runs of a folder for tables, figures and pages, grouped in the ways they compare."""

import json
from functools import cache, cached_property

import pandas as pd

from dualgap.experiments.analysis.labels import AA_REPEAT
from dualgap.experiments.analysis.noise import aa_pairs, noise_of_problems
from dualgap.experiments.records.names import with_remarks

ROUNDING_RTOL = 1e-12  # bounds that are not proven may be off by rounding


class Results:
    """The runs of a folder with the names of their solvers.

    Parameters
    ----------
    results : as returned by `load_results`.

    Attributes
    ----------
    table : the same runs with two more columns: first (the label, with the setting of a search's step)
        and configuration (the same, marked if it is the second run of an A/A pair; so is the series).
    """

    def __init__(self, results: pd.DataFrame) -> None:
        labels, settings = results["label"], results["search_setting"].fillna("")
        marks = results["aa_repeat"].map({True: AA_REPEAT, False: ""})
        self.table = results.assign(
            first=_remarked(labels, settings),
            configuration=_remarked(labels, settings, marks),
            series=_remarked(results["series"], marks),
        )

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The runs; if there are several hosts, those of each host are on separate problems.

        `problem_id`, `family_hash` and the data set in `problem` (from which names are made) then
        include the host, so that groups by them are of one host; `on_all_hosts` is the original
        `problem_id`. Bounds were pooled when the results were loaded: they hold on every host.
        """
        return _split_by_host(self.table)

    @cached_property
    def without_repeats(self) -> pd.DataFrame:
        """`runs` without the second run of each A/A pair."""
        return self.runs[~self.runs["aa_repeat"]]

    @cached_property
    def by_optimum(self) -> pd.DataFrame:
        """`runs` with one problem for all formulations of one optimum, see `joined_by_optimum`."""
        return joined_by_optimum(self.runs)

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The A/A pairs of `by_optimum`, see `aa_pairs`."""
        return aa_pairs(self.by_optimum)

    @cached_property
    def noise(self) -> dict[str, float]:
        """The largest factor by which an A/A pair of each problem of `by_optimum` differs."""
        return noise_of_problems(self.pairs)


def joined_by_optimum(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with one `problem_id`, the first, for all primals, duals and risks of one optimum.

    A solver may use the primal or the dual, whichever is cheaper for it.
    """
    names = results.groupby(optimum_of(results))["problem_id"].transform("first")
    return results.assign(problem_id=names)


def optimum_of(results: pd.DataFrame) -> pd.Series:
    """Return the identity of the optimum that each run bounds: its family hash, else its problem."""
    hashes = results["family_hash"].astype(object)
    return hashes.where(hashes.notna(), results["problem_id"])


def _remarked(names: pd.Series, *remarks: pd.Series) -> pd.Series:
    return pd.Series(list(map(with_remarks, names, *remarks)), names.index, names.dtype)


def _split_by_host(results: pd.DataFrame) -> pd.DataFrame:
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
