"""Comparison of two results folders: what got faster, slower, solved, wrong, or is missing.

    ratio = median(times in the second) / median(times in the first)

with its interval and noise verdict from `noise.compare`; A/A pairs of both folders count. Times are
compared only if all runs completed on one host and none was, or became, wrong or unsolved. Problems
match by name, or else by hash; if the names agree but the hashes differ, the data have changed.
Settings match if they agree in all keys that both folders have, so that a solver with a new setting can
be compared with its earlier version, unless this would merge variants.

Regardless of machines and solvers, all certified bounds on one optimum must agree: a lower bound of any
run in either folder that is above an upper bound of any other by more than rounding contradicts it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dualgap.experiments.analysis.noise import (
    MIN_REPETITIONS,
    Comparison,
    aa_pairs,
    compare,
    noise_of_problems,
)
from dualgap.experiments.analysis.results import ROUNDING_RTOL, Results, optimum_of
from dualgap.experiments.records.names import SolverEntry, labels_of
from dualgap.experiments.records.outcomes import (
    COMPLETED,
    FAILING,
    FINAL,
    NOT_RUN,
    outcome_of,
    worst,
)

CHANGES = {  # worst first
    "contradictory": "its certified bounds exclude those of a run on the same optimum, in either folder",
    "wrong": "the answer is wrong now and was not before",
    "unsolved": "was solved and no longer is",
    "broken": "crashes, diverges or runs out of memory now and did not before",
    "slower": "by more than the noise",
    "less accurate": "the gap is over ten times as large and above the target, or is no longer known",
    "not run": "was run before, and is now not installed or does not support the problem",
    "other data": "the problem has the same name but other data: nothing is compared",
    "missing": "in the first folder only",
    "new": "in the second folder only",
    "unclear": f"fewer than {MIN_REPETITIONS} repetitions, or several hosts: times cannot be compared",
    "faster": "by more than the noise",
    "solved": "was not solved before and is now",
    "mended": "was wrong or broken and no longer is",
    "same": "no change beyond the noise",
}
REGRESSIONS = ("contradictory", "wrong", "unsolved", "broken")
_GAP_INCREASE = 10  # a gap that grew by this factor is not due to chance
_IGNORED = frozenset({"seed"})  # differs between repetitions
_KEYS = ["problem_id", "solver", "settings"]
_NAN = float("nan")
_NOT_COMPARED = Comparison(_NAN)
Times = tuple[float, ...]
Pair = tuple[str, str, pd.DataFrame, pd.DataFrame]


@dataclass(frozen=True)
class Change:
    """How a solver's result on a problem has changed.

    Attributes
    ----------
    change : a key of `CHANGES`.
    before, after : outcomes ("" where there are no runs).
    gaps : largest certified relative gaps (first, second). times : medians, in seconds.
    comparison : of the times; its ratio is NaN if they are not comparable.
    samples : the times (second, first) if they are comparable, else empty.
    """

    change: str
    problem: str
    solver: str
    before: str = ""
    after: str = ""
    gaps: tuple[float, float] = (_NAN, _NAN)
    times: tuple[float, float] = (_NAN, _NAN)
    comparison: Comparison = _NOT_COMPARED
    samples: tuple[Times, Times] = ((), ())


def compare_results(first: pd.DataFrame, second: pd.DataFrame) -> list[Change]:
    """Return the change of each solver on each problem, worst first.

    Parameters
    ----------
    first, second : the runs of two folders, as returned by `load_results`.
    """
    ours, theirs = _hashes(first), _hashes(second)
    both = ours.keys() & theirs.keys()
    other_data = {name for name in both if ours[name] and theirs[name] not in ("", ours[name])}
    moved = {code: name for name, code in ours.items() if code and name not in theirs}
    names = {name: name if name in ours else moved.get(code, name) for name, code in theirs.items()}
    second = second.assign(problem_id=[names[str(name)] for name in second["problem_id"]])
    contradicted = _contradicted(pd.concat([first, second]))
    first = first.assign(contradicted=contradicted[: len(first)])
    second = second.assign(contradicted=contradicted[len(first) :])
    noise_factors = noise_of_problems(pd.concat([aa_pairs(first), aa_pairs(second)]))
    changes = [
        _change(*pair, problem in other_data, noise_factors.get(problem, 1.0))
        for pair in _matched(first[~first["aa_repeat"]], second[~second["aa_repeat"]])
        for problem in pair[:1]
    ]
    return sorted(changes, key=lambda change: list(CHANGES).index(change.change))


def _change(
    problem: str,
    solver: str,
    before: pd.DataFrame,
    after: pd.DataFrame,
    other_data: bool,
    noise: float,
) -> Change:
    was, now = (
        worst(map(outcome_of, runs["status"], runs["verdict"])) if len(runs) else ""
        for runs in (before, after)
    )
    contradicted = bool(before["contradicted"].any() or after["contradicted"].any())
    if not (was and now) or other_data:
        word = "other data" if was and now else "missing" if was else "new"
        return Change("contradictory" if contradicted else word, problem, solver, was, now)
    gaps = float(before["relative_gap"].max()), float(after["relative_gap"].max())
    times = float(before["time_solve"].median()), float(after["time_solve"].median())
    samples: tuple[Times, Times] = ((), ())  # of the second folder and of the first
    both = pd.concat([before, after])
    if both["host"].nunique(dropna=False) == 1 and both["status"].isin(COMPLETED).all():
        samples = tuple(after["time_solve"]), tuple(before["time_solve"])
    compared = compare([samples], noise) if samples[0] else _NOT_COMPARED
    lost = bool(np.isfinite(gaps[0]) and np.isnan(gaps[1])) and now != "infeasible"
    less_accurate = lost or gaps[1] > max(_GAP_INCREASE * gaps[0], float(after["target_gap"].min()))
    word = _classify(was, now, contradicted, less_accurate, compared)
    if "wrong" in (was, now) or word in REGRESSIONS:  # a wrong answer or none is not a faster one
        samples, compared = ((), ()), _NOT_COMPARED
    return Change(word, problem, solver, was, now, gaps, times, compared, samples)


def _contradicted(runs: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether a bound of each run excludes a bound of any run on the same optimum."""
    optima = runs.groupby(optimum_of(runs))
    lower = optima["dual_objective"].transform("max").to_numpy(np.float64)
    upper = optima["primal_objective"].transform("min").to_numpy(np.float64)
    sizes = np.abs([lower, upper])  # an infeasible problem has infinite bounds
    rounding = ROUNDING_RTOL * np.where(np.isfinite(sizes), sizes, 0.0).max(axis=0)
    above = runs["dual_objective"].to_numpy(np.float64) > upper + rounding
    return above | (runs["primal_objective"].to_numpy(np.float64) < lower - rounding)


def _classify(
    was: str, now: str, contradicted: bool, less_accurate: bool, compared: Comparison
) -> str:
    """Return the first key of `CHANGES` that applies."""
    final = now in FINAL
    certain = not (np.isnan(compared.low) or compared.within_noise)
    holds = {
        "contradictory": contradicted,
        "wrong": now == "wrong" != was,
        "unsolved": was in FINAL and not final,
        "broken": now in FAILING and was not in FAILING,
        "not run": now in NOT_RUN and was not in NOT_RUN,
        "solved": final and was not in FINAL,
        "mended": was in FAILING and now not in FAILING,
        "less accurate": less_accurate,
        "slower": certain and compared.ratio > 1,
        "faster": certain and compared.ratio < 1,
        "unclear": final and np.isnan(compared.low),
    }
    return next((word for word, true in holds.items() if true), "same")


def regressed(changes: Sequence[Change]) -> bool:
    """Whether any result became contradictory, wrong, unsolved or broken."""
    return any(change.change in REGRESSIONS for change in changes)


def _hashes(table: pd.DataFrame) -> dict[str, str]:
    """Return the hash of each problem, "" if no run recorded it."""
    first_hashes = table.groupby("problem_id", sort=False)["problem_hash"].first()
    return {str(name): code if isinstance(code, str) else "" for name, code in first_hashes.items()}


def _matched(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Pair]:
    """Yield problem, solver (with its distinguishing settings), and the runs of both folders."""
    dropped = _dropped_settings(first, second)
    both = pd.concat([first.assign(side=0), second.assign(side=1)])
    settings = [
        {k: v for k, v in json.loads(text).items() if k not in dropped[solver]}
        for solver, text in zip(both["solver"], both["params"], strict=True)
    ]
    both["settings"] = [json.dumps(values, sort_keys=True) for values in settings]
    solvers = Results(both).table.drop_duplicates(_KEYS[1:])
    keys = list(zip(solvers["solver"], solvers["settings"], strict=True))
    entries = [
        SolverEntry(name, json.loads(text), label)
        for (name, text), label in zip(keys, solvers["first"], strict=True)
    ]
    labels = dict(zip(keys, labels_of(entries), strict=True))
    for (problem, *solver), runs in both.groupby(_KEYS, sort=False):
        before, after = (runs[runs["side"] == side] for side in (0, 1))
        yield str(problem), labels[solver[0], solver[1]], before, after


def _dropped_settings(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, frozenset[str]]:
    """Return for each solver the settings that only one folder has, unless variants need them."""
    dropped_by_solver: dict[str, frozenset[str]] = {}
    for solver in {*first["solver"], *second["solver"]}:
        sides = [
            [json.loads(text) for text in table.loc[table["solver"] == solver, "params"]]
            for table in (first, second)
        ]
        names = [frozenset[str]().union(*side) for side in sides]
        dropped = _IGNORED | (names[0] ^ names[1])
        merges = any(_variants(side, dropped) < _variants(side, _IGNORED) for side in sides)
        dropped_by_solver[solver] = _IGNORED if merges or not all(sides) else dropped
    return dropped_by_solver


def _variants(runs: list[dict[str, Any]], without: frozenset[str]) -> int:
    """Return the number of different settings."""
    return len({repr(sorted((k, v) for k, v in s.items() if k not in without)) for s in runs})
