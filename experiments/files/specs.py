"""Plain descriptions of problems and solvers, and the objects they describe.

A description holds numbers, text, lists and dicts only: it is hashed into a `run_id`, written to the
manifest, and sent to the worker, which builds the objects from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from problems import FORMULATIONS, Dataset, Formulation, Kernel, datasets
from problems.kernels import KERNELS
from problems.losses import LOSSES, Loss
from problems.registry import is_outside
from solvers import SOLVERS, Solver

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


def values_of(
    instance: Any, leave_out: tuple[str, ...] = (), written: Mapping[type, str] | None = None
) -> Spec:
    """Return every field of a frozen dataclass as a plain value; see `plain`."""
    chosen = [f.name for f in fields(instance) if f.name not in leave_out]
    return {key: plain(getattr(instance, key), written) for key in chosen}


def plain(value: Any, written: Mapping[type, str] | None = None) -> Any:
    """Return a setting as numbers, text, lists and dicts.

    Parameters
    ----------
    written : names of kernels and losses from outside, as the experiment file writes them.
    """
    if isinstance(value, (Kernel, Loss)):
        name = (written or {}).get(type(value), value.name)
        return {"name": name} | values_of(value, written=written)
    if isinstance(value, tuple):
        return [plain(item, written) for item in cast("tuple[Any, ...]", value)]
    return str(value) if isinstance(value, Path) else value


def build_kernel(spec: Spec, folder: str = "") -> Kernel:
    """Return the kernel of a description; `folder` is the experiment file's."""
    settings = {
        key: build_kernel(value, folder) if isinstance(value, dict) else value
        for key, value in _settings(spec).items()
    }
    return KERNELS.find(spec["name"], folder)(**settings)


def build_source(spec: Spec, folder: str) -> datasets.Source:
    """Return the data source of a description; `folder` is the experiment file's."""
    settings = _settings(spec)
    if "path" in settings:
        settings["path"] = str(find_path(settings["path"], folder))
    return datasets.make(spec["name"], folder, **settings)


def build_problem(spec: ProblemSpec, data: Dataset, folder: str = "") -> Formulation:
    """Return the formulation on these samples; `folder` is the experiment file's."""
    parameters = dict(spec.parameters)
    if "kernel" in parameters:
        parameters["kernel"] = build_kernel(parameters["kernel"], folder)
    if "loss" in parameters:
        loss = parameters["loss"]
        parameters["loss"] = LOSSES.find(loss["name"], folder)(**_settings(loss))
    make = cast("Callable[..., Formulation]", FORMULATIONS.find(spec.formulation, folder))
    return make(data.X, data.y, **parameters)


def build_solver(spec: SolverSpec, folder: str, seed: int | None) -> Solver:
    """Return the solver, with the experiment's seed where the file leaves it open."""
    settings = spec.settings | ({"seed": seed} if spec.seeded else {})
    return SOLVERS.find(spec.name, folder)(**settings)


def outside_names(*values: Any) -> Iterator[str]:
    """Yield every `path/to/file.py:ClassName` among plain values and in them."""
    for value in values:
        if isinstance(value, str) and is_outside(value):
            yield value
        elif isinstance(value, (dict, list)):
            inner = cast("dict[str, Any] | list[Any]", value)
            yield from outside_names(*(inner.values() if isinstance(inner, dict) else inner))


def absolute(spec: Spec, folder: str) -> Spec:
    """Return a description whose names from outside have absolute paths."""
    found = {k: absolute(v, folder) if isinstance(v, dict) else v for k, v in spec.items()}
    if is_outside(spec["name"]):
        class_name = spec["name"].rpartition(":")[2]
        found["name"] = f"{outside_file(spec['name'], folder)}:{class_name}"
    return found


def outside_file(name: str, folder: str) -> Path:
    """Return the file of `path/to/file.py:ClassName`; ValueError as `find_path`."""
    return find_path(name.rpartition(":")[0], folder)


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
