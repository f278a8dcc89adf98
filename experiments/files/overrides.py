"""What the command line changes in an experiment file: `--set KEY=VALUE`, `--solver`, `--problem`.

A key is a path from the top of the file, as problems.0.kernel.gamma; places in lists count from 0. One
whose first part is no key of the file stands for that key in every problem and solver that has it:
C=1,10. What is set is checked like the file, and its faults name the option in the place of a line.
"""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from dualgap.experiments.files.yamlfile import Fault, Node, parse, yaml_text

KEPT = {"--solver": "only_solvers", "--problem": "only_problems"}  # the keys that options stand for


def overridden(root: Node, options: Sequence[tuple[str, str]], known: Sequence[str]) -> Node:
    """Return the tree of an experiment file with what the command line changes in it.

    Parameters
    ----------
    options : `--set` with KEY=VALUE, or one of `KEPT` with what is kept; the lines of what the k-th of
        them sets are -k. known : the keys of an experiment file.

    Raises
    ------
    Fault
        At the line -k, if a key leads nowhere or a value is not YAML.
    """
    kept: dict[str, Node] = {}
    for k, (option, text) in enumerate(options, start=1):
        if option in KEPT:
            kept.setdefault(KEPT[option], Node([], -k)).value.append(Node(text, -k))
        else:
            places, value = _setting(root, text, known, -k)
            for place in places:
                root = _with(root, place, value, -k)
    return Node(root.value | kept, root.line) if isinstance(root.value, dict) else root


def _setting(
    root: Node, text: str, known: Sequence[str], line: int
) -> tuple[list[list[str]], Node]:
    """Return the places that KEY=VALUE stands for, and the value."""
    key, separator, given = text.partition("=")
    steps = key.strip().split(".")
    if not (separator and all(steps)):
        raise Fault(line, "must be KEY=VALUE, as in C=1,10 or problems.0.kernel.gamma=0.1")
    try:
        values = _placed(parse(f"[{given}]".encode()), line).value
    except Fault as fault:
        raise Fault(line, fault.text) from None
    if not values:
        raise Fault(line, f"{key}: needs a value, or null")
    value = values[0] if len(values) == 1 else Node(values, line)
    if steps[0] in known:
        return [steps], value
    places = [
        [own, str(i), *steps]
        for own in ("problems", "solvers")
        for i, entry in enumerate(root.listed(own))
        if isinstance(entry.value, dict) and steps[0] in entry.value
    ]
    if not places:
        raise Fault(
            line,
            f"{steps[0]!r} is no key of the file, and no entry of problems or solvers has it; "
            f"write problems.0.{key}=... or solvers.0.{key}=... to add it to one",
        )
    return places, value


def text_of(root: Node, original: str, options: Sequence[str]) -> str:
    """Return a tree as an experiment file, below the comment that the original begins with."""
    comment = takewhile(lambda line: line.startswith("#"), original.splitlines())
    changed = [
        f"# changed on the command line by {option}".replace("\n", " ") for option in options
    ]
    return "\n".join([*comment, *changed, yaml_text(root.plain)])


def _placed(node: Node, line: int) -> Node:
    """Return a tree all of whose lines are `line`."""
    if isinstance(node.value, dict):
        return Node({key: _placed(child, line) for key, child in node.value.items()}, line)
    if isinstance(node.value, list):
        return Node([_placed(child, line) for child in node.value], line)
    return Node(node.value, line)


def _with(node: Node, steps: Sequence[str], value: Node, line: int) -> Node:
    """Return a tree with a value at the end of a path."""
    if not steps:
        return value
    step, *rest = steps
    known: Any = node.value
    if isinstance(known, list):
        if not (re.fullmatch("[0-9]{1,6}", step) and int(step) < len(known)):
            raise Fault(line, f"{step!r}: must be a place in a list, from 0 to {len(known) - 1}")
        changed = list(known)
        changed[int(step)] = _with(changed[int(step)], rest, value, line)
        return Node(changed, node.line)
    if isinstance(known, str):  # a name stands for itself without settings
        known = {"name": node}
    if not isinstance(known, dict):
        raise Fault(line, f"{step!r}: there are no settings in {node.plain!r}")
    if rest and step not in known:
        raise Fault(line, f"{step!r} is not there; there are {', '.join(known)}")
    return Node(known | {step: _with(known.get(step, node), rest, value, line)}, node.line)
