"""Grids: a list stands for each of its values, at any depth; a list inside a list is a value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from experiments.files.yamlfile import Fault, Node


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
