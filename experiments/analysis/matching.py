"""Which runs of two folders belong together: the same problem, solver and settings.

A problem of the one folder is the problem of the other with the same name, or else with the same hash;
where the name is the same and the hashes are not, its data have changed. Settings are the same if they
agree in all that both folders know, so that a solver that has got a new setting can be compared with
what it was; unless its variants could not be told apart then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from experiments.output.tables import solver_labels

_IGNORED = frozenset({"seed"})  # it differs between repetitions
_KEYS = ["problem_id", "solver", "settings"]
Pair = tuple[str, str, pd.DataFrame | None, pd.DataFrame | None]


def renamed(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
    """Return the second folder's runs with the first one's names, and what names have other data."""
    ours, theirs = _hashes(first), _hashes(second)
    both = ours.keys() & theirs.keys()
    other_data = {name for name in both if ours[name] and theirs[name] not in ("", ours[name])}
    gone = {code: name for name, code in ours.items() if code and name not in theirs}
    names = {name: name if name in ours else gone.get(code, name) for name, code in theirs.items()}
    problems = [names[str(name)] for name in second["problem_id"]]
    return second.assign(problem_id=problems), other_data


def _hashes(table: pd.DataFrame) -> dict[str, str]:
    """Return the hash of each problem, "" where no run could tell it."""
    known = table.groupby("problem_id", sort=False)["problem_hash"].first()
    return {str(name): code if isinstance(code, str) else "" for name, code in known.items()}


def matched(first: pd.DataFrame, second: pd.DataFrame) -> Iterator[Pair]:
    """Yield problem, solver (with the settings that tell it apart), and the runs of both folders.

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
    apart = all(
        len({_text(text, dropped) for text in side}) == len(side) for side in (ours, theirs)
    )
    return frozenset(dropped) if apart else _IGNORED
