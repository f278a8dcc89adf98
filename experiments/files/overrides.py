"""Changes of an experiment file by the command line: `--set KEY=VALUE`, `--solver`, `--problem`.

A key is a path from the top of the file, such as problems.0.kernel.gamma, with list indices from 0. If
its first part is not a key of the file, it is set in every problem and solver that has it: C=1,10.
Values are checked like the file, and their faults name the option instead of a line.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from dualgap.experiments.files.document import ConfigError, Document, Fault, Loc
from dualgap.experiments.files.models import ExperimentFile
from dualgap.experiments.files.yaml import load, yaml_text

SELECTIONS = {"--solver": "only_solvers", "--problem": "only_problems"}  # keys set by options


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
