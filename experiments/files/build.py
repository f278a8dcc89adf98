"""Checked descriptions of single problems and solvers, from expanded entries of an experiment file.

Each class of the toolkit is instantiated here once, so that its checks are made before anything runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from dualgap.experiments.files.document import Fault, relocated
from dualgap.experiments.files.models import FOLLOWED, PathSettings, resources
from dualgap.experiments.files.settings import build, name_and_settings, options_of
from dualgap.experiments.files.specs import (
    SEARCHED,
    ProblemSpec,
    SolverSpec,
    build_source,
    plain,
    user_class_names,
    values_of,
)
from dualgap.problems import FORMULATIONS, Problem, datasets
from dualgap.problems.datasets import ENTRIES, SOURCES
from dualgap.problems.kernels import KERNELS
from dualgap.problems.losses import LOSSES
from dualgap.problems.registry import Registry, find_path, is_user_class, unknown
from dualgap.solvers import SOLVERS
from dualgap.solvers.paths.interval import Ends, validate_interval

if TYPE_CHECKING:
    from dualgap.experiments.files.user_classes import Importer

S = TypeVar("S", ProblemSpec, SolverSpec)


class Describer:
    """Describes entries; those with user-defined classes in a separate process.

    Use it within `contextlib.closing`.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._importer: Importer | None = None

    def close(self) -> None:
        """End the process, if there is one."""
        if self._importer is not None:
            self._importer.close()

    def problem(self, entry: Any) -> ProblemSpec:
        """Return the description of one problem; raise Fault at the value that is not accepted."""
        return self._describe(_problem, entry)

    def solver(self, entry: Any) -> SolverSpec:
        """Return the description of one solver; raise Fault at the value that is not accepted."""
        return self._describe(_solver, entry)

    def _describe(self, describe: Callable[[Any, str, bool], S], entry: Any) -> S:
        if not user_class_names(entry):
            return describe(entry, self.folder, True)
        if self._importer is None:
            from dualgap.experiments.files.user_classes import Importer  # noqa: PLC0415 - starts a process

            self._importer = Importer(self.folder)
        return self._importer.describe(describe, entry)


def _problem(entry: Any, folder: str, importable: bool) -> ProblemSpec:
    if not isinstance(entry, dict):
        raise Fault(f"a problem must be a mapping, got {entry!r}")
    settings: dict[str, Any] = {**entry}
    for key in ("formulation", "dataset"):
        if key not in settings:
            keys = ", ".join(settings) or "none"
            raise Fault(f"a problem needs the key {key!r}; its keys are: {keys}")
    if not importable:
        for key in ("dataset", "kernel", "loss"):
            if isinstance(settings.get(key), str):
                settings[key] = {"name": settings[key]}
        return ProblemSpec(settings.pop("formulation"), settings.pop("dataset"), settings)
    formulation, data = settings.pop("formulation"), settings.pop("dataset")
    interval, upper = _at_upper_end(settings)
    with relocated({(key,): ("path", key) for key in upper.keys() - settings.keys()}):
        parameters, example = _parameters(formulation, upper, folder)
    path = _path_spec(example, interval)
    parameters.pop(path.get("parameter", ""), None)
    needs_signs = example.task is not None and "classes" not in example.task.takes
    with relocated({(): ("dataset",)}):
        dataset, task = _dataset(json.dumps(data), folder, needs_signs)
    fault = ""
    if (task == "program") == (example.task is not None):
        content = "samples" if example.task is None else "whole problems"
        fault = (
            f"cannot use {dataset['name']}, which contains {content}; use convex_qp with "
            "quadratic_program, maros_meszaros or published_qp, and all other formulations with samples"
        )
    elif dataset.get("multiclass") and needs_signs:
        fault = (
            f"needs two classes, but {dataset['name']} keeps all of its classes; set positive: <the "
            "class that becomes +1> instead of multiclass: true, or use one_vs_rest, one_vs_one or "
            "softmax_erm"
        )
    elif task == "regression" and example.task and "targets" not in example.task.takes:
        fault = (
            f"needs labels, but {dataset['name']} is a regression data set; use svr_dual, svr_primal "
            "or regularized_erm with the squared loss, or a classification data set"
        )
    if fault:
        raise Fault(f"{formulation} {fault}", "formulation")
    return ProblemSpec(formulation, dataset, parameters, path)


def _at_upper_end(settings: dict[str, Any]) -> tuple[PathSettings | None, dict[str, Any]]:
    """Return the path of a problem, if it has one, and the parameters at the path's upper end."""
    parameters = {key: value for key, value in settings.items() if key != "path"}
    if (path := settings.get("path")) is None:
        return None, parameters
    with relocated({(): ("path",)}):
        if not isinstance(path, dict):
            raise Fault(f"path: must be a mapping such as {{C: [0.01, 100]}}, got {path!r}")
        interval = build(PathSettings, options_of(PathSettings), path, "path")
    for name in FOLLOWED:
        if (ends := getattr(interval, name)) is None:
            continue
        if name in parameters:
            raise Fault(f"{name}: is set by the path; remove it here", name)
        parameters[name] = ends[1]
    return interval, parameters


def _path_spec(problem: Problem, interval: PathSettings | None) -> dict[str, Any]:
    """Return the plain description of a path, empty without one; raise Fault if it is invalid."""
    if interval is None:
        return {}
    ends: dict[Any, Ends | None] = {name: getattr(interval, name) for name in FOLLOWED}
    try:
        parameter, low, high = validate_interval(problem, ends, interval.gap)
    except ValueError as error:
        raise Fault(f"path: {error}", "path") from None
    return {"parameter": parameter, "low": low, "high": high, "gap": interval.gap}


def _class(registry: Registry[Any], name: Any, folder: str, *loc: str) -> Any:
    """Return the class of a name, from the toolkit or from a file; raise Fault if there is none."""
    try:
        return registry.find(name, folder)
    except ValueError as error:
        kind = registry.kind
        if not str(error).startswith((f"{kind} ", f"{kind}: ", f"unknown {kind} ")):
            raise  # raised by the file during its import
        raise Fault(str(error), *loc) from None


def _parameters(
    formulation: Any, settings: dict[str, Any], folder: str
) -> tuple[dict[str, Any], Problem]:
    """Check a formulation's parameters by building it on a few samples; also return the instance.

    Only the settings of a kernel are checked: whether it accepts the samples depends on the data.
    """
    cls = _class(FORMULATIONS, formulation, folder, "formulation")
    options = dict(options_of(cls))
    if "C" in options:  # an array with one C per sample depends on the data
        options["C"] = options["C"]._replace(type=float)
    parameters = dict[str, Any]()
    if "kernel" in options and "kernel" in settings:
        with relocated({(): ("kernel",)}):
            parameters["kernel"] = plain(_build(KERNELS, settings["kernel"], folder))
        settings = {key: value for key, value in settings.items() if key != "kernel"}
    samples = cls.example_data(settings)
    convert = {"loss": partial(_build, LOSSES, folder=folder)} if "loss" in options else {}
    problem = build(partial(cls.from_data, *samples), options, settings, formulation, convert)
    return values_of(problem, leave_out=cls.data_fields) | parameters, problem


def _build(registry: Registry[Any], value: Any, folder: str) -> Any:
    """Return a kernel or loss; its settings `left`, `right` and `kernel` are kernels."""
    name, settings = name_and_settings(value, registry.kind)
    cls = _class(registry, name, folder, "name")
    nested: dict[str, Callable[[Any], Any]] = dict.fromkeys(
        ("left", "right", "kernel"), partial(_build, KERNELS, folder=folder)
    )
    instance = build(cls, options_of(cls), settings, name, nested)
    if is_user_class(name):  # its description needs the name in the file
        object.__setattr__(instance, "name", name)
    return instance


@lru_cache(maxsize=1000)
def _dataset(entry: str, folder: str, needs_signs: bool) -> tuple[dict[str, Any], str]:
    """Return the description of a data set, from its entry as JSON, and its task.

    With `needs_signs` a file must have two labels, also if its task is "auto".
    """
    name, settings = name_and_settings(json.loads(entry), "dataset")
    if not is_user_class(name) and name not in datasets.names():
        raise Fault(unknown("data set", name, datasets.names()), "name")
    cls: Any = datasets.Published if name in ENTRIES else _class(SOURCES, name, folder, "name")
    options = options_of(cls)
    source = build(partial(datasets.make, name, folder), options, settings, name)
    values = {k: v for k, v in values_of(source).items() if k in options}
    spec = {"name": name} | values
    file = find_path(values["path"], folder) if "path" in values else None
    changed = file.stat().st_mtime_ns if file is not None and file.exists() else 0
    signs = {"task": "classification"} if needs_signs and values.get("task") == "auto" else {}
    if fault := _unusable(json.dumps(spec | signs), folder, changed):
        raise Fault(f"{name}: {fault}", "path" if "path" in settings else "name")
    return spec, str(source.task)


@lru_cache(maxsize=1000)
def _unusable(spec: str, folder: str, _changed: int) -> str:
    """Return why the data of a description are unusable, or ""; cached for all cases of a grid."""
    try:
        build_source(json.loads(spec), folder).check()
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _solver(entry: Any, folder: str, importable: bool) -> SolverSpec:
    name, settings = name_and_settings(entry, "solver")
    label = settings.pop("label", "")
    with relocated({(): ("slurm",)}):
        slurm = resources(settings.pop("slurm", {}))
    searched = next((key for key in SEARCHED if settings.get(key) == "auto"), "")
    if searched:  # a search begins at the loosest value
        settings[searched] = SEARCHED[searched]
    if not importable:
        return SolverSpec(name, settings, False, searched, label, slurm)
    cls = _class(SOLVERS, name, folder, "name")
    values = values_of(build(cls, options_of(cls), settings, name))
    seeded = "seed" in values and "seed" not in settings
    return SolverSpec(name, values, seeded, searched, label, slurm)
