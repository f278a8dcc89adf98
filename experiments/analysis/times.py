"""The time that a solver took for a problem, under one of three definitions.

A configuration is a solver with all its settings except the seed; a series is a solver with its settings
except those that trade time for accuracy (`records.names.ACCURACY`). The time of a configuration is the
median over its repetitions, and its gap their largest.
"""

import json
from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.labels import (
    gap_text,
    is_single_threaded,
    kind_of,
    missed_gap_text,
)
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.records.columns import CLOCK_RESOLUTION_S
from dualgap.experiments.records.names import ACCURACY, ITERATION_LIMIT, targets_above
from dualgap.experiments.records.outcomes import (
    DENSE_REFERENCE,
    FINAL,
    NOT_RUN,
    outcome_of,
    worst,
)

TIME_DEFINITIONS = {
    "whole_run": "Times are those of whole runs, medians over the repetitions.",
    "cheapest_setting": (
        "Times are those of the cheapest setting: the fastest run of a solver, at any tolerance, "
        "whose certified relative gap is at most the target."
    ),
    "first_within": (
        "Times are those of the first evaluation within the target: seconds of solving until the "
        "certified relative gap first reached the target, medians over the repetitions of the "
        "cheapest setting that reached it."
    ),
}
NOT_ASKED = "short"  # outcome at a target: all tolerances are above it, and the gap still fell
PASSES = "epochs"  # accuracy setting of solvers that make a number of passes over the data
_AT_TARGET = ("target", "problem", "solver", "kind", "setting", "passes", "gap", "memory", "n")
_AT_TARGET += ("single", "time", "times", "setup", "outcome")
Row = dict[str, Any]


def times(
    results: Results,
    targets: Iterable[float] | None = None,
    traces: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return one row per target, problem and series: its cheapest configuration that reached it.

    Columns: target, problem, solver, kind, setting, passes, gap, memory, n, single, time, times, setup
    (see `configurations`), outcome ("reached"). If a series did not reach the target, its time
    is NaN, `gap` its best one, and `outcome` how it ended. Times are those of the cheapest setting, or
    with traces, of the first evaluation within the target; for whole runs see `whole_runs`.

    Parameters
    ----------
    targets : relative gaps; by default `targets_above` the smallest `target_gap`, each for the problems
        with at most this `target_gap`: a path has its own gap.
    traces : evaluations (`load_traces`): a run reaches the target at the first one within it, or without
        any at its end.
    """
    rows: list[Row] = []
    runs = results.by_optimum
    runs = runs[runs["solver"].map(kind_of) != DENSE_REFERENCE]
    by_own_target = targets is None
    if targets is None:
        targets = targets_above(float(runs["target_gap"].min())) if len(runs) else ()
    table = configurations(runs) if len(runs) else pd.DataFrame()
    for target in targets:
        if traces is not None:
            table = configurations(_stopped_at(target, runs, traces))
            table["time"] = table["time"].clip(lower=CLOCK_RESOLUTION_S)
        selected = table[table["target_gap"] <= target] if by_own_target else table
        groups = grouped(selected.to_dict("records"), selected["problem"], selected["solver"])
        rows += [_cheapest(target, group) for group in groups.values()]
    return pd.DataFrame(rows, columns=[*_AT_TARGET])


def select_time_definition(runs: pd.DataFrame, traces: pd.DataFrame) -> str:
    """Return the key of `TIME_DEFINITIONS` under which the times of all these solvers are comparable.

    "first_within" if every solver was evaluated while it ran, at least twice in one of its runs. Else
    "cheapest_setting", as a solver evaluated only at its end has only times of whole runs.
    """
    timed = runs[runs["time_solve"].notna() & (runs["solver"].map(kind_of) != DENSE_REFERENCE)]
    counts = timed["run_id"].map(traces["run_id"].value_counts()).fillna(0)
    evaluations = counts.groupby(timed["solver"]).max()
    return "first_within" if len(evaluations) and (evaluations >= 2).all() else "cheapest_setting"


def missed_target(table: pd.DataFrame) -> pd.Series:
    """Whether each row of `times` is of a solver that missed a target it was asked for."""
    return table["time"].isna() & _is_requested(table)


def requested_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `times` of solvers that were run on the problem and asked for the target."""
    return table[_is_requested(table)]


def _is_requested(table: pd.DataFrame) -> pd.Series:
    return ~table["outcome"].isin((*NOT_RUN, NOT_ASKED))


def missed_text(row: Mapping[Any, Any]) -> str:
    """Return the text of a table cell without a time; empty if the target was not asked for."""
    outcome = str(row["outcome"]).replace("_", " ")
    if outcome == NOT_ASKED:
        return ""
    if isnan(row["gap"]):
        return f"– {outcome}" if outcome != "stalled" else "– no certified answer"
    gap = missed_gap_text(row["gap"])
    return f"– stalls at {gap}" if outcome == "stalled" else f"– {gap}, then {outcome}"


def solved_of(row: Mapping[Any, Any]) -> str:
    """Return `1 of 3 solved` if only some runs of a configuration are solved, else an empty string."""
    partial = 0 < row["solved"] < row["runs"]
    return f"{row['solved']} of {row['runs']} solved" if partial else ""


def _stopped_at(target: float, results: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """Return the runs as if each had been stopped at its first evaluation within the target."""
    within = traces[traces["relative_gap"] <= target]
    first = results["run_id"].map(within.groupby("run_id")["time"].min())
    reached = first.notna()
    return results.assign(
        time_solve=first.where(reached, results["time_solve"]),
        relative_gap=results["relative_gap"].mask(reached, target),
        bound_source=results["bound_source"].mask(reached, "evaluations"),
        verdict=results["verdict"].mask(reached, "solved"),
    )


def _cheapest(target: float, runs: list[Row]) -> Row:
    """Return the configuration that represents a series at a target."""
    reached = [run for run in runs if run["gap"] <= target and run["time"] >= 0]
    repetitions = max((len(run["times"]) for run in reached), default=0)
    reached = [run for run in reached if len(run["times"]) == repetitions]  # in searches: chosen
    if reached:
        chosen = min(reached, key=lambda run: run["time"])
        return chosen | {"target": target, "outcome": "reached"}
    best = sorted(runs, key=lambda run: (isnan(run["gap"]), run["gap"]))
    failures = [run["status"] for run in runs if run["status"] != "finished"]
    # if all tolerances are above the target, a smaller one might reach it, unless the smaller of two,
    # which the solver claims to have met, gained little
    best_two = [run for run in best if not isnan(run["gap"])][:2]
    claimed = len(best_two) == 2 and all(run["claimed"] == "optimal" for run in best_two)
    stalled = claimed and best_two[0]["gap"] >= 0.5 * best_two[1]["gap"]
    above = bool(best_two) and all(run["tolerance"] > target for run in runs)
    outcome = failures[0] if failures else NOT_ASKED if above and not stalled else "stalled"
    return best[0] | {"target": target, "time": float("nan"), "times": (), "outcome": outcome}


def whole_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per problem and configuration, in the order of the runs, some of `Results.runs`.

    Columns: problem, solver (its configuration), first (the same without the mark of an A/A pair's
    second run), aa_repeat (whether it is that run), outcome (the worst), runs, solved (number of runs
    solved or proven infeasible), times (of each repetition, in seconds), worst_gap (relative), proven
    (whether all bounds are), reason, host, and the medians of all numbers of the records and of
    `relative_suboptimality`.
    """
    table = runs.assign(
        proven=runs["bound_source"].str.startswith("proven"),
        solved=runs["verdict"].isin(FINAL),
        relative_suboptimality=relative_suboptimality(runs),
    )
    groups = table.groupby(["problem_id", "configuration"], sort=False, dropna=False)
    summary = groups[["first", "aa_repeat", "host"]].first()
    summary = summary.assign(
        runs=groups.size(),
        solved=groups["solved"].sum(),
        worst_gap=groups["relative_gap"].max(),
        proven=groups["proven"].all(),
    )
    table["reason"] = table["reason"].fillna("").astype(str)
    group_ids = groups.ngroup()
    table["outcome"] = list(map(outcome_of, table["status"], table["verdict"]))
    outcomes, seconds, reasons = (
        grouped(table[name], group_ids).values() for name in ("outcome", "time_solve", "reason")
    )
    summary["outcome"] = list(map(worst, outcomes))
    summary["times"] = [tuple(time for time in group if not isnan(time)) for group in seconds]
    summary["reason"] = ["; ".join(filter(None, dict.fromkeys(group))) for group in reasons]
    # the problem's specification is not a number, even if it is missing in all rows
    numbers = runs.drop(columns="problem", errors="ignore").select_dtypes("float")
    medians = groups[[*numbers, "relative_suboptimality"]].median()
    names = {"problem_id": "problem", "configuration": "solver"}
    return summary.join(medians).reset_index().rename(columns=names)


def configurations(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row per problem, series and accuracy setting of a solver, of `Results.by_optimum`.

    Columns: problem, solver (its series), kind (see `kind_of`), setting (its accuracy, as text), passes
    (whether that is a number of passes over the data), epochs (their number), time (s), times (of each
    repetition), setup (s), single (whether the solver uses only one thread), gap (relative),
    suboptimality (relative, of the primal alone), runs, memory (bytes), status (the first that is not
    "finished"), claimed, n, tolerance (∞ for passes, 0 if it was searched for; NaN if there is none).
    The second runs of A/A pairs are omitted. The gap of a solver that returns no dual point (LIBLINEAR's
    primal, SGD), or makes a number of passes (Pegasos), is that to the best dual bound proved by any run
    of the same problem. Wrong or uncertified answers have none; one that float64 does not resolve to its
    target has a gap, and one that proves the problem infeasible has a gap of 0.
    """
    results = results[~results["aa_repeat"]]
    distance = relative_suboptimality(results).clip(lower=0.0)
    settings = [json.loads(text) for text in results["params"]]
    accuracies = _accuracies(results, settings)
    epochs = accuracies[PASSES].where(accuracies.notna().sum(axis=1) == 1)
    passes = epochs.notna()
    tolerances = pd.DataFrame(settings, results.index, ["tol", "gap"], dtype=float).min(axis=1)
    primal = passes | results["bound_source"].str.endswith("recovered from w")
    # uncertified with a gap within the target: one of several binary problems has no certificate;
    # uncertified with a gap above it: the gap includes rounding, a valid bound for looser targets
    within = results["relative_gap"] <= results["target_gap"]
    verdict = results["verdict"]
    doubtful = (verdict == "wrong") | ((verdict == "uncertified") & within)
    certified = results["relative_gap"].mask(doubtful)
    table = results.assign(
        setting=list(map(_accuracy_text, accuracies.to_numpy())),
        passes=passes,
        epochs=epochs,
        single=results["solver"].map(is_single_threaded),
        tolerance=tolerances.mask(passes, np.inf).mask(results["search"].fillna("") != "", 0.0),
        kind=results["solver"].map(kind_of),
        status=results["status"].where(results["status"] != "finished"),
        distance=distance,
        certified=certified.mask(primal, distance).mask(verdict == "infeasible", 0.0),
    )
    # runs with different iteration limits are of one solver, but not repetitions of each other
    limit_texts = [f", {ITERATION_LIMIT} {each.get(ITERATION_LIMIT)}" for each in settings]
    limits = pd.Series(limit_texts, results.index)
    varied = limits.groupby([table["series"], table["setting"]]).transform("nunique") > 1
    table["setting"] = (table["setting"] + limits.where(varied, "")).str.removeprefix(", ")
    problems = table.groupby("problem_id", sort=False)
    views = ", " + table["formulation"]
    table["setting"] += views.where(problems["formulation"].transform("nunique") > 1, "")
    keys = ["problem_id", "series", "setting"]
    ordered = table.assign(problem_index=problems.ngroup())
    ordered = ordered.sort_values(["problem_index", "repetition"])
    groups = ordered.groupby(keys, sort=False)
    constant = ["kind", "passes", "epochs", "single", "status", "claimed", "n", "tolerance"]
    summary = groups[[*constant, "target_gap"]].first()
    summary = summary.assign(
        setup=groups["time_setup"].median(), runs=groups.size(), memory=groups["peak_rss"].max()
    )
    numbers = groups.agg({"time_solve": "median", "certified": "max", "distance": "max"})
    complete = groups[list(numbers)].count().eq(groups.size(), axis=0)
    summary[["time", "gap", "suboptimality"]] = numbers.where(complete)  # NaN if one run has none
    summary["times"] = list(map(tuple, grouped(ordered["time_solve"], groups.ngroup()).values()))
    summary["status"] = summary["status"].fillna("finished")
    return summary.reset_index(names=["problem", "solver", "setting"])


def _accuracies(results: pd.DataFrame, settings: list[dict[str, Any]]) -> pd.DataFrame:
    """Return each run's accuracy: those settings that vary over its solver's runs, or else the first."""
    values = pd.DataFrame(settings, results.index, [*ACCURACY], dtype=float)
    varied = values.groupby(results["solver"]).transform("nunique", dropna=False) > 1
    chosen = values.where(varied)
    first = values.where(values.notna().cumsum(axis=1) == 1)
    return chosen.where(chosen.notna().any(axis=1), first)


def _accuracy_text(accuracy: Iterable[float]) -> str:
    present = [(name, value) for name, value in zip(ACCURACY, accuracy, strict=True) if value >= 0]
    return ", ".join(
        f"{name} {gap_text(value) if value < 0.1 else f'{value:g}'}" for name, value in present
    )


def relative_suboptimality(results: pd.DataFrame) -> pd.Series:
    """Return (primal − best dual bound) / |primal|, with 0 / 0 = 0.

    If the gap is relative to a scale of the data above both bounds, so is this.
    """
    scale = results["primal_objective"].abs()
    gap_scale = results["gap"] / results["relative_gap"].where(results["relative_gap"] > 0)
    largest = results[["primal_objective", "dual_objective"]].abs().max(axis=1)
    scale = scale.mask(gap_scale > 1.001 * largest, gap_scale)
    return results["suboptimality"] / scale.where(scale > 0, 1.0)


def grouped(items: Iterable[Any], *keys: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the items grouped by their keys (as a tuple), in order.

    About ten times as fast as iterating over the groups of a data frame.
    """
    groups: dict[Any, list[Any]] = {}
    for item, *key in zip(items, *keys, strict=True):
        groups.setdefault(tuple(key), []).append(item)
    return groups
