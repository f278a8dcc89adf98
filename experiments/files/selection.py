"""Which problems and solvers of an experiment are kept: by the names that tables print.

Names are compared word by word, so that one may be pasted from a table, a figure or a report, whichever
way it separates words and writes numbers.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from dualgap.experiments.files.specs import SEARCHED, ProblemSpec, SolverSpec
from dualgap.experiments.files.yamlfile import Fault, Node
from dualgap.experiments.records.labels import SolverEntry, labels_of
from dualgap.experiments.records.names import (
    choices_text,
    distinct_names,
    problem_words,
    same_name,
)

S = TypeVar("S")
_SERIES = frozenset(
    {*SEARCHED, "max_iter"}
)  # settings that the name of a series of runs leaves out


def kept_problems(root: Node, specs: list[ProblemSpec], faults: list[Fault]) -> list[ProblemSpec]:
    """Return the problems that `only_problems` keeps, all where it is missing.

    A text that is the printed name of no problem is a regular expression of the names to keep.
    """
    words = problem_words(map(vars, specs))
    full = list(map(" ".join, words))
    short = distinct_names(words) if words else []
    names = [list(dict.fromkeys(pair)) for pair in zip(full, short, strict=True)]
    return _kept(root, "only_problems", specs, names, faults, _matching)


def kept_solvers(root: Node, specs: list[SolverSpec], faults: list[Fault]) -> list[SolverSpec]:
    """Return the solvers that `only_solvers` keeps, all where it is missing."""
    return _kept(root, "only_solvers", specs, solver_names(specs), faults, _no_match)


def solver_names(specs: Sequence[SolverSpec]) -> list[list[str]]:
    """Return for each solver what tables print for its runs and for its series, and its name."""
    entries = [SolverEntry(spec.name, json.dumps(spec.settings), spec.label) for spec in specs]
    printed = labels_of(entries), labels_of(entries, _SERIES)
    return [
        list(dict.fromkeys(filter(None, (label, series, spec.label, spec.name))))
        for label, series, spec in zip(*printed, specs, strict=True)
    ]


def selected(text: str, names: Sequence[Sequence[str]]) -> list[bool]:
    """Return for each case, which has several names, whether a text is one of them."""
    return [any(same_name(text, name) for name in each) for each in names]


def _kept(
    root: Node,
    key: str,
    specs: list[S],
    names: list[list[str]],
    faults: list[Fault],
    fallback: Callable[[str, list[list[str]]], list[bool]],
) -> list[S]:
    """Return the cases that a key of the file keeps by one of their names, else by `fallback`."""
    if key not in root.value or not root.value[key].value:
        return specs
    kept = [False] * len(specs)
    for node in root.value[key].value:
        text = node.value
        chosen = selected(text, names)
        try:
            chosen = chosen if any(chosen) else fallback(text, names)
            fault = f"{text!r} selects nothing"
        except re.error as error:
            fault = f"{text!r} is no name, and no regular expression: {error}"
        if not any(chosen):
            # of problems the full names alone: the short ones say the same
            choices = names if key == "only_solvers" else [each[:1] for each in names]
            faults.append(Fault(node.line, f"{key}: {fault}; {choices_text(text, choices)}"))
        kept = [a or b for a, b in zip(kept, chosen, strict=True)]
    return [spec for spec, is_kept in zip(specs, kept, strict=True) if is_kept]


def _matching(text: str, names: list[list[str]]) -> list[bool]:
    """Return whether a regular expression matches the full name of each case."""
    return [re.search(text, full) is not None for full, *_ in names]


def _no_match(_: str, names: list[list[str]]) -> list[bool]:
    return [False] * len(names)
