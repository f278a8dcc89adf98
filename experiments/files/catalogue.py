"""Every name that may stand in an experiment file, with its settings: the one walk over all registries.

`dualgap list`, the JSON schema and the reference pages are made from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from experiments.files.settings import Option, options_of
from experiments.files.specs import plain
from problems import FORMULATIONS, datasets
from problems.datasets import SOURCES
from problems.kernels import KERNELS
from problems.losses import LOSSES
from solvers import SOLVERS


class Entry(NamedTuple):
    """One name of an experiment file.

    Attributes
    ----------
    about : what it is, in a sentence.
    source : where that was published.
    options : its settings.
    own : of a data set those that differ from what all data sets take; of anything else the same.
    cls : the class that it names.
    """

    name: str
    about: str
    source: str
    options: Mapping[str, Option]
    own: Mapping[str, Option]
    cls: Any


def entries(kind: str) -> Iterator[Entry]:
    """Yield every solver, problem, loss, kernel or data set, whichever `kind` names, in order."""
    registries: dict[str, Mapping[str, Any]] = {
        "solvers": SOLVERS,
        "problems": FORMULATIONS,
        "losses": LOSSES,
        "kernels": KERNELS,
        "datasets": {name: SOURCES.get(name, datasets.Published) for name in datasets.names()},
    }
    are_data = kind == "datasets"
    common = options_of(datasets.Source) if are_data else {}
    for name, cls in registries[kind].items():
        options = options_of(cls)
        own = {key: option for key, option in options.items() if option != common.get(key)}
        told = (
            datasets.describe(name).removeprefix(f"{name}: ") if are_data else first_sentence(cls)
        )
        yield Entry(name, told, "" if are_data else cls.source, options, own, cls)


def first_sentence(cls: type) -> str:
    """Return what the docstring of a class begins with, on one line."""
    return inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")


def default_text(value: Any) -> str:
    """Return a default as an experiment file has it; of a kernel or loss the name."""
    value = plain(value)
    if value is None:
        return "null"
    if isinstance(value, dict):
        return str(value["name"])
    return str(value).lower() if isinstance(value, bool) else str(value)
