"""Every name that may stand in an experiment file, for `dualgap list` and the schema."""

import inspect
from collections.abc import Mapping
from typing import Any

from dualgap.problems import FORMULATIONS, datasets
from dualgap.problems.datasets import SOURCES, Published
from dualgap.problems.kernels import KERNELS
from dualgap.problems.losses import LOSSES
from dualgap.solvers import SOLVERS


def classes(kind: str) -> Mapping[str, Any]:
    """Return every solver, problem, loss, kernel or data set, whichever `kind` names, in order."""
    if kind == "datasets":
        return {name: SOURCES.get(name, Published) for name in datasets.names()}
    registries = {"solvers": SOLVERS, "problems": FORMULATIONS, "losses": LOSSES}
    return (registries | {"kernels": KERNELS})[kind]


def about(name: str, cls: Any) -> str:
    """Return what a data set is, and of any other class what its docstring begins with."""
    if issubclass(cls, datasets.Loadable):
        return datasets.describe(name).removeprefix(f"{name}: ")
    return inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")
