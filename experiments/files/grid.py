"""Grids: a list, at any depth, expands into one entry per value; a list inside a list is a value.

Three kinds of lists are values, not grids: the interval of a problem's `path`, through which C, lam or
epsilon is followed, the lists in `takes` of a program, and the columns of a table.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import product
from math import prod
from typing import Any

from dualgap.experiments.files.settings import build, options_of
from dualgap.experiments.files.yamlfile import Fault, Node
from dualgap.problems import Problem
from dualgap.solvers.paths.interval import Ends, validate_interval

PATH_KEY = "path"
COLUMN_KEYS = ("columns", "drop")  # of a table


@dataclass(frozen=True)
class PathSettings:
    """The settings of a `path`: one interval (low, high), and the largest relative gap in it."""

    C: Ends | None = None
    lam: Ends | None = None
    epsilon: Ends | None = None
    gap: float = 1e-3


FOLLOWED = [field.name for field in fields(PathSettings) if field.name != "gap"]


def grid_size(node: Node) -> int:
    """Return the number of nodes that `expand` yields, without expanding.

    Raises
    ------
    Fault
        At an empty list, which would leave nothing to run.
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


def protect_list_settings(entry: Node) -> Node:
    """Wrap the lists of an entry that are values, see above, so that `expand` keeps them."""
    if isinstance(entry.value, dict) and "dataset" in entry.value:
        dataset = _protect_columns(entry.value["dataset"])
        entry = Node(entry.value | {"dataset": dataset}, entry.line)
    takes = entry.value.get("takes") if isinstance(entry.value, dict) else None
    if takes is not None and isinstance(takes.value, dict):
        protected = {
            name: Node([each], each.line) if isinstance(each.value, list) else each
            for name, each in takes.value.items()
        }
        return Node(entry.value | {"takes": Node(protected, takes.line)}, entry.line)
    path = entry.value.get(PATH_KEY) if isinstance(entry.value, dict) else None
    if path is None or "formulation" not in entry.value or not isinstance(path.value, dict):
        return entry
    return Node(entry.value | {PATH_KEY: _protect_lists(path, FOLLOWED)}, entry.line)


def _protect_lists(node: Node, keys: Iterable[str]) -> Node:
    """Wrap each list under one of `keys` of a mapping as a value; a list of lists stays an axis."""
    children: dict[str, Node] = dict(node.value)
    for key in children.keys() & set(keys):
        items = children[key].value
        if isinstance(items, list) and not any(isinstance(item.value, list) for item in items):
            children[key] = Node([children[key]], children[key].line)
    return Node(children, node.line)


def _protect_columns(dataset: Node) -> Node:
    """Wrap the lists of columns of a data set, or of a list of data sets, as values."""
    if isinstance(dataset.value, list):
        return Node([*map(_protect_columns, dataset.value)], dataset.line)
    return _protect_lists(dataset, COLUMN_KEYS) if isinstance(dataset.value, dict) else dataset


def at_upper_end(node: Node) -> tuple[PathSettings | None, Node]:
    """Return the path of a problem, if it has one, and the problem at the path's upper end."""
    children: dict[str, Node] = {k: child for k, child in node.value.items() if k != PATH_KEY}
    path = node.value.get(PATH_KEY)
    if path is None:
        return None, Node(children, node.line)
    if not isinstance(path.value, dict):
        raise Fault(
            path.line, f"path: must be a mapping such as {{C: [0.01, 100]}}, got {path.plain!r}"
        )
    settings = build(PathSettings, options_of(PathSettings), path, PATH_KEY)
    for name in FOLLOWED:
        if (ends := getattr(settings, name)) is None:
            continue
        if name in children:
            raise Fault(children[name].line, f"{name}: is set by the path; remove it here")
        children[name] = Node(ends[1], path.line)
    return settings, Node(children, node.line)


def path_spec(problem: Problem, settings: PathSettings | None, node: Node) -> dict[str, Any]:
    """Return the plain description of a path, empty without settings; raise Fault if it is invalid."""
    if settings is None:
        return {}
    ends: dict[Any, Ends | None] = {name: getattr(settings, name) for name in FOLLOWED}
    try:
        parameter, low, high = validate_interval(problem, ends, settings.gap)
    except ValueError as error:
        raise Fault(node.value[PATH_KEY].line, f"path: {error}") from None
    return {"parameter": parameter, "low": low, "high": high, "gap": settings.gap}
