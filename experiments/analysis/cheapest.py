"""Times at equal certified gap: for each problem and target the cheapest run of each solver.

The time of a configuration is the median over its repetitions, and its gap the largest of theirs. Of the
configurations of a series, the cheapest one that reaches the target stands for the series.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan

import pandas as pd

from experiments.analysis.configurations import Row, configurations, grouped, joined_by_optimum
from experiments.analysis.labels import kind_of
from experiments.analysis.noise import Comparison, aa_pairs, compare, noise_of_problems
from experiments.analysis.outcomes import NOT_ASKED, NOT_RUN
from experiments.cases.search import targets_above

_NEAR = 0.5  # share of the next best gap above which a smaller tolerance has gained next to nothing


def targets_of(results: pd.DataFrame) -> list[float]:
    """Return the default targets above the experiment's `target_gap`, and that gap."""
    return targets_above(float(results["target_gap"].min()))


def cheapest(results: pd.DataFrame, targets: Iterable[float] | None = None) -> pd.DataFrame:
    """Return one row for each target (those of `targets_of`, if not given), problem and solver.

    Columns: target, problem, solver, kind, setting, time, times, setup, gap, ratio (its time over that
    of our fastest solver), low, high, within_noise (see `noise.Comparison`), ours (the name of that
    solver, empty where ours did not reach the target), single (whether it uses one thread, however
    many it may use), floors (its time relative to the arithmetic lower bound), memory, outcome, n. Of
    a solver that did not reach the target the time is NaN, `gap` its best one, and `outcome` says how
    it ended; "reached" otherwise. `reference` has the times of our fastest solver, none of them for
    that one itself. A baseline that makes a number of passes over the data is compared with ours that
    do so too, if there are any.
    """
    table = cheapest_settings(results, targets)
    noise = noise_of_problems(aa_pairs(joined_by_optimum(results)))
    rows = table.to_dict("records")
    groups = grouped(rows, table["target"], table["problem"])
    for (_, problem), group in groups.items():
        _compare(group, noise.get(str(problem), 1.0))
    table = pd.DataFrame(rows, table.index)
    bounds = arithmetic_bounds(results).set_index("problem")["time"]
    table["floors"] = table["time"] / table["problem"].map(bounds)
    return table


def cheapest_settings(
    results: pd.DataFrame, targets: Iterable[float] | None = None
) -> pd.DataFrame:
    """Return the rows of `cheapest` without what compares them with each other or a bound."""
    known = configurations(results)
    solvers = known[known["kind"] != "floor"]
    groups = grouped(solvers.to_dict("records"), solvers["problem"], solvers["solver"])
    wanted = targets_of(results) if targets is None else targets
    return pd.DataFrame([_cheapest(target, runs) for target in wanted for runs in groups.values()])


def _compare(rows: list[Row], noise: float) -> None:
    """Add to the rows of one target and problem their ratios to our fastest solver."""
    ours = [row for row in rows if row["kind"] == "ours" and row["time"] >= 0]
    ours.sort(key=lambda row: row["time"])
    alike = [row for row in ours if row["passes"]]
    for row in rows:
        others = alike if row["kind"] == "peer" and row["passes"] and alike else ours
        name, times = (others[0]["solver"], others[0]["times"]) if others else ("", ())
        itself = name == row["solver"]
        found = Comparison(1.0) if itself else compare([(row["times"], times)], noise)
        row.update({"reference": () if itself else times, "ours": name} | vars(found))


def _cheapest(target: float, runs: list[Row]) -> Row:
    reached = [run for run in runs if run["gap"] <= target and run["time"] >= 0]
    most = max((len(run["times"]) for run in reached), default=0)
    reached = [run for run in reached if len(run["times"]) == most]  # of a search, the chosen ones
    if reached:
        return _row(target, min(reached, key=lambda run: run["time"]), "reached")
    best = sorted(runs, key=lambda run: (isnan(run["gap"]), run["gap"]))
    ended = [run["status"] for run in runs if run["status"] != "finished"]
    missed = {"time": float("nan"), "times": ()}
    return _row(target, best[0], ended[0] if ended else _ending(best)) | missed


def _ending(best: list[Row]) -> str:
    """Return "stalled" if the best answer is hardly better than the next one, else "short".

    A solver that was asked for more and claims to have given it has stalled; one whose gap still falls
    with its tolerance might get there with a smaller one.
    """
    two = [run for run in best if not isnan(run["gap"])][:2]
    claimed = len(two) == 2 and all(run["claimed"] == "optimal" for run in two)
    return "stalled" if claimed and two[0]["gap"] >= _NEAR * two[1]["gap"] else NOT_ASKED


def _row(target: float, chosen: Row, outcome: str) -> Row:
    kept = ["problem", "solver", "kind", "setting", "passes", "gap", "memory", "n"]
    kept += ["single", "time", "times", "setup"]
    return {"target": target} | {name: chosen[name] for name in kept} | {"outcome": outcome}


def arithmetic_bounds(results: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each problem: n, d, support, values, nanoseconds (each), time (s).

    The time is a lower bound for every solver whose answer can be certified: E = n·nSV − nSV²/2 kernel
    values must be computed, with nSV of the answer with the least certified gap, and each takes the
    median time that `KernelFloor` measured in the same runs. Without such runs the last two are NaN.
    """
    groups = joined_by_optimum(results).groupby("problem_id", sort=False)
    return pd.DataFrame([_arithmetic_bound(str(problem), runs) for problem, runs in groups])


def _arithmetic_bound(problem: str, runs: pd.DataFrame) -> Row:
    is_bound = runs["solver"].map(kind_of) == "floor"
    answers = runs[~is_bound].dropna(subset=["relative_gap", "n_support"])
    n = float(runs["n"].iloc[0])
    best = answers.sort_values("relative_gap", kind="stable")["n_support"]
    support = float(best.iloc[0]) if len(best) else float("nan")
    measured = runs[is_bound]
    each = float((measured["time_solve"] / measured["n_kernel_evals"]).median())
    values = n * support - support**2 / 2
    known = {"problem": problem, "n": n, "d": float(runs["d"].iloc[0]), "support": support}
    return known | {"values": values, "nanoseconds": 1e9 * each, "time": each * values}


def tried_in_vain(table: pd.DataFrame) -> pd.Series:
    """Whether each row of `cheapest` is of a solver that was asked for the target and did not reach it.

    One whose gap still fell at the smallest tolerance that was tried was not asked.
    """
    return table["time"].isna() & ~table["outcome"].isin((*NOT_RUN, NOT_ASKED))
