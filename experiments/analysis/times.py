"""The time that a solver took for a problem, in one of three readings.

A configuration is a solver with all its settings but the seed; a series is a solver with its settings
but those that trade time for accuracy (`labels.ACCURACY`). The time of a configuration is the median
over its repetitions, and its gap the largest of theirs.
"""

import json
from collections.abc import Iterable, Mapping
from math import isnan
from typing import Any

import pandas as pd

from dualgap.experiments.analysis.labels import ACCURACY, is_single_threaded, kind_of, solver_labels
from dualgap.experiments.analysis.noise import is_repeat, without_repeats
from dualgap.experiments.records.names import AA_REPEAT, gap_text, missed_gap_text
from dualgap.experiments.records.outcomes import FINAL, NOT_RUN, outcome_of, targets_above, worst

READINGS = {
    "whole_run": "Times are those of whole runs: medians over the repetitions.",
    "cheapest_setting": (
        "Times are those of the cheapest setting: of the runs of a solver, whatever their tolerance, "
        "whose certified relative gap is at or below the target."
    ),
    "first_within": (
        "Times are those of the first evaluation within the target: seconds of solving until the "
        "certified relative gap was first as small, the median over the repetitions of the cheapest "
        "setting that reached it."
    ),
}
NOT_ASKED = "short"  # of a target: the gap still fell at the smallest tolerance that was given
PASSES = "epochs"  # the accuracy of solvers that make a number of passes over the data
SHORTEST_TIME = 1e-7  # seconds, the clock's resolution
_LIMIT = "max_iter"  # two limits that were not reached do not distinguish solvers
_NEAR = 0.5  # share of the next best gap above which a smaller tolerance has gained next to nothing
_AT_TARGET = ("target", "problem", "solver", "kind", "setting", "passes", "gap", "memory", "n")
_AT_TARGET += ("single", "time", "times", "setup", "outcome")
Row = dict[str, Any]


def times(
    results: pd.DataFrame,
    targets: Iterable[float] | None = None,
    traces: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return one row for each target, problem and series: its cheapest configuration that reached it.

    Columns: target, problem, solver, kind, setting, passes, gap, memory, n, single, time, times, setup
    (see `configurations`), outcome ("reached"). Of a series that did not reach the target the time is
    NaN, `gap` its best one, and `outcome` says how it ended. Times are those of the cheapest setting, or
    with traces of the first evaluation within the target; those of whole runs: see `whole_runs`.

    Parameters
    ----------
    targets : relative gaps; by default those above the least `target_gap`, and that one, each for the
        problems that were to be solved to it: a path has a gap of its own.
    traces : evaluations (`load_traces`), at the first of which within the target a run has reached it; a
        run without any reaches it at its end. A proof that a problem is infeasible counts as an answer.
    """
    rows: list[Row] = []
    results = results[results["solver"].map(kind_of) != "floor"]
    as_asked = targets is None
    if targets is None:
        targets = targets_above(float(results["target_gap"].min())) if len(results) else ()
    known = configurations(results) if len(results) else pd.DataFrame()
    for target in targets:
        if traces is not None:
            known = configurations(_stopped_at(target, results, traces))
            known["time"] = known["time"].clip(lower=SHORTEST_TIME)
        own = known[known["target_gap"] <= target] if as_asked else known
        groups = grouped(own.to_dict("records"), own["problem"], own["solver"])
        rows += [_cheapest(target, runs) for runs in groups.values()]
    return pd.DataFrame(rows, columns=[*_AT_TARGET])


def reading_of(results: pd.DataFrame, traces: pd.DataFrame) -> str:
    """Return the key of `READINGS` in which the times of all these solvers compare.

    "first_within" if every solver was evaluated while it ran: at least two evaluations of one of its
    runs. Else "cheapest_setting", as the time of a solver that is evaluated at its end alone is that of
    a whole run.
    """
    timed = results[results["time_solve"].notna() & (results["solver"].map(kind_of) != "floor")]
    counts = timed["run_id"].map(traces["run_id"].value_counts()).fillna(0)
    most = counts.groupby(timed["solver"]).max()
    return "first_within" if len(most) and (most >= 2).all() else "cheapest_setting"


def tried_in_vain(table: pd.DataFrame) -> pd.Series:
    """Whether each row of `times` is of a solver that was asked for the target and did not reach it.

    One whose gap still fell at the smallest of the tolerances that were given was not asked.
    """
    return table["time"].isna() & ~table["outcome"].isin((*NOT_RUN, NOT_ASKED))


def missed(row: Mapping[Any, Any]) -> str:
    """Return what a table shows instead of a time to a target; nothing if it was not asked for."""
    outcome = str(row["outcome"]).replace("_", " ")
    if outcome == NOT_ASKED:
        return "– no certified answer" if isnan(row["gap"]) else ""
    if isnan(row["gap"]):
        return f"– {outcome}" if outcome != "stalled" else "– no certified answer"
    gap = missed_gap_text(row["gap"])
    return f"– stalls at {gap}" if outcome == "stalled" else f"– {gap}, then {outcome}"


def solved_of(row: Mapping[Any, Any]) -> str:
    """Return `1 of 3 solved` where not all runs of a configuration ended alike, else nothing."""
    some = 0 < row["solved"] < row["runs"]
    return f"{row['solved']} of {row['runs']} solved" if some else ""


def _stopped_at(target: float, results: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """Return the runs as if each had been stopped at its first evaluation within the target."""
    within = traces[traces["relative_gap"] <= target]
    first = results["run_id"].map(within.groupby("run_id")["time"].min())
    reached = first.notna()
    proven = results["verdict"] == "infeasible"
    return results.assign(
        time_solve=first.where(reached, results["time_solve"]),
        relative_gap=results["relative_gap"].mask(reached, target).mask(proven, 0.0),
        bound_source=results["bound_source"].mask(reached | proven, "evaluations"),
        verdict=results["verdict"].mask(reached | proven, "solved"),
    )


def _cheapest(target: float, runs: list[Row]) -> Row:
    """Return the configuration of a series that stands for it at a target."""
    reached = [run for run in runs if run["gap"] <= target and run["time"] >= 0]
    most = max((len(run["times"]) for run in reached), default=0)
    reached = [run for run in reached if len(run["times"]) == most]  # of a search, the chosen ones
    if reached:
        chosen = min(reached, key=lambda run: run["time"])
        return chosen | {"target": target, "outcome": "reached"}
    best = sorted(runs, key=lambda run: (isnan(run["gap"]), run["gap"]))
    ended = [run["status"] for run in runs if run["status"] != "finished"]
    # a search has asked for all; else a solver that was asked for more and claims to have given it has
    # stalled, and one whose gap still falls with its tolerance might get there with a smaller one
    two = [run for run in best if not isnan(run["gap"])][:2]
    claimed = len(two) == 2 and all(run["claimed"] == "optimal" for run in two)
    stalled = claimed and two[0]["gap"] >= _NEAR * two[1]["gap"]
    stalled = stalled or any(run["searched"] for run in runs)
    outcome = ended[0] if ended else "stalled" if stalled else NOT_ASKED
    return best[0] | {"target": target, "time": float("nan"), "times": (), "outcome": outcome}


def whole_runs(results: pd.DataFrame) -> pd.DataFrame:
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
    known = groups[["first", "repeat", "host"]].first()
    known = known.assign(
        runs=groups.size(),
        solved=groups["solved"].sum(),
        worst_gap=groups["relative_gap"].max(),
        proven=groups["proven"].all(),
    )
    table["reason"] = table["reason"].fillna("").astype(str)
    places = groups.ngroup()
    table["outcome"] = list(map(outcome_of, table["status"], table["verdict"]))
    outcomes, seconds, reasons = (
        grouped(table[name], places).values() for name in ("outcome", "time_solve", "reason")
    )
    known["outcome"] = list(map(worst, outcomes))
    known["times"] = [tuple(time for time in own if not isnan(time)) for own in seconds]
    known["reason"] = ["; ".join(filter(None, dict.fromkeys(own))) for own in reasons]
    # its specification, which no row has where there is none to be read, is no number
    numbers = results.drop(columns="problem", errors="ignore").select_dtypes("float")
    medians = groups[[*numbers, "relative_suboptimality"]].median()
    names = {"problem_id": "problem", "configuration": "solver"}
    return known.join(medians).reset_index().rename(columns=names)


def configurations(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem, series and accuracy setting of a solver.

    Columns: problem, solver (its series), kind (see `kind_of`), setting (its accuracy, as text), passes
    (whether that is a number of passes over the data), epochs (how many), time (s), times (of each
    repetition), setup (s), single (whether the solver uses one thread, however many it may use), gap
    (relative), suboptimality (relative, of the primal alone), runs, memory (bytes), status (the first
    that is not "finished"), claimed, n, searched (whether its accuracy was). The second runs of A/A
    pairs are left out. The gap of a solver that returns no dual point (LIBLINEAR's primal, SGD), or
    makes a number of passes (Pegasos), is that to the best dual bound which any run of the same problem
    proved. Answers that are wrong or not certified have none; one that float64 does not resolve to its
    own target has a gap all the same.
    """
    results = without_repeats(results)
    distance = relative_suboptimality(results).clip(lower=0.0)
    settings = [json.loads(text) for text in results["params"]]
    accuracies = _accuracies(results, settings)
    epochs = accuracies[PASSES].where(accuracies.notna().sum(axis=1) == 1)
    passes = epochs.notna()
    primal = passes | results["bound_source"].str.endswith("recovered from w")
    # of several binary problems one is not certified where the gap is within the target; a gap above it
    # is larger by rounding alone where it is not certified: a bound, which counts for looser targets
    within = results["relative_gap"] <= results["target_gap"]
    verdict = results["verdict"]
    doubtful = (verdict == "wrong") | ((verdict == "uncertified") & within)
    table = joined_by_optimum(results).assign(
        label=solver_labels(results, leave_out={*ACCURACY, _LIMIT}),
        setting=list(map(_accuracy_text, accuracies.to_numpy())),
        passes=passes,
        epochs=epochs,
        single=results["solver"].map(is_single_threaded),
        searched=results["search"].fillna("") != "",
        kind=results["solver"].map(kind_of),
        status=results["status"].where(results["status"] != "finished"),
        distance=distance,
        certified=results["relative_gap"].mask(doubtful).mask(primal, distance),
    )
    # runs with two limits on iterations are of one solver, and still no repetitions of each other
    limits = pd.Series([f", {_LIMIT} {own.get(_LIMIT)}" for own in settings], results.index)
    varied = limits.groupby([table["label"], table["setting"]]).transform("nunique") > 1
    table["setting"] = (table["setting"] + limits.where(varied, "")).str.removeprefix(", ")
    problems = table.groupby("problem_id", sort=False)
    views = ", " + table["formulation"]
    table["setting"] += views.where(problems["formulation"].transform("nunique") > 1, "")
    keys = ["problem_id", "label", "setting"]
    ordered = table.assign(place=problems.ngroup()).sort_values(["place", "repetition"])
    groups = ordered.groupby(keys, sort=False)
    alike = ["kind", "passes", "epochs", "single", "status", "claimed", "n", "searched"]
    found = groups[[*alike, "target_gap"]].first()
    found = found.assign(
        setup=groups["time_setup"].median(), runs=groups.size(), memory=groups["peak_rss"].max()
    )
    numbers = groups.agg({"time_solve": "median", "certified": "max", "distance": "max"})
    whole = groups[list(numbers)].count().eq(groups.size(), axis=0)
    found[["time", "gap", "suboptimality"]] = numbers.where(whole)  # NaN if one run has none
    found["times"] = list(map(tuple, grouped(ordered["time_solve"], groups.ngroup()).values()))
    found["status"] = found["status"].fillna("finished")
    return found.reset_index(names=["problem", "solver", "setting"])


def _accuracies(results: pd.DataFrame, settings: list[dict[str, Any]]) -> pd.DataFrame:
    """Return each run's accuracy: the settings in which its solver's runs differ, or else the first."""
    given = pd.DataFrame(settings, results.index, [*ACCURACY], dtype=float)
    varied = given.groupby(results["solver"]).transform("nunique", dropna=False) > 1
    chosen = given.where(varied)
    first = given.where(given.notna().cumsum(axis=1) == 1)
    return chosen.where(chosen.notna().any(axis=1), first)


def _accuracy_text(accuracy: Iterable[float]) -> str:
    known = [(name, value) for name, value in zip(ACCURACY, accuracy, strict=True) if value >= 0]
    return ", ".join(
        f"{name} {gap_text(value) if value < 0.1 else f'{value:g}'}" for name, value in known
    )


def labelled(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with columns `configuration` and `series`."""
    return results.assign(
        configuration=solver_labels(results),
        series=solver_labels(results, leave_out={*ACCURACY, _LIMIT}),
    )


def relative_suboptimality(results: pd.DataFrame) -> pd.Series:
    """Return (primal − best dual bound) / |primal|, 0 / 0 being 0.

    Where the gap is relative to a unit of the data that is larger than both bounds, so is this.
    """
    scale = results["primal_objective"].abs()
    unit = results["gap"] / results["relative_gap"].where(results["relative_gap"] > 0)
    largest = results[["primal_objective", "dual_objective"]].abs().max(axis=1)
    scale = scale.mask(unit > 1.001 * largest, unit)
    return results["suboptimality"] / scale.where(scale > 0, 1.0)


def joined_by_optimum(results: pd.DataFrame) -> pd.DataFrame:
    """Return the runs with the first `problem_id` of all primals, duals and risks with one optimum.

    A solver may take the primal or the dual, whichever is cheaper for it.
    """
    known = results["family_hash"].astype(object)
    shared = known.where(known.notna(), results["problem_id"])
    return results.assign(problem_id=results.groupby(shared)["problem_id"].transform("first"))


def grouped(items: Iterable[Any], *keys: Iterable[Any]) -> dict[Any, list[Any]]:
    """Return the items with equal keys together, in their order; the key of one is a tuple of its keys.

    This is some ten times as fast as going through the groups of a data frame.
    """
    found: dict[Any, list[Any]] = {}
    for item, *key in zip(items, *keys, strict=True):
        found.setdefault(tuple(key), []).append(item)
    return found
