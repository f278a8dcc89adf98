"""All names that experiment files accept, for `dualgap list` and the schema."""

import inspect
from collections.abc import Mapping
from typing import Any

from dualgap.problems import FORMULATIONS, datasets
from dualgap.problems.datasets import SOURCES, Published
from dualgap.problems.kernels import KERNELS
from dualgap.problems.losses import LOSSES
from dualgap.solvers import SOLVERS


def classes(kind: str) -> Mapping[str, Any]:
    """Return the classes of a kind (solvers, problems, losses, kernels, datasets) by name, in order."""
    if kind == "datasets":
        return {name: SOURCES.get(name, Published) for name in datasets.names()}
    registries = {"solvers": SOLVERS, "problems": FORMULATIONS, "losses": LOSSES}
    return (registries | {"kernels": KERNELS})[kind]


def about(name: str, cls: Any) -> str:
    """Return the description of a data set, or the first paragraph of another class's docstring."""
    if issubclass(cls, datasets.Loadable):
        return datasets.describe(name).removeprefix(f"{name}: ")
    return inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")
