"""Two folders of results side by side: what got faster, slower, right, wrong, or is missing.

    ratio = median(times in the second) / median(times in the first)

with its interval, and within the noise as `noise.compare` says; A/A pairs of either folder count. Times
are compared only where all runs completed on one host, and neither those that were wrong, nor those that
became wrong or unsolved. A problem of the one folder is that of the other
with the same name, or else with the same hash; where the name is the same and the hashes are not, its
data have changed. Settings are the same if they agree in all that both folders know, so that a solver
with a new setting can be compared with its former self, unless this would merge variants.

Whatever machines they ran on, two folders contradict each other on a problem if a certified bound from
below of the one is above a bound from above of the other.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.analysis.labels import solver_labels
from dualgap.experiments.analysis.noise import (
    FEWEST,
    Comparison,
    aa_pairs,
    compare,
    noise_of_problems,
    without_repeats,
)
from dualgap.experiments.records.outcomes import (
    COMPLETED,
    FAILING,
    FINAL,
    NOT_RUN,
    outcome_of,
    worst,
)

CHANGES = {  # worst first
    "contradictory": "the certified bounds of the one exclude those of the other",
    "wrong": "the answer is wrong now and was not before",
    "unsolved": "was solved and no longer is",
    "broken": "crashes, diverges or runs out of memory now and did not before",
    "slower": "by more than the noise",
    "less accurate": "the gap is at least ten times as large, and above the target, or is not known now",
    "not run": "was run before, and now is not installed or does not take the problem",
    "other data": "the problem has the same name but other data: nothing is compared",
    "missing": "in the first folder only",
    "new": "in the second folder only",
    "unclear": f"fewer than {FEWEST} repetitions, or several hosts: times cannot be compared",
    "faster": "by more than the noise",
    "solved": "was not solved before and is now",
    "mended": "was wrong or broken and no longer is",
    "same": "no change beyond the noise",
}
REGRESSIONS = ("contradictory", "wrong", "unsolved", "broken")
_WORSE = 10  # factor between gaps that is more than chance
_IGNORED = frozenset({"seed"})  # it differs between repetitions
_KEYS = ["problem_id", "solver", "settings"]
_NAN = float("nan")
_NOT_COMPARED = Comparison(_NAN)
Times = tuple[float, ...]
Pair = tuple[str, str, pd.DataFrame, pd.DataFrame]


@dataclass(frozen=True)
class Change:
    """What became of a solver on a problem.

    Attributes
    ----------
    change : a key of `CHANGES`.
    before, after : outcomes ("" where there are no runs).
    gaps : the largest certified relative gaps. times : medians, in seconds.
    comparison : of the times; its ratio is NaN where they do not compare.
    samples : the times (second, first) where they do compare, else none.
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


def set_side_by_side(first: pd.DataFrame, second: pd.DataFrame) -> list[Change]:
    """Return what became of each solver on each problem, worst first.

    Parameters
    ----------
    first, second : the runs of two folders, as `load_results` gives them.
    """
    ours, theirs = _hashes(first), _hashes(second)
    both = ours.keys() & theirs.keys()
    other_data = {name for name in both if ours[name] and theirs[name] not in ("", ours[name])}
    gone = {code: name for name, code in ours.items() if code and name not in theirs}
    names = {name: name if name in ours else gone.get(code, name) for name, code in theirs.items()}
    second = second.assign(problem_id=[names[str(name)] for name in second["problem_id"]])
    noise = noise_of_problems(pd.concat([aa_pairs(first), aa_pairs(second)]))
    changes = [
        _change(*pair, problem in other_data, noise.get(problem, 1.0))
        for pair in _matched(without_repeats(first), without_repeats(second))
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
    if not (was and now) or other_data:
        word = "other data" if was and now else "missing" if was else "new"
        return Change(word, problem, solver, was, now)
    gaps = float(before["relative_gap"].max()), float(after["relative_gap"].max())
    times = float(before["time_solve"].median()), float(after["time_solve"].median())
    samples: tuple[Times, Times] = ((), ())  # of the second folder and of the first
    both = pd.concat([before, after])
    if both["host"].nunique(dropna=False) == 1 and both["status"].isin(COMPLETED).all():
        samples = tuple(after["time_solve"]), tuple(before["time_solve"])
    compared = compare([samples], noise) if samples[0] else _NOT_COMPARED
    lost = bool(np.isfinite(gaps[0]) and np.isnan(gaps[1])) and now != "infeasible"
    less_accurate = lost or gaps[1] > max(_WORSE * gaps[0], float(after["target_gap"].min()))
    excluded = any(
        one["dual_objective"].max() > other["primal_objective"].min()
        for one, other in ((before, after), (after, before))
    )
    word = _word(was, now, excluded, less_accurate, compared)
    if "wrong" in (was, now) or word in REGRESSIONS:  # what is no answer is not faster than one
        samples, compared = ((), ()), _NOT_COMPARED
    return Change(word, problem, solver, was, now, gaps, times, compared, samples)


def _word(was: str, now: str, excluded: bool, less_accurate: bool, compared: Comparison) -> str:
    """Return which of `CHANGES` this is: the first that holds."""
    final = now in FINAL
    certain = not (np.isnan(compared.low) or compared.within_noise)
    holds = {
        "contradictory": excluded,
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
    """Whether something became wrong, unsolved or broken."""
    return any(change.change in REGRESSIONS for change in changes)


def _hashes(table: pd.DataFrame) -> dict[str, str]:
    """Return the hash of each problem, "" where no run recorded it."""
    known = table.groupby("problem_id", sort=False)["problem_hash"].first()
    return {str(name): code if isinstance(code, str) else "" for name, code in known.items()}


def _matched(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Pair]:
    """Yield problem, solver (with the settings that distinguish it), and the runs of both folders."""
    dropped = _not_compared(first, second)
    both = pd.concat([first.assign(side=0), second.assign(side=1)])
    settings = [
        {k: v for k, v in json.loads(text).items() if k == "seed" or k not in dropped[solver]}
        for solver, text in zip(both["solver"], both["params"], strict=True)
    ]
    sides = both["problem_id"] + both["side"].astype(str)  # each folder has seeds of its own
    named = both.assign(params=list(map(json.dumps, settings)), problem_id=sides)
    both["label"] = solver_labels(named)
    both["settings"] = [json.dumps({**own, "seed": None}, sort_keys=True) for own in settings]
    for (problem, *_), runs in both.groupby(_KEYS, sort=False):
        before, after = (runs[runs["side"] == side] for side in (0, 1))
        yield str(problem), str(runs["label"].iloc[0]), before, after


def _not_compared(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, frozenset[str]]:
    """Return for each solver the settings that one folder alone knows, unless variants need them."""
    found: dict[str, frozenset[str]] = {}
    for solver in {*first["solver"], *second["solver"]}:
        sides = [
            [json.loads(text) for text in table.loc[table["solver"] == solver, "params"]]
            for table in (first, second)
        ]
        names = [frozenset[str]().union(*side) for side in sides]
        dropped = _IGNORED | (names[0] ^ names[1])
        merges = any(_variants(side, dropped) < _variants(side, _IGNORED) for side in sides)
        found[solver] = _IGNORED if merges or not all(sides) else dropped
    return found


def _variants(runs: list[dict[str, Any]], without: frozenset[str]) -> int:
    """Return how many different settings there are."""
    return len({repr(sorted((k, v) for k, v in s.items() if k not in without)) for s in runs})
