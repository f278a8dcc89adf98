"""Kinds of solvers, and names of problems and gaps in tables and figures: short but distinct."""

import json
from collections.abc import Set
from typing import Any

import pandas as pd

from dualgap.experiments.records.names import problem_words
from dualgap.experiments.records.outcomes import DENSE_REFERENCE
from dualgap.problems.validation import is_ours
from dualgap.solvers import SOLVERS

_REFERENCE_CLASS = "KernelFloor"  # of experiments/floor.py
AA_REPEAT = "A/A"  # marks the second of two identical runs
SIZES = frozenset({"n", "limit"})  # options of data sets


def gap_text(gap: Any) -> str:
    """Return a relative gap or tolerance with as many digits as it needs: 1e-03, 3.2e-02."""
    texts = (f"{gap:.{digits}e}" for digits in range(17))
    return next(text for text in texts if float(text) == gap)


def missed_gap_text(gap: float, digits: int = 1) -> str:
    """Return a gap above a target, rounded up: rounded down, it might equal the target."""
    text = f"{gap:.{digits}e}"
    if float(text) < gap:
        last = 10.0 ** (int(text.partition("e")[2]) - digits)
        text = f"{float(text) + last:.{digits}e}"
    return text


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
