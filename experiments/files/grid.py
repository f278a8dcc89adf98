"""Grids: a list, at any depth, expands into one entry per value; a list inside a list is a value.

Three kinds of lists are values, not grids: the interval of a problem's `path`, through which C, lam or
epsilon is followed, the lists in `takes` of a program, and the columns of a table.
"""

from collections.abc import Collection, Iterator
from itertools import chain, product
from math import prod
from typing import Any

from dualgap.experiments.files.document import Fault, Loc
from dualgap.experiments.files.models import COLUMN_KEYS, FOLLOWED


def grid_size(value: Any, loc: Loc) -> int:
    """Return the number of values that `expand` yields, without expanding.

    Raises
    ------
    Fault
        At an empty list, which would leave nothing to run.
    """
    if isinstance(value, dict):
        return prod(grid_size(child, (*loc, key)) for key, child in value.items())
    if isinstance(value, list):
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
    elif isinstance(value, list):
        for k, item in enumerate(value):
            at = {loc: (*origin, k)}
            if isinstance(item, list):
                yield item, at
            else:
                yield from ((part, at | deeper) for part, deeper in expand(item, at[loc], loc))
    else:
        yield list(value) if isinstance(value, tuple) else value, {}


def protect_list_settings(entry: Any) -> Any:
    """Return an entry in which the lists that are values, see above, are tuples, for `expand`."""
    if not isinstance(entry, dict):
        return entry
    protected = dict(entry)
    if "dataset" in entry:
        protected["dataset"] = _protect_columns(entry["dataset"])
    if isinstance(takes := entry.get("takes"), dict):
        protected["takes"] = {
            name: tuple(each) if isinstance(each, list) else each for name, each in takes.items()
        }
    if isinstance(path := entry.get("path"), dict) and "formulation" in entry:
        protected["path"] = _protect_lists(path, FOLLOWED)
    return protected


def _protect_lists(settings: dict[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Turn each list under one of `keys` into a tuple; a list of lists stays an axis."""
    return {
        key: tuple(value)
        if key in keys and isinstance(value, list) and not any(isinstance(v, list) for v in value)
        else value
        for key, value in settings.items()
    }


def _protect_columns(dataset: Any) -> Any:
    """Turn the lists of columns of a data set, or of a list of data sets, into tuples."""
    if isinstance(dataset, list):
        return [*map(_protect_columns, dataset)]
    return _protect_lists(dataset, COLUMN_KEYS) if isinstance(dataset, dict) else dataset
