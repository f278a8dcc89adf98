"""Runs of one configuration of a solver on one problem, and the medians of their repetitions.

A configuration is a solver with all its settings but the seed; a series is a solver with its settings
but those that trade time for accuracy (`labels.ACCURACY`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isnan
from typing import Any

import pandas as pd

from experiments.analysis.labels import ACCURACY, is_single_threaded, kind_of, solver_labels
from experiments.analysis.noise import is_repeat, without_repeats
from experiments.analysis.outcomes import FINAL, worst_outcome
from experiments.cases.plan import AA_REPEAT

PASSES = "epochs"  # the accuracy of solvers that make a number of passes over the data
_LIMIT = "max_iter"  # two limits that were not reached do not distinguish solvers
_NAMES = {"problem_id": "problem", "configuration": "solver"}
Row = dict[str, Any]


def labelled(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with columns `configuration` and `series`."""
    return results.assign(
        configuration=solver_labels(results),
        series=solver_labels(results, leave_out=set(ACCURACY)),
    )


def relative_suboptimality(results: pd.DataFrame) -> pd.Series:
    """Return (primal − best dual bound) / |primal|, 0 / 0 being 0."""
    scale = results["primal_objective"].abs()
    return results["suboptimality"] / scale.where(scale > 0, 1.0)


def measured(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem and configuration, in the order of the runs.

    Columns: problem, solver (its configuration), first (the same without the mark of an A/A pair's
    second run), repeat (whether it is that), outcome (the worst), runs, solved (how many of these are
    solved, or proven infeasible), times (of each repetition, in seconds), worst_gap (relative), proven
    (whether all bounds are), reason, host, and the medians of all numbers of the records and of
    `relative_suboptimality`.
    """
    table = labelled(results).assign(
        first=solver_labels(results, leave_out={AA_REPEAT}),
        repeat=is_repeat(results),
        proven=results["bound_source"].str.startswith("proven"),
        solved=results["verdict"].isin(FINAL),
        relative_suboptimality=relative_suboptimality(results),
    )
    groups = table.groupby(["problem_id", "configuration"], sort=False)
    known = groups.agg(
        first=("first", "first"),
        repeat=("repeat", "first"),
        runs=("run_id", "size"),
        solved=("solved", "sum"),
        worst_gap=("relative_gap", "max"),
        proven=("proven", "all"),
        host=("host", "first"),
    )
    place = groups.ngroup()
    statuses, verdicts, times, reasons = (
        grouped(column, place).values()
        for column in (
            *(table["status"], table["verdict"], table["time_solve"]),
            table["reason"].fillna("").astype(str),
        )
    )
    known["outcome"] = list(map(worst_outcome, statuses, verdicts))
    known["times"] = [tuple(time for time in own if not isnan(time)) for own in times]
    known["reason"] = ["; ".join(filter(None, dict.fromkeys(own))) for own in reasons]
    medians = groups[[*results.select_dtypes("float"), "relative_suboptimality"]].median()
    return known.join(medians).reset_index().rename(columns=_NAMES)


def configurations(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem, series and accuracy setting of a solver.

    Columns: problem, solver (its series), kind (see `kind_of`), setting (its accuracy, as text),
    passes (whether that is a number of passes over the data), time (s), times (of each repetition),
    setup (s), single (whether the solver uses one thread, however many it may use), gap (relative),
    suboptimality (relative, of the primal alone), runs, memory (bytes), status (the first that is not
    "finished"), claimed, n. The second runs of A/A pairs are left out. The gap of a solver that
    returns no dual point (LIBLINEAR's primal, SGD), or makes a number of passes (Pegasos), is that to
    the best dual bound which any run of the same problem proved. Answers that are wrong or not
    certified have none; one that float64 does not resolve to its own target has a gap all the same.
    """
    results = without_repeats(results)
    distance = relative_suboptimality(results).clip(lower=0.0)
    settings = pd.Series(_accuracy_texts(results), results.index)
    passes = settings.str.startswith(PASSES)
    primal = passes | results["bound_source"].str.endswith("recovered from w")
    certified = results["relative_gap"].mask(_is_doubtful(results))
    table = joined_by_optimum(results).assign(
        label=solver_labels(results, leave_out={*ACCURACY, _LIMIT}),
        setting=settings,
        passes=passes,
        single=results["solver"].map(is_single_threaded),
        kind=results["solver"].map(kind_of),
        ended=results["status"].where(results["status"] != "finished"),
        distance=distance,
        certified=certified.mask(primal, distance),
    )
    problems = table.groupby("problem_id", sort=False)
    views = ", " + table["formulation"]
    table["setting"] += views.where(problems["formulation"].transform("nunique") > 1, "")
    keys = ["problem_id", "label", "setting"]
    ordered = table.assign(place=problems.ngroup()).sort_values(["place", "repetition"])
    groups = ordered.groupby(keys, sort=False)
    found = groups.agg(
        kind=("kind", "first"),
        passes=("passes", "first"),
        setup=("time_setup", "median"),
        single=("single", "first"),
        runs=("run_id", "size"),
        memory=("peak_rss", "max"),
        status=("ended", "first"),
        claimed=("claimed", "first"),
        n=("n", "first"),
    )
    numbers = groups.agg({"time_solve": "median", "certified": "max", "distance": "max"})
    whole = groups[list(numbers)].count().eq(groups.size(), axis=0)
    found[["time", "gap", "suboptimality"]] = numbers.where(whole)  # NaN if one run has none
    found["times"] = list(map(tuple, grouped(ordered["time_solve"], groups.ngroup()).values()))
    found["status"] = found["status"].fillna("finished")
    return found.reset_index(names=["problem", "solver", "setting"])


def _is_doubtful(results: pd.DataFrame) -> pd.Series:
    """Return which answers are wrong, or not certified although their gap is within the target.

    Of several binary problems one is not certified then. A gap above the target is larger by rounding
    alone where it is not certified: it is a bound, which counts for looser targets.
    """
    within = results["relative_gap"] <= results["target_gap"]
    verdict = results["verdict"]
    return (verdict == "wrong") | ((verdict == "uncertified") & within)


def grouped(items: Iterable[Any], *keys: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the items with equal keys together, in their order; the key of one is a tuple of its keys.

    This is some ten times as fast as going through the groups of a data frame.
    """
    found: dict[Any, list[Any]] = {}
    for item, *key in zip(items, *keys, strict=True):
        found.setdefault(tuple(key), []).append(item)
    return found


def joined_by_optimum(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the first `problem_id` of all primals, duals and risks with one optimum.

    A solver may take the primal or the dual, whichever is cheaper for it.
    """
    known = results["family_hash"].astype(object)
    shared = known.where(known.notna(), results["problem_id"])
    return results.assign(problem_id=results.groupby(shared)["problem_id"].transform("first"))


def _accuracy_texts(results: pd.DataFrame) -> list[str]:
    """Return each run's accuracy, `tol 1e-06`: the settings in which its solver's runs differ."""
    settings = [json.loads(text) for text in results["params"]]
    solvers = [str(solver) for solver in results["solver"]]
    varied = {
        (solver, key)
        for solver in set(solvers)
        for key in ACCURACY
        if len({s.get(key) for s, own in zip(settings, solvers, strict=True) if own == solver}) > 1
    }
    return [_accuracy_text(s, solver, varied) for s, solver in zip(settings, solvers, strict=True)]


def _accuracy_text(settings: Row, solver: str, varied: set[tuple[str, str]]) -> str:
    known = [key for key in ACCURACY if settings.get(key) is not None]
    chosen = [key for key in known if (solver, key) in varied] or known[:1]
    return ", ".join(f"{key} {_short(settings[key])}" for key in chosen)


def _short(value: float) -> str:
    return f"{value:.0e}" if isinstance(value, float) and value < 0.1 else f"{value:g}"
