"""Grids: a list stands for each of its values, at any depth; a list inside a list is a value.

The interval of a problem's `path` is no grid, though a list: C, lam or epsilon is followed through it.
Nor are the lists of what a program `takes`, and of the columns of a table.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import product
from math import prod
from typing import Any

from dualgap.experiments.files.settings import build, options_of
from dualgap.experiments.files.yamlfile import Fault, Node
from dualgap.problems import Formulation
from dualgap.solvers.paths.interval import Ends, interval_of

KEY, TAKES, NAMES = "path", "takes", ("columns", "drop")


@dataclass(frozen=True)
class PathSettings:
    """What stands below `path`: one interval (low, high), and the largest relative gap in it."""

    C: Ends | None = None
    lam: Ends | None = None
    epsilon: Ends | None = None
    gap: float = 1e-3


FOLLOWED = [field.name for field in fields(PathSettings) if field.name != "gap"]


def grid_size(node: Node) -> int:
    """Return how many cases `expand` gives, without expanding.

    Raises
    ------
    Fault
        At an empty list: there would be nothing to run.
    """
    if isinstance(node.value, dict):
        return prod(grid_size(child) for child in node.value.values())
    if isinstance(node.value, list):
        if not node.value:
            raise Fault(node.line, "empty grid: a list without values leaves nothing to run")
        return sum(1 if isinstance(c.value, list) else grid_size(c) for c in node.value)
    return 1


def expand(node: Node) -> Iterator[Node]:
    """Yield every combination of the lists in `node`; the last list varies fastest."""
    if isinstance(node.value, dict):
        for values in product(*(list(expand(child)) for child in node.value.values())):
            yield Node(dict(zip(node.value, values, strict=True)), node.line)
    elif isinstance(node.value, list):
        for child in node.value:
            if isinstance(child.value, list):
                yield child
            else:
                yield from expand(child)
    else:
        yield node


def with_values(entry: Node) -> Node:
    """Return an entry with lists that no grid takes apart as values: see above."""
    if isinstance(entry.value, dict) and "dataset" in entry.value:
        entry = Node(entry.value | {"dataset": _with_names(entry.value["dataset"])}, entry.line)
    takes = entry.value.get(TAKES) if isinstance(entry.value, dict) else None
    if takes is not None and isinstance(takes.value, dict):
        kept = {
            name: Node([each], each.line) if isinstance(each.value, list) else each
            for name, each in takes.value.items()
        }
        return Node(entry.value | {TAKES: Node(kept, takes.line)}, entry.line)
    path = entry.value.get(KEY) if isinstance(entry.value, dict) else None
    if path is None or "formulation" not in entry.value or not isinstance(path.value, dict):
        return entry
    return Node(entry.value | {KEY: _with_lists(path, FOLLOWED)}, entry.line)


def _with_lists(node: Node, keys: Iterable[str]) -> Node:
    """Return a mapping in which a list under one of `keys` is a value, and a list of lists an axis."""
    children: dict[str, Node] = dict(node.value)
    for key in children.keys() & set(keys):
        items = children[key].value
        if isinstance(items, list) and not any(isinstance(item.value, list) for item in items):
            children[key] = Node([children[key]], children[key].line)
    return Node(children, node.line)


def _with_names(dataset: Node) -> Node:
    """Return a data set, or a list of them, in which one list of columns is a value."""
    if isinstance(dataset.value, list):
        return Node([*map(_with_names, dataset.value)], dataset.line)
    return _with_lists(dataset, NAMES) if isinstance(dataset.value, dict) else dataset


def at_upper_end(node: Node) -> tuple[PathSettings | None, Node]:
    """Return the path of a problem, if it has one, and the problem posed at its upper end."""
    given: dict[str, Node] = {key: child for key, child in node.value.items() if key != KEY}
    path = node.value.get(KEY)
    if path is None:
        return None, Node(given, node.line)
    if not isinstance(path.value, dict):
        raise Fault(
            path.line, f"path: must be a mapping such as {{C: [0.01, 100]}}, got {path.plain!r}"
        )
    settings = build(PathSettings, options_of(PathSettings), path, KEY)
    for name in FOLLOWED:
        if (ends := getattr(settings, name)) is None:
            continue
        if name in given:
            raise Fault(given[name].line, f"{name}: is what the path follows; leave it out here")
        given[name] = Node(ends[1], path.line)
    return settings, Node(given, node.line)


def path_spec(problem: Formulation, settings: PathSettings | None, node: Node) -> dict[str, Any]:
    """Return the path of a problem as a plain description, empty without one; Fault if it has none."""
    if settings is None:
        return {}
    ends: dict[Any, Ends | None] = {name: getattr(settings, name) for name in FOLLOWED}
    try:
        parameter, low, high = interval_of(problem, ends, settings.gap)
    except ValueError as error:
        raise Fault(node.value[KEY].line, f"path: {error}") from None
    return {"parameter": parameter, "low": low, "high": high, "gap": settings.gap}
