"""Names of solvers and problems in tables and figures: short but distinct.

`ACCURACY` lists the settings that trade time for accuracy: runs that differ only in these are one
series, because nominal tolerances are not comparable between solvers.
"""

import json
from collections.abc import Sequence, Set
from typing import Any

import pandas as pd

from dualgap.experiments.analysis.noise import is_repeat
from dualgap.experiments.records.labels import SolverEntry, labels_of
from dualgap.experiments.records.names import problem_words
from dualgap.problems.validation import is_ours
from dualgap.solvers import SOLVERS

ACCURACY = ("tol", "gap", "epochs")  # in the order in which tables prefer them
ITERATION_LIMIT = "max_iter"  # of a solver; limits that were not reached do not distinguish solvers
REFERENCE_TIME = "KernelFloor"  # measures the time of dense kernel values, see experiments/floor.py
SIZES = frozenset({"n", "limit"})  # options of data sets


def kind_of(solver: str) -> str:
    """Return "ours", "peer" (a baseline), or "floor" (the reference time) for a solver's name."""
    if solver.endswith(f":{REFERENCE_TIME}"):
        return "floor"
    cls = SOLVERS.get(solver)
    ours = cls is not None and is_ours(cls) and ".external." not in cls.__module__
    return "ours" if ours else "peer"


def is_single_threaded(solver: str) -> bool:
    """Whether the solver of this name uses only one thread, even if more are allowed."""
    cls = SOLVERS.get(solver)
    return cls is not None and cls.single_threaded


def solver_labels(results: pd.DataFrame, leave_out: Set[str] = frozenset()) -> list[str]:
    """Return each run's label, else its solver, with the settings that distinguish runs of that name.

    Runs that differ only in the seed or in the settings in `leave_out` share a label, which includes the
    number of seeds per repetition if there are several. The second run of an A/A pair is marked, unless
    `leave_out` contains the mark.
    """
    recorded = results["label"] if "label" in results else [""] * len(results)
    labels = [label if isinstance(label, str) else "" for label in recorded]
    solvers, repeats = results["solver"].astype(str), is_repeat(results)
    runs = zip(solvers, results["params"], labels, repeats, strict=True)
    entries = [SolverEntry(*run) for run in runs]
    return labels_of(entries, leave_out, _seed_counts(results, entries))


def _seed_counts(runs: pd.DataFrame, entries: Sequence[SolverEntry]) -> list[int]:
    """Return for each run the number of seeds of its solver and settings in one repetition."""
    settings = {entry: json.loads(entry.settings) for entry in dict.fromkeys(entries)}
    texts = {
        entry: repr(sorted((k, v) for k, v in values.items() if k != "seed"))
        for entry, values in settings.items()
    }
    seeds = pd.Series([settings[entry].get("seed") for entry in entries], runs.index, dtype=object)
    solver = [runs["solver"], pd.Series([texts[entry] for entry in entries], runs.index)]
    # seeds may be spread over hosts: count them on all hosts
    problem = "on_all_hosts" if "on_all_hosts" in runs else "problem_id"
    grouping = [runs[name] for name in (problem, "repetition") if name in runs]
    each = seeds.groupby([*solver, *grouping], dropna=False)
    return each.transform("nunique").groupby(solver).transform("max").astype(int).tolist()


def specifications(results: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the specification of each problem, by its id; without problems that lack one."""
    if "problem" not in results:
        return {}
    recorded = results.dropna(subset=["problem"]).drop_duplicates("problem_id")
    return dict(zip(recorded["problem_id"], map(json.loads, recorded["problem"]), strict=True))


def words_of(
    results: pd.DataFrame, leave_out: Set[str] = frozenset()
) -> dict[str, tuple[str, ...]]:
    """Return the words of each problem's name (see `problem_words`), by its id.

    A problem without specification is named by its id.
    """
    specs = specifications(results)
    words = dict(zip(specs, problem_words(specs.values(), leave_out), strict=True))
    return {str(name): words.get(name, (str(name),)) for name in results["problem_id"].unique()}


def names_of(results: pd.DataFrame, leave_out: Set[str] = frozenset()) -> dict[str, str]:
    """Return each problem's name (see `words_of`), by its id."""
    return {name: " ".join(words) for name, words in words_of(results, leave_out).items()}
