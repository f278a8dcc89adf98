"""Times at equal certified gap: for each problem and target the cheapest run of each solver.

The time of a configuration is the median over its repetitions, and its gap the largest of theirs. Of the
configurations of a series, the cheapest one that reaches the target stands for the series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from experiments.analysis.configurations import Row, configurations, joined_by_optimum
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
    known = configurations(results)
    solvers = known[known["kind"] != "floor"]
    groups = solvers.groupby(["problem", "solver"], sort=False)
    wanted = targets_of(results) if targets is None else targets
    rows = [_cheapest(target, group) for target in wanted for _, group in groups]
    noise = noise_of_problems(aa_pairs(joined_by_optimum(results)))
    problems = pd.DataFrame(rows).groupby(["target", "problem"], sort=False)
    table = pd.concat([_compared(group, noise) for _, group in problems]).sort_index()
    bounds = arithmetic_bounds(results).set_index("problem")["time"]
    table["floors"] = table["time"] / table["problem"].map(bounds)
    return table


def _compared(rows: pd.DataFrame, noise: Mapping[str, float]) -> pd.DataFrame:
    """Return the rows of one target and problem with their ratios to our fastest solver."""
    ours = rows[rows["kind"] == "ours"].dropna(subset=["time"]).sort_values("time", kind="stable")
    alike = ours[ours["passes"]]
    factor = noise.get(str(rows["problem"].iloc[0]), 1.0)
    known: list[Row] = []
    for row in rows.to_dict("records"):
        others = alike if row["kind"] == "peer" and row["passes"] and len(alike) else ours
        name, times = next(zip(others["solver"], others["times"], strict=True), ("", ()))
        itself = name == row["solver"]
        found = Comparison(1.0) if itself else compare([(row["times"], times)], factor)
        known.append({"reference": () if itself else times, "ours": name} | vars(found))
    return rows.join(pd.DataFrame(known, index=rows.index))


def _cheapest(target: float, runs: pd.DataFrame) -> Row:
    reached = runs[runs["gap"] <= target].dropna(subset=["time"])
    repeated = reached["times"].map(len)  # of a search, those that are chosen are repeated
    reached = reached[repeated == repeated.max()]
    if len(reached):
        chosen = reached.sort_values("time", kind="stable").iloc[0]
        return _row(target, chosen, "reached")
    best = runs.sort_values("gap", kind="stable").iloc[0]  # NaN comes last
    ended = [status for status in runs["status"] if status != "finished"]
    missed = {"time": float("nan"), "times": ()}
    return _row(target, best, ended[0] if ended else _ending(runs)) | missed


def _ending(runs: pd.DataFrame) -> str:
    """Return "stalled" if the best answer is hardly better than the next one, else "short".

    A solver that was asked for more and claims to have given it has stalled; one whose gap still falls
    with its tolerance might get there with a smaller one.
    """
    best = runs.dropna(subset=["gap"]).sort_values("gap", kind="stable").head(2)
    claimed = bool((best["claimed"] == "optimal").all())
    gaps = best["gap"].tolist()
    return "stalled" if claimed and len(gaps) == 2 and gaps[0] >= _NEAR * gaps[1] else NOT_ASKED


def _row(target: float, chosen: pd.Series, outcome: str) -> Row:
    kept = ["problem", "solver", "kind", "setting", "passes", "gap", "memory", "n"]
    kept += ["single", "time", "times", "setup"]
    return {"target": target, **chosen[kept], "outcome": outcome}


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
