"""Plain descriptions of problems and solvers, and the objects built from them.

A description contains only numbers, text, lists and dicts: it is hashed into a `run_id`, written to the
manifest, and sent to the worker, which builds the objects from it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from dualgap.experiments.files.document import Loc
from dualgap.experiments.records.names import SolverEntry, labels_and_series
from dualgap.problems import FORMULATIONS, Dataset, Kernel, Problem, datasets
from dualgap.problems.datasets import DataInBlocks, WholeProblem
from dualgap.problems.kernels import KERNELS
from dualgap.problems.losses import LOSSES, Loss
from dualgap.problems.registry import Registry, find_path, is_user_class
from dualgap.solvers import SOLVERS, Solver

Spec = dict[str, Any]  # {"name": ..., setting: value}
Loaded = Dataset | DataInBlocks | WholeProblem
# settings that trade time for accuracy and may be `auto`, with the start of their search
SEARCHED: dict[str, float] = {"tol": 1.0, "gap": 0.1, "epochs": 1}


@dataclass(frozen=True)
class ProblemSpec:
    """One problem: formulation, data set, and the formulation's parameters (kernel, C, ...).

    Attributes
    ----------
    path : the parameter to follow, `low`, `high` and `gap`; empty for a single problem. `parameters`
        does not contain the parameter of a path.
    """

    formulation: str
    dataset: Spec
    parameters: Spec
    path: Spec = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class SolverSpec:
    """One solver: its name as in the file, and all of its settings.

    Attributes
    ----------
    seeded : whether its setting `seed` is set by the experiment's seed, not by the file.
    searched : the setting that is `auto` in the file, empty if none is; see `cases.search`.
    label : its name in tables and figures, empty for the name itself; not part of the comparison of
        descriptions.
    slurm : resources that its jobs request, see `files.models.Slurm`; not part of the comparison either.
    """

    name: str
    settings: Spec
    seeded: bool = False
    searched: str = ""
    label: str = field(default="", repr=False)
    slurm: Spec = field(default_factory=dict[str, Any], repr=False)

    @property
    def fixed_settings(self) -> Spec:
        """The settings except for the seed and the one that is searched."""
        return {k: v for k, v in self.settings.items() if k not in ("seed", self.searched)}


def named_solvers(specs: Sequence[SolverSpec]) -> list[tuple[str, str]]:
    """Return the label and the series of each solver, see `records.names`."""
    entries = [SolverEntry(spec.name, spec.fixed_settings, spec.label) for spec in specs]
    seeds = Counter(map(repr, entries))  # entries that differ only in their seed
    return labels_and_series([entry._replace(seeds=seeds[repr(entry)]) for entry in entries])


def values_of(instance: Any, leave_out: tuple[str, ...] = ()) -> Spec:
    """Return the fields of a frozen dataclass by name, with kernels and paths as plain values."""
    names = [f.name for f in fields(instance) if f.name not in leave_out]
    return {name: plain(getattr(instance, name)) for name in names}


def plain(value: Any) -> Any:
    """Convert a setting to numbers, text, lists and dicts."""
    if isinstance(value, (Kernel, Loss)):
        return {"name": value.name} | values_of(value)
    if isinstance(value, tuple):
        return [plain(item) for item in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, Path) else value


def build_kernel(spec: Spec, folder: str = "") -> Kernel:
    """Return the kernel of a description; `folder` is the experiment file's."""
    return _build(KERNELS, spec, folder)


def _build(registry: Registry[Any], spec: Spec, folder: str) -> Any:
    settings = {
        key: build_kernel(value, folder) if isinstance(value, dict) else value
        for key, value in spec.items()
        if key != "name"
    }
    return registry.find(spec["name"], folder)(**settings)


def build_source(spec: Spec, folder: str) -> datasets.Loadable:
    """Return the data source of a description; `folder` is the experiment file's."""
    settings = {key: value for key, value in spec.items() if key != "name"}
    if "path" in settings:
        settings["path"] = str(find_path(settings["path"], folder))
    return datasets.make(spec["name"], folder, **settings)


def build_problem(spec: ProblemSpec, data: Loaded, folder: str = "") -> Problem:
    """Return the formulation on these samples; for a path, at its upper end.

    `folder` is the experiment file's.
    """
    parameters = dict(spec.parameters)
    if spec.path:
        parameters[spec.path["parameter"]] = spec.path["high"]
    if "kernel" in parameters:
        parameters["kernel"] = build_kernel(parameters["kernel"], folder)
    if "loss" in parameters:
        parameters["loss"] = _build(LOSSES, parameters["loss"], folder)
    cls: Any = FORMULATIONS.find(spec.formulation, folder)
    problem = cls.from_data(data.X, data.y, **parameters)
    if isinstance(data, Dataset):
        vars(problem)["names"] = data.names
    return problem


def build_solver(spec: SolverSpec, folder: str, seed: int | None) -> Solver:
    """Return the solver, with the experiment's seed if the file does not set one."""
    settings = spec.settings | ({"seed": seed} if spec.seeded else {})
    if "folder" in settings:
        settings["folder"] = str(find_path(str(settings["folder"]), folder))
    return SOLVERS.find(spec.name, folder)(**settings)


def iter_texts(value: Any, loc: Loc = ()) -> Iterator[tuple[Loc, str]]:
    """Yield each text in a plain value, at any depth, after the keys and indices that lead to it."""
    if isinstance(value, str):
        yield loc, value
    elif isinstance(value, dict):
        for key, child in cast("dict[str, Any]", value).items():
            yield from iter_texts(child, (*loc, key))
    elif isinstance(value, list):
        for k, child in enumerate(cast("list[Any]", value)):
            yield from iter_texts(child, (*loc, k))


def user_class_names(value: Any) -> set[str]:
    """Return every `path/to/file.py:ClassName` in a plain value, at any depth."""
    return {text for _, text in iter_texts(value) if is_user_class(text)}


def user_class_file(name: str, folder: str) -> Path:
    """Return the file of `path/to/file.py:ClassName`; ValueError as `find_path`."""
    return find_path(name.rpartition(":")[0], folder)
