"""Two folders of results side by side: what got faster, slower, right, wrong, or is missing.

    ratio = median(times in the second) / median(times in the first)

with its interval, and within the noise as `noise.compare` says; A/A pairs of either folder count. Times
are compared only where all runs completed on one host. A problem of the one folder is that of the other
with the same name, or else with the same hash; where the name is the same and the hashes are not, its
data have changed. Settings are the same if they agree in all that both folders know, so that a solver
with a new setting can be compared with its former self, unless this would merge variants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from experiments.analysis.labels import solver_labels
from experiments.analysis.noise import (
    FEWEST,
    Comparison,
    aa_pairs,
    compare,
    noise_of_problems,
    without_repeats,
)
from experiments.analysis.outcomes import BROKEN, COMPLETED, FINAL, worst_outcome
from experiments.cases.records import BAD

__all__ = ["CHANGES", "REGRESSIONS", "Change", "regressed", "set_side_by_side"]

CHANGES = {  # worst first
    "wrong": "the answer is wrong now and was not before",
    "unsolved": "was solved and no longer is",
    "broken": "crashes, diverges or runs out of memory now and did not before",
    "slower": "by more than the noise",
    "less accurate": "the gap is at least ten times as large, and above the target",
    "other data": "the problem has the same name but other data: nothing is compared",
    "missing": "in the first folder only",
    "new": "in the second folder only",
    "unclear": f"fewer than {FEWEST} repetitions, or several hosts: times cannot be compared",
    "faster": "by more than the noise",
    "solved": "was not solved before and is now",
    "mended": "was wrong or broken and no longer is",
    "same": "no change beyond the noise",
}
REGRESSIONS = ("wrong", "unsolved", "broken")
_WORSE = 10  # factor between gaps that is more than chance
_IGNORED = frozenset({"seed"})  # it differs between repetitions
_KEYS = ["problem_id", "solver", "settings"]
_NAN = float("nan")
_NOT_COMPARED = Comparison(_NAN)
Times = tuple[float, ...]
Pair = tuple[str, str, pd.DataFrame | None, pd.DataFrame | None]


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
    second, other_data = _renamed(first, second)
    noise = _noise(first, second)
    pairs = _matched(without_repeats(first), without_repeats(second))
    changes = [
        _one_sided(problem, solver, before, after)
        if before is None or after is None
        else Change("other data", problem, solver, *_outcomes(before, after))
        if problem in other_data
        else _change(problem, solver, before, after, noise)
        for problem, solver, before, after in pairs
    ]
    return sorted(changes, key=lambda change: list(CHANGES).index(change.change))


def _noise(*tables: pd.DataFrame) -> dict[str, float]:
    """Return for each problem the largest factor by which an A/A pair of any folder differs."""
    found: dict[str, float] = {}
    for table in tables:
        for problem, factor in noise_of_problems(aa_pairs(table)).items():
            found[problem] = max(factor, found.get(problem, 1.0))
    return found


def _one_sided(
    problem: str, solver: str, before: pd.DataFrame | None, after: pd.DataFrame | None
) -> Change:
    if before is not None:
        return Change("missing", problem, solver, before=worst_outcome(before))
    assert after is not None
    return Change("new", problem, solver, after=worst_outcome(after))


def _outcomes(before: pd.DataFrame, after: pd.DataFrame) -> tuple[str, str]:
    return worst_outcome(before), worst_outcome(after)


def _change(
    problem: str,
    solver: str,
    before: pd.DataFrame,
    after: pd.DataFrame,
    noise: Mapping[str, float],
) -> Change:
    was, now = _outcomes(before, after)
    gaps = float(before["relative_gap"].max()), float(after["relative_gap"].max())
    samples = _samples(before, after)
    compared = compare([samples], noise.get(problem, 1.0)) if samples[0] else _NOT_COMPARED
    less_accurate = gaps[1] > max(_WORSE * gaps[0], float(after["target_gap"].min()))
    return Change(
        _word(was, now, less_accurate, compared),
        problem,
        solver,
        was,
        now,
        gaps,
        (float(before["time_solve"].median()), float(after["time_solve"].median())),
        compared,
        samples,
    )


def _samples(before: pd.DataFrame, after: pd.DataFrame) -> tuple[Times, Times]:
    """Return the times of the second folder and of the first, none if they do not compare."""
    both = pd.concat([before, after])
    if both["host"].nunique(dropna=False) > 1 or not both["status"].isin(COMPLETED).all():
        return (), ()
    return tuple(after["time_solve"]), tuple(before["time_solve"])


def _word(was: str, now: str, less_accurate: bool, compared: Comparison) -> str:
    """Return which of `CHANGES` this is: the first that holds."""
    final = now in FINAL
    certain = not (np.isnan(compared.low) or compared.within_noise)
    holds = {
        "wrong": now == "wrong" != was,
        "unsolved": was in FINAL and not final,
        "broken": now in BAD and was not in BROKEN,
        "solved": final and was not in FINAL,
        "mended": was in BROKEN and now not in BROKEN,
        "less accurate": less_accurate,
        "slower": certain and compared.ratio > 1,
        "faster": certain and compared.ratio < 1,
        "unclear": final and np.isnan(compared.low),
    }
    return next((word for word, true in holds.items() if true), "same")


def regressed(changes: Sequence[Change]) -> bool:
    """Whether something became wrong, unsolved or broken."""
    return any(change.change in REGRESSIONS for change in changes)


def _renamed(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
    """Return the second folder's runs with the first one's names, and what names have other data."""
    ours, theirs = _hashes(first), _hashes(second)
    both = ours.keys() & theirs.keys()
    other_data = {name for name in both if ours[name] and theirs[name] not in ("", ours[name])}
    gone = {code: name for name, code in ours.items() if code and name not in theirs}
    names = {name: name if name in ours else gone.get(code, name) for name, code in theirs.items()}
    problems = [names[str(name)] for name in second["problem_id"]]
    return second.assign(problem_id=problems), other_data


def _hashes(table: pd.DataFrame) -> dict[str, str]:
    """Return the hash of each problem, "" where no run recorded it."""
    known = table.groupby("problem_id", sort=False)["problem_hash"].first()
    return {str(name): code if isinstance(code, str) else "" for name, code in known.items()}


def _matched(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Pair]:
    """Yield problem, solver (with the settings that distinguish it), and the runs of both folders.

    None stands for a folder that has no such runs.
    """
    dropped = _unshared(first, second)
    both = pd.concat([_with_shared(first, dropped), _with_shared(second, dropped)])
    both = both.assign(side=[0] * len(first) + [1] * len(second), label=solver_labels(both))
    for (problem, *_), runs in both.groupby(_KEYS, sort=False):
        sides = [runs[runs["side"] == side] for side in (0, 1)]
        before, after = (side if len(side) else None for side in sides)
        yield str(problem), str(runs["label"].iloc[0]), before, after


def _with_shared(table: pd.DataFrame, dropped: dict[str, frozenset[str]]) -> pd.DataFrame:
    """Return the runs with the settings that are compared, and these as text in a fixed order."""
    pairs = zip(table["solver"], table["params"], strict=True)
    params = [_text(settings, dropped[solver]) for solver, settings in pairs]
    return table.assign(params=params, settings=[_text(p, frozenset(), True) for p in params])


def _text(params: str, dropped: frozenset[str], ordered: bool = False) -> str:
    settings: dict[str, Any] = json.loads(params)
    kept = {key: value for key, value in settings.items() if key not in dropped}
    return json.dumps(kept, sort_keys=ordered)


def _unshared(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, frozenset[str]]:
    """Return for each solver the settings that are not compared."""
    ours, theirs = _variants(first), _variants(second)
    return {
        solver: _dropped(ours.get(solver, set()), theirs.get(solver, set()))
        for solver in ours.keys() | theirs.keys()
    }


def _variants(table: pd.DataFrame) -> dict[str, set[str]]:
    """Return the different settings of each solver."""
    found: dict[str, set[str]] = {}
    for solver, params in zip(table["solver"], table["params"], strict=True):
        found.setdefault(str(solver), set()).add(_text(params, _IGNORED, True))
    return found


def _dropped(ours: set[str], theirs: set[str]) -> frozenset[str]:
    if not ours or not theirs:
        return _IGNORED
    names = [{key for text in side for key in json.loads(text)} for side in (ours, theirs)]
    dropped = _IGNORED | (names[0] ^ names[1])
    distinct = all(
        len({_text(text, dropped) for text in side}) == len(side) for side in (ours, theirs)
    )
    return frozenset(dropped) if distinct else _IGNORED
