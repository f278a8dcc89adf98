"""Selection of problems and solvers of an experiment by the names that tables print.

Names are compared word by word, so that a name can be pasted from a table, a figure or a report,
regardless of how it separates words and formats numbers.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from dualgap.experiments.files.document import Document, Fault
from dualgap.experiments.files.specs import SEARCHED, ProblemSpec, SolverSpec
from dualgap.experiments.records.labels import SolverEntry, labels_of
from dualgap.experiments.records.names import (
    choices_text,
    distinct_names,
    problem_words,
    same_name,
)

S = TypeVar("S")
# settings that are not part of the name of a series of runs
_ACCURACY_SETTINGS = frozenset({*SEARCHED, "max_iter"})


def select_problems(
    document: Document, specs: list[ProblemSpec], faults: list[Fault]
) -> list[ProblemSpec]:
    """Return the problems selected by `only_problems`, or all if it is missing.

    A text that is not the printed name of a problem is a regular expression for names.
    """
    words = problem_words(map(vars, specs))
    full = list(map(" ".join, words))
    short = distinct_names(words) if words else []
    names = [list(dict.fromkeys(pair)) for pair in zip(full, short, strict=True)]
    return _select(document, "only_problems", specs, names, faults, _matching)


def select_solvers(
    document: Document, specs: list[SolverSpec], faults: list[Fault]
) -> list[SolverSpec]:
    """Return the solvers selected by `only_solvers`, or all if it is missing."""
    return _select(document, "only_solvers", specs, solver_names(specs), faults, _no_match)


def solver_names(specs: Sequence[SolverSpec]) -> list[list[str]]:
    """Return the names of each solver: those that tables print for its runs and series, and its own."""
    entries = [SolverEntry(spec.name, json.dumps(spec.settings), spec.label) for spec in specs]
    printed = labels_of(entries), labels_of(entries, _ACCURACY_SETTINGS)
    return [
        list(dict.fromkeys(filter(None, (label, series, spec.label, spec.name))))
        for label, series, spec in zip(*printed, specs, strict=True)
    ]


def name_matches(text: str, names: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each case whether a text is one of its names."""
    return [any(same_name(text, name) for name in each) for each in names]


def _select(
    document: Document,
    key: str,
    specs: list[S],
    names: list[list[str]],
    faults: list[Fault],
    fallback: Callable[[str, list[list[str]]], list[bool]],
) -> list[S]:
    """Return the cases that a key of the file selects by one of their names, or by `fallback`."""
    if not (texts := document.listed(key)):
        return specs
    selection = [False] * len(specs)
    for k, text in enumerate(texts):
        matches = name_matches(text, names)
        try:
            matches = matches if any(matches) else fallback(text, names)
            fault = f"{text!r} selects nothing"
        except re.error as error:
            fault = f"{text!r} is neither a name nor a valid regular expression: {error}"
        if not any(matches):
            # only the full names of problems, as the short ones add nothing
            choices = names if key == "only_solvers" else [each[:1] for each in names]
            faults.append(Fault(f"{key}: {fault}; {choices_text(text, choices)}", key, k))
        selection = [a or b for a, b in zip(selection, matches, strict=True)]
    return [spec for spec, is_selected in zip(specs, selection, strict=True) if is_selected]


def _matching(text: str, names: list[list[str]]) -> list[bool]:
    """Return for each case whether a regular expression matches its full name."""
    return [re.search(text, full) is not None for full, *_ in names]


def _no_match(_: str, names: list[list[str]]) -> list[bool]:
    return [False] * len(names)
