"""Changes of an experiment file by the command line: `--set KEY=VALUE`, `--solver`, `--problem`.

A key is a path from the top of the file, such as problems.0.kernel.gamma, with list indices from 0. If
its first part is not a key of the file, it is set in every problem and solver that has it: C=1,10.
Values are checked like the file, and their faults name the option instead of a line.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from dualgap.experiments.files.yamlfile import Fault, Node, parse, yaml_text

SELECTIONS = {"--solver": "only_solvers", "--problem": "only_problems"}  # keys set by options


def override(root: Node, options: Sequence[tuple[str, str]], keys: Sequence[str]) -> Node:
    """Return the tree of an experiment file with the changes made by the command line.

    Parameters
    ----------
    options : `--set` with KEY=VALUE, or one of `SELECTIONS` with a name; values that the k-th option
        sets have the line -k.
    keys : the keys of an experiment file.

    Raises
    ------
    Fault
        At the line -k, if a key does not exist or a value is not YAML.
    """
    selections: dict[str, Node] = {}
    for k, (option, text) in enumerate(options, start=1):
        if option in SELECTIONS:
            selections.setdefault(SELECTIONS[option], Node([], -k)).value.append(Node(text, -k))
        else:
            paths, value = _setting(root, text, keys, -k)
            for path in paths:
                root = _replace(root, path, value, -k)
    return Node(root.value | selections, root.line) if isinstance(root.value, dict) else root


def _setting(root: Node, text: str, keys: Sequence[str], line: int) -> tuple[list[list[str]], Node]:
    """Return the paths that KEY=VALUE refers to, and the value."""
    key, separator, value_text = text.partition("=")
    steps = key.strip().split(".")
    if not (separator and all(steps)):
        raise Fault(line, "must be KEY=VALUE, as in C=1,10 or problems.0.kernel.gamma=0.1")
    try:
        values = _with_line(parse(f"[{value_text}]".encode()), line).value
    except Fault as fault:
        raise Fault(line, fault.text) from None
    if not values:
        raise Fault(line, f"{key}: needs a value, or null")
    value = values[0] if len(values) == 1 else Node(values, line)
    if steps[0] in keys:
        return [steps], value
    paths = [
        [section, str(i), *steps]
        for section in ("problems", "solvers")
        for i, entry in enumerate(root.listed(section))
        if isinstance(entry.value, dict) and steps[0] in entry.value
    ]
    if not paths:
        raise Fault(
            line,
            f"{steps[0]!r} is not a key of the file or of any entry of problems or solvers; "
            f"write problems.0.{key}=... or solvers.0.{key}=... to add it to one",
        )
    return paths, value


def text_of(root: Node, original: str, options: Sequence[str]) -> str:
    """Return the text of an experiment file for a tree, with the leading comment of the original."""
    comment = takewhile(lambda line: line.startswith("#"), original.splitlines())
    changed = [
        f"# changed on the command line by {option}".replace("\n", " ") for option in options
    ]
    return "\n".join([*comment, *changed, yaml_text(root.plain)])


def _with_line(node: Node, line: int) -> Node:
    """Return a copy of a tree in which every node has the same line."""
    if isinstance(node.value, dict):
        return Node({key: _with_line(child, line) for key, child in node.value.items()}, line)
    if isinstance(node.value, list):
        return Node([_with_line(child, line) for child in node.value], line)
    return Node(node.value, line)


def _replace(node: Node, path: Sequence[str], value: Node, line: int) -> Node:
    """Return a copy of a tree with `value` at the end of a path."""
    if not path:
        return value
    step, *remaining = path
    current: Any = node.value
    if isinstance(current, list):
        if not (re.fullmatch("[0-9]{1,6}", step) and int(step) < len(current)):
            raise Fault(line, f"{step!r}: must be a list index from 0 to {len(current) - 1}")
        items = list(current)
        items[int(step)] = _replace(items[int(step)], remaining, value, line)
        return Node(items, node.line)
    if isinstance(current, str):  # a name abbreviates a mapping without settings
        current = {"name": node}
    if not isinstance(current, dict):
        raise Fault(line, f"{step!r}: {node.plain!r} has no settings")
    if remaining and step not in current:
        raise Fault(line, f"{step!r} does not exist; the keys are {', '.join(current)}")
    child = _replace(current.get(step, node), remaining, value, line)
    return Node(current | {step: child}, node.line)
