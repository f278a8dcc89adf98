"""Kinds of solvers, and names of problems in tables and figures: short but distinct."""

import json
from collections.abc import Set
from typing import Any

import pandas as pd

from dualgap.experiments.records.names import problem_words
from dualgap.experiments.records.outcomes import DENSE_REFERENCE
from dualgap.problems.validation import is_ours
from dualgap.solvers import SOLVERS

_REFERENCE_CLASS = "KernelFloor"  # of experiments/floor.py
SIZES = frozenset({"n", "limit"})  # options of data sets


def kind_of(solver: str) -> str:
    """Return "ours", "peer" (a baseline), or `DENSE_REFERENCE` for a solver's name."""
    if solver.endswith(f":{_REFERENCE_CLASS}"):
        return DENSE_REFERENCE
    cls = SOLVERS.get(solver)
    ours = cls is not None and is_ours(cls) and ".external." not in cls.__module__
    return "ours" if ours else "peer"


def is_single_threaded(solver: str) -> bool:
    """Whether the solver of this name uses only one thread, even if more are allowed."""
    cls = SOLVERS.get(solver)
    return cls is not None and cls.single_threaded


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
