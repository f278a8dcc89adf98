"""Data sets by name: generators, bundled real data, files and published sets.

from dualgap.problems import datasets

data = datasets.load("breast_cancer", standardize=True)
data = datasets.TwoMoons(n=500, noise=0.2, seed=1).load()
"""

import dataclasses
from typing import Any

from dualgap.problems.datasets.block_files import BlockFiles, open_blocks
from dualgap.problems.datasets.block_sources import GeneratedBlocks, dask_blocks
from dualgap.problems.datasets.bundled import BreastCancer, Diabetes, Digits, Iris, Wine
from dualgap.problems.datasets.generators import (
    Blobs,
    Classification,
    FourGaussians,
    Friedman,
    Regression,
    Separable,
    SparseClassification,
    TwoGaussians,
    TwoMoons,
)
from dualgap.problems.datasets.libsvm import LibsvmFile
from dualgap.problems.datasets.openml import OpenML
from dualgap.problems.datasets.published import ENTRIES, Published, cache_folder, data_folder
from dualgap.problems.datasets.quadratic_programs import (
    MarosMeszaros,
    PublishedQP,
    QuadraticProgram,
)
from dualgap.problems.datasets.source import DataInBlocks, Loadable, Raw, Source, WholeProblem
from dualgap.problems.datasets.symbolic import (
    GraphFamilies,
    HiddenMarkov,
    MotifStrings,
    PlantedSets,
)
from dualgap.problems.registry import Registry, is_user_class, unknown

__all__ = [
    "Blobs",
    "BlockFiles",
    "BreastCancer",
    "Classification",
    "DataInBlocks",
    "Diabetes",
    "Digits",
    "FourGaussians",
    "Friedman",
    "GeneratedBlocks",
    "GraphFamilies",
    "HiddenMarkov",
    "Iris",
    "LibsvmFile",
    "Loadable",
    "MarosMeszaros",
    "MotifStrings",
    "OpenML",
    "PlantedSets",
    "Published",
    "PublishedQP",
    "QuadraticProgram",
    "Raw",
    "Regression",
    "Separable",
    "Source",
    "SparseClassification",
    "TwoGaussians",
    "TwoMoons",
    "WholeProblem",
    "Wine",
    "cache_folder",
    "dask_blocks",
    "data_folder",
    "describe",
    "load",
    "make",
    "names",
    "open_blocks",
]

SOURCES = Registry(Loadable, "data set", __name__, group="dualgap.datasets")


def names() -> list[str]:
    """Return all names: generators, bundled sets, files, published sets; alphabetical within a kind."""
    kinds = {name: cls.kind for name, cls in SOURCES.items()}
    order = ["generator", "bundled", "file"]
    by_kind = sorted(kinds, key=lambda name: [*order, kinds[name]].index(kinds[name]))
    return by_kind + sorted(ENTRIES)


def describe(name: str) -> str:
    """Return one line on a data set: kind, size, task, source and licence."""
    cls = _find(name)
    if name in ENTRIES:
        entry = ENTRIES[name]
        location = "LIBSVM site" if entry.url else "local file only"
        facts = (f"{entry.n} x {entry.d}", entry.task, f"{location}, licence: {entry.licence}")
    else:
        facts = (cls.size, str(getattr(cls, "task", "")), cls.origin)
    return f"{name}: {cls.kind}, " + ", ".join(facts)


def make(name: str, /, folder: str = ".", **options: Any) -> Loadable:
    """Create a data set's description from its name and options, without reading any data.

    Parameters
    ----------
    name : a name, or `path/to/file.py:ClassName`, which is searched in `folder` first.

    Raises
    ------
    ValueError
        For an unknown name or option, with the closest known one; for a missing option; for an
        invalid value.
    """
    cls, preset = _find(name, folder), {"name": name} if name in ENTRIES else {}
    accepted = {field.name: field for field in dataclasses.fields(cls) if field.name not in preset}
    for option in options:
        if option not in accepted:
            raise ValueError(f"{name}: {unknown('option', option, accepted)}")
    for option, field in accepted.items():
        if option not in options and field.default is dataclasses.MISSING:
            raise ValueError(f"{name}: needs the option {option!r}")
    return cls(**options, **preset)


def load(name: str, /, **options: Any) -> Any:
    """Load a data set by name; the same as ``make(name, **options).load()``."""
    return make(name, **options).load()


def _find(name: str, folder: str = ".") -> type[Any]:
    """Return the class with a name."""
    if name in ENTRIES:
        return Published
    if is_user_class(name) or name in SOURCES:
        return SOURCES.find(name, folder)
    raise ValueError(f"dataset: {unknown('name', name, names())}")
