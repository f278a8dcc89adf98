"""Names of solvers and problems in tables and figures: short, and still distinct.

Which settings of a solver trade time for accuracy is said here: runs that differ only in these are one
series, because nominal tolerances are not comparable between solvers.
"""

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

import pandas as pd

from experiments.analysis.noise import is_repeat
from experiments.records.names import AA_REPEAT, problem_words, value_text
from solvers import SOLVERS

ACCURACY = ("tol", "gap", "epochs")  # the one that a table shows first
REFERENCE_TIME = "KernelFloor"  # times dense kernel values, see experiments/floor.py
# a solver, its settings as JSON, its label, whether an A/A repeat
_Entry = tuple[str, str, str, bool]
SIZES = frozenset({"n", "limit"})  # options of data sets


def kind_of(solver: str) -> str:
    """Return "ours", "peer" (a baseline), or "floor" (the reference time) for a solver's name."""
    if solver.endswith(f":{REFERENCE_TIME}"):
        return "floor"
    cls = SOLVERS.get(solver)
    module = cls.__module__ if cls else ""  # of a plug-in or a file it is another
    ours = module.startswith("solvers.") and not module.startswith("solvers.external.")
    return "ours" if ours else "peer"


def is_single_threaded(solver: str) -> bool:
    """Whether the solver of this name is known to use one thread, however many it may use."""
    cls = SOLVERS.get(solver)
    return cls is not None and cls.single_threaded


def solver_labels(results: pd.DataFrame, leave_out: Set[str] = frozenset()) -> list[str]:
    """Return each run's label, else its solver, with the settings that distinguish runs of that name.

    Runs that differ only in the seed or in the settings in `leave_out` share a label, which says how
    many seeds there are in each repetition, if several. The second run of an A/A pair is marked, unless
    `leave_out` contains the mark.
    """
    given = results["label"] if "label" in results else [""] * len(results)
    labels = [label if isinstance(label, str) else "" for label in given]
    solvers, repeats = results["solver"].astype(str), is_repeat(results)
    entries: list[_Entry] = list(zip(solvers, results["params"], labels, repeats, strict=True))
    settings = {  # of runs that differ in nothing else once
        entry: json.loads(entry[1]) for entry in dict.fromkeys(entries)
    }
    tails = {solver: solver.rsplit("/", 1)[-1] for solver, *_ in settings}
    used = list(tails.values())  # a file's own name, unless two files share it
    short = {solver: tail if used.count(tail) == 1 else solver for solver, tail in tails.items()}
    names = {entry: entry[2] or short[entry[0]] for entry in settings}
    keys = {
        name: _distinguishing(
            [settings[entry] for entry in settings if names[entry] == name], {"seed", *leave_out}
        )
        for name in set(names.values())
    }
    texts: dict[_Entry, str] = {}
    for entry, count in zip(entries, _seed_counts(results, entries, settings), strict=True):
        if entry not in texts:
            named = _named(entry[0], {key: settings[entry].get(key) for key in keys[names[entry]]})
            named += [f"{count} seeds"] * (count > 1)
            named += [AA_REPEAT] * (entry[3] and AA_REPEAT not in leave_out)
            texts[entry] = f"{names[entry]} ({', '.join(named)})" if named else names[entry]
    return [texts[entry] for entry in entries]


def _seed_counts(
    runs: pd.DataFrame, entries: Sequence[_Entry], settings: Mapping[_Entry, dict[str, Any]]
) -> list[int]:
    """Return how many seeds each run's solver has, with the same settings, in one repetition."""
    texts = {
        entry: repr(sorted((k, v) for k, v in own.items() if k != "seed"))
        for entry, own in settings.items()
    }
    seeds = pd.Series([settings[entry].get("seed") for entry in entries], runs.index, dtype=object)
    solver = [runs["solver"], pd.Series([texts[entry] for entry in entries], runs.index)]
    # a host may have had some of the seeds alone: their number is that on all hosts
    problem = "on_all_hosts" if "on_all_hosts" in runs else "problem_id"
    places = [runs[name] for name in (problem, "repetition") if name in runs]
    each = seeds.groupby([*solver, *places], dropna=False)
    return each.transform("nunique").groupby(solver).transform("max").astype(int).tolist()


def _distinguishing(settings: list[dict[str, Any]], leave_out: Set[str]) -> list[str]:
    """Return the first settings that distinguish all variants."""
    chosen: list[str] = []
    known = 1
    for key in settings[0]:
        variants = {repr([s.get(k) for k in (*chosen, key)]) for s in settings}
        if key not in leave_out and len(variants) > known:
            chosen.append(key)
            known = len(variants)
    return chosen


def _named(solver: str, settings: Mapping[str, Any]) -> list[str]:
    """Return settings as texts, a text value without its key, and no switch that is so by default."""
    default = SOLVERS.get(solver)
    return [
        value if isinstance(value, str) else f"{key}={value_text(value)}"
        for key, value in settings.items()
        if not (isinstance(value, bool) and getattr(default, key, None) is value)
    ]


def specifications(results: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return what `problem` says of each problem, by its id; nothing of those that it is missing for."""
    if "problem" not in results:
        return {}
    known = results.dropna(subset=["problem"]).drop_duplicates("problem_id")
    return dict(zip(known["problem_id"], map(json.loads, known["problem"]), strict=True))


def words_of(
    results: pd.DataFrame, leave_out: Set[str] = frozenset()
) -> dict[str, tuple[str, ...]]:
    """Return the words of each problem's name, by its id, see `problem_words`.

    Of a problem whose specification is missing the id stands.
    """
    known = specifications(results)
    words = dict(zip(known, problem_words(known.values(), leave_out), strict=True))
    return {str(name): words.get(name, (str(name),)) for name in results["problem_id"].unique()}


def names_of(results: pd.DataFrame, leave_out: Set[str] = frozenset()) -> dict[str, str]:
    """Return each problem's name, by its id: its words, see `words_of`."""
    return {name: " ".join(words) for name, words in words_of(results, leave_out).items()}
