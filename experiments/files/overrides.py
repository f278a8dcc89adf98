"""Changes and selections by the command line: `--set KEY=VALUE`, `--solver`, `--problem`.

A key is a path from the top of the file, such as problems.0.kernel.gamma, with list indices from 0. If
its first part is not a key of the file, it is set in every problem and solver that has it: C=1,10.
Values are checked like the file, and their faults name the option instead of a line.

Problems and solvers are selected by the names that tables print, see `records.choices`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from operator import or_
from typing import Any, TypeVar

from dualgap.experiments.files.document import ConfigError, Document, Fault, Loc
from dualgap.experiments.files.models import ExperimentFile
from dualgap.experiments.files.specs import ProblemSpec, SolverSpec, named_solvers
from dualgap.experiments.files.yaml import load, yaml_text
from dualgap.experiments.records import Refusal
from dualgap.experiments.records.choices import choices_text, distinct_names, same_name
from dualgap.experiments.records.names import problem_words

SELECTIONS = {"--solver": "only_solvers", "--problem": "only_problems"}  # keys set by options
S = TypeVar("S")


def override(document: Document, options: Sequence[tuple[str, str]]) -> Document:
    """Return an experiment file with the changes made by the command line.

    Parameters
    ----------
    options : `--set` with KEY=VALUE, or one of `SELECTIONS` with a name.

    Raises
    ------
    ConfigError
        If a key does not exist or a value is not YAML.
    """
    value, selections, set_by = document.value, dict[str, list[str]](), dict[Loc, str]()
    for option, text in options:
        label = f"{option} {text}"
        if option in SELECTIONS:
            names = selections.setdefault(SELECTIONS[option], [])
            set_by[SELECTIONS[option], str(len(names))] = label
            names.append(text)
            continue
        try:
            paths, new = _setting(replace(document, value=value), text)
            for path in paths:
                value = _replaced(value, path, new)
        except Fault as fault:
            raise ConfigError(label, [Fault(fault.text)]) from None
        for path in map(tuple, paths):
            set_by = {keys: by for keys, by in set_by.items() if keys[: len(path)] != path}
            set_by[path] = label
    value = value | selections if isinstance(value, dict) else value
    return replace(document, value=value, options=set_by)


def _setting(document: Document, text: str) -> tuple[list[list[str]], Any]:
    """Return the paths that KEY=VALUE refers to, and the value."""
    key, separator, value_text = text.partition("=")
    steps = key.strip().split(".")
    if not (separator and all(steps)):
        raise Fault("must be KEY=VALUE, as in C=1,10 or problems.0.kernel.gamma=0.1")
    values, _ = load(f"[{value_text}]".encode())
    if not values:
        raise Fault(f"{key}: needs a value, or null")
    value = values[0] if len(values) == 1 else values
    if steps[0] in ExperimentFile.model_fields:
        return [steps], value
    paths = [
        [section, str(k), *steps]
        for section in ("problems", "solvers")
        for k, entry in enumerate(document.listed(section))
        if isinstance(entry, dict) and steps[0] in entry
    ]
    if not paths:
        raise Fault(
            f"{steps[0]!r} is not a key of the file or of any entry of problems or solvers; "
            f"write problems.0.{key}=... or solvers.0.{key}=... to add it to one"
        )
    return paths, value


def text_of(value: Any, original: str, options: Sequence[str]) -> str:
    """Return the text of an experiment file, with the leading comment of the original."""
    comment = takewhile(lambda line: line.startswith("#"), original.splitlines())
    changed = [
        f"# changed on the command line by {option}".replace("\n", " ") for option in options
    ]
    return "\n".join([*comment, *changed, yaml_text(value)])


def _replaced(current: Any, path: Sequence[str], value: Any) -> Any:
    """Return a copy of a value with another one at the end of a path."""
    if not path:
        return value
    step, *remaining = path
    if isinstance(current, list):
        if not (re.fullmatch("0|[1-9][0-9]{0,5}", step) and int(step) < len(current)):
            raise Fault(f"{step!r}: must be a list index from 0 to {len(current) - 1}")
        k = int(step)
        return [*current[:k], _replaced(current[k], remaining, value), *current[k + 1 :]]
    if isinstance(current, str):  # a name abbreviates a mapping without settings
        current = {"name": current}
    if not isinstance(current, dict):
        raise Fault(f"{step!r}: {current!r} has no settings")
    if remaining and step not in current:
        raise Fault(f"{step!r} does not exist; the keys are {', '.join(current)}")
    return current | {step: _replaced(current.get(step), remaining, value)}


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
    pairs = zip(named_solvers(specs), specs, strict=True)
    names = [solver_names(spec, *printed) for printed, spec in pairs]
    return _select(document, "only_solvers", specs, names, faults, _no_match)


def solver_names(spec: SolverSpec, label: str, series: str) -> list[str]:
    """Return the names of a solver: those that tables print for its runs and series, and its own."""
    return list(dict.fromkeys(filter(None, (label, series, spec.label, spec.name))))


def chosen_solvers(
    texts: Sequence[str], solvers: Sequence[tuple[SolverSpec, str, str]]
) -> list[bool]:
    """Return for each solver, with its label and series, whether --rerun names it; or raise Refusal."""
    names, chosen = [solver_names(*each) for each in solvers], [False] * len(solvers)
    for text in texts:
        if not any(matches := name_matches(text, names)):
            raise Refusal(f"--rerun: {text!r} selects nothing; {choices_text(text, names)}")
        chosen = list(map(or_, chosen, matches))
    return chosen


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
        selection = list(map(or_, selection, matches))
    return [spec for spec, is_selected in zip(specs, selection, strict=True) if is_selected]


def _matching(text: str, names: list[list[str]]) -> list[bool]:
    """Return for each case whether a regular expression matches its full name."""
    return [re.search(text, full) is not None for full, *_ in names]


def _no_match(_: str, names: list[list[str]]) -> list[bool]:
    return [False] * len(names)
