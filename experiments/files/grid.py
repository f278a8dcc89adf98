"""Grids: a list, at any depth, expands into one entry per value; a list inside a list is a value.

Three kinds of lists are values, not grids: the interval of a problem's `path`, through which C, lam or
epsilon is followed, the lists in `takes` of a program, and the columns of a table.
"""

from collections.abc import Iterator
from itertools import chain, product
from math import prod
from typing import Any

from dualgap.experiments.files.document import Fault, Loc
from dualgap.experiments.files.models import COLUMN_KEYS, FOLLOWED

_LISTED = {("path", name) for name in FOLLOWED} | {("dataset", key) for key in COLUMN_KEYS}


def grid_size(value: Any, loc: Loc) -> int:
    """Return the number of values that `expand` yields, without expanding.

    Raises
    ------
    Fault
        At an empty list, which would leave nothing to run.
    """
    if isinstance(value, dict):
        return prod(grid_size(child, (*loc, key)) for key, child in value.items())
    if isinstance(value, list) and not _is_setting(value, loc):
        if not value:
            raise Fault("empty grid: a list without values leaves nothing to run", *loc)
        items = enumerate(value)
        return sum(1 if isinstance(item, list) else grid_size(item, (*loc, k)) for k, item in items)
    return 1


def expand(value: Any, origin: Loc, loc: Loc = ()) -> Iterator[tuple[Any, dict[Loc, Loc]]]:
    """Yield every combination of the lists in `value`; the last list varies fastest.

    Parameters
    ----------
    origin : path to the value in its file. loc : path to it in the yielded values.

    Yields
    ------
    tuple
        A value without grids, and the origins of those of its parts that a list contains.
    """
    if isinstance(value, dict):
        axes = [list(expand(child, (*origin, k), (*loc, k))) for k, child in value.items()]
        for combination in product(*axes):
            origins = dict(chain.from_iterable(chosen.items() for _, chosen in combination))
            yield dict(zip(value, (part for part, _ in combination), strict=True)), origins
    elif isinstance(value, list) and not _is_setting(value, loc):
        for k, item in enumerate(value):
            at = {loc: (*origin, k)}
            if isinstance(item, list):
                yield item, at
            else:
                yield from ((part, at | deeper) for part, deeper in expand(item, at[loc], loc))
    else:
        yield value, {}


def _is_setting(items: list[Any], loc: Loc) -> bool:
    """Whether a list is a value, see above; a list of lists is an axis of values."""
    keys = tuple(step for step in loc if isinstance(step, str))[-2:]
    is_listed = keys[:-1] == ("takes",) or keys in _LISTED
    return is_listed and not any(isinstance(item, list) for item in items)
