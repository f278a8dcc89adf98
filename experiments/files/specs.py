"""Plain descriptions of problems and solvers, and the objects they describe.

A description holds numbers, text, lists and dicts only: it is hashed into a `run_id`, written to the
manifest, and sent to the worker, which builds the objects from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from problems import FORMULATIONS, Dataset, Formulation, Kernel, datasets
from problems.kernels import KERNELS
from problems.losses import LOSSES, Loss
from solvers import Solver, find_solver

Spec = dict[str, Any]  # {"name": ..., setting: value}


@dataclass(frozen=True)
class ProblemSpec:
    """One problem: formulation, data set, and the formulation's parameters (kernel, C, ...)."""

    formulation: str
    dataset: Spec
    parameters: Spec


@dataclass(frozen=True)
class SolverSpec:
    """One solver: its name as the file has it, and all of its settings.

    Attributes
    ----------
    seeded : whether it has a setting `seed` that the file leaves to the experiment's own.
    """

    name: str
    settings: Spec
    seeded: bool = False


def values_of(instance: Any, leave_out: tuple[str, ...] = ()) -> Spec:
    """Return every field of a frozen dataclass, with kernels and paths as plain values."""
    chosen = [f.name for f in fields(instance) if f.name not in leave_out]
    return {key: plain(getattr(instance, key)) for key in chosen}


def plain(value: Any) -> Any:
    """Return a setting as numbers, text, lists and dicts."""
    if isinstance(value, (Kernel, Loss)):
        return {"name": value.name} | values_of(value)
    if isinstance(value, tuple):
        return [plain(item) for item in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, Path) else value


def build_kernel(spec: Spec) -> Kernel:
    """Return the kernel of a description."""
    settings = {
        k: build_kernel(v) if isinstance(v, dict) else v for k, v in _settings(spec).items()
    }
    return KERNELS[spec["name"]](**settings)


def build_loss(spec: Spec) -> Loss:
    """Return the loss of a description."""
    return LOSSES[spec["name"]](**_settings(spec))


def build_source(spec: Spec, folder: str) -> datasets.Source:
    """Return the data source of a description; `folder` is the experiment file's."""
    settings = _settings(spec)
    if "path" in settings:
        settings["path"] = str(find_path(settings["path"], folder))
    return datasets.make(spec["name"], **settings)


def build_problem(spec: ProblemSpec, data: Dataset) -> Formulation:
    """Return the formulation on these samples."""
    parameters = dict(spec.parameters)
    if "kernel" in parameters:
        parameters["kernel"] = build_kernel(parameters["kernel"])
    if "loss" in parameters:
        parameters["loss"] = build_loss(parameters["loss"])
    make = cast("Callable[..., Formulation]", FORMULATIONS[spec.formulation])
    return make(data.X, data.y, **parameters)


def build_solver(spec: SolverSpec, folder: str, seed: int | None) -> Solver:
    """Return the solver, with the experiment's seed where the file leaves it open."""
    settings = spec.settings | ({"seed": seed} if spec.seeded else {})
    return solver_class(spec.name, folder)(**settings)


def solver_class(name: str, folder: str) -> type[Solver]:
    """Return the class for a solver's name, or for `path/to/file.py:ClassName`."""
    return find_solver(name if not is_outside(name) else outside_path(name, folder))


def is_outside(name: str) -> bool:
    """Whether a solver's name is `path/to/file.py:ClassName`."""
    path, colon, _ = name.rpartition(":")
    return bool(colon) and path.endswith(".py")


def outside_path(name: str, folder: str) -> str:
    """Return `path/to/file.py:ClassName` with the path made absolute."""
    path, _, class_name = name.rpartition(":")
    return f"{find_path(path, folder)}:{class_name}"


def find_path(path: str, folder: str) -> Path:
    """Return a path, relative ones from the experiment file's folder, else from the current one.

    Raises
    ------
    ValueError
        If no file can have such a path: it is too long, or names a user who does not exist.
    """
    try:
        given = Path(path).expanduser()
        beside = Path(folder) / given
        return beside if beside.exists() else given.absolute()
    except (OSError, RuntimeError) as error:
        raise ValueError(f"path: {error}") from None


def kernel_text(spec: Spec | None) -> str:
    """Return a kernel as text, such as `rbf(gamma=0.01)`; a missing kernel is linear."""
    return "linear" if spec is None else _call(spec["name"], _settings(spec))


def settings_text(name: str, settings: Mapping[str, Any]) -> str:
    """Return `name(setting=value, ...)`."""
    return _call(name, settings)


def _call(name: str, settings: Mapping[str, Any]) -> str:
    inside = ", ".join(f"{key}={_value_text(value)}" for key, value in settings.items())
    return f"{name}({inside})" if inside else name


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return kernel_text(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _settings(spec: Spec) -> Spec:
    return {key: value for key, value in spec.items() if key != "name"}
