"""One entry of an experiment file, its grid expanded: from a node to a checked description.

A class of the toolkit is built here once, so that its own checks are made before anything runs. A class
from outside may do anything when its file is imported, so that is done in a process of its own; a file
that cannot be imported is left to fail in its own runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from experiments.files.settings import Option, build, name_and_settings, option_of, options_of
from experiments.files.specs import (
    ProblemSpec,
    SolverSpec,
    build_source,
    outside_names,
    plain,
    values_of,
)
from experiments.files.yamlfile import Fault, Node, unknown
from experiments.workers.supervision import Worker
from problems import FORMULATIONS, Kernel, datasets
from problems.kernels import KERNELS
from problems.losses import LOSSES, Loss
from problems.registry import Registry, find_path, is_outside
from solvers import SOLVERS

T = TypeVar("T", ProblemSpec, SolverSpec)

_IMPORT_LIMIT = 30.0  # seconds
_LATER_OPTIONS = {"multiclass": False, "folds": None, "fold": None}


def problem_spec(node: Node, folder: str) -> ProblemSpec:
    """Return the description of one problem; `folder` is the experiment file's.

    Raises
    ------
    Fault
        At the line of what is not accepted.
    """
    if not isinstance(node.value, dict):
        raise Fault(node.line, f"a problem must be a mapping, got {node.plain!r}")
    for key in ("formulation", "dataset"):
        if key not in node.value:
            raise Fault(node.line, f"a problem needs the key {key!r}")
    chosen: Node = node.value["formulation"]
    formulation: str = chosen.plain
    cls = _class(FORMULATIONS, chosen, folder)
    parameters, takes_targets = _parameters(cls, formulation, node, folder)
    dataset, task = _dataset(node.value["dataset"], folder)
    if task == "regression" and not takes_targets:
        raise Fault(
            chosen.line,
            f"{formulation} needs labels, but {dataset['name']} is a regression data set; "
            "use svr_dual, svr_primal or regularized_erm with the squared loss, or a "
            "classification data set",
        )
    return ProblemSpec(formulation, dataset, parameters)


def _class(registry: Registry[Any], name: Node, folder: str) -> type[Any]:
    """Return the class of a name, from the toolkit or from a file."""
    if not isinstance(name.value, str) or not (is_outside(name.value) or name.value in registry):
        raise Fault(name.line, unknown(registry.kind, name.plain, registry))
    try:
        return registry.find(name.value, folder)
    except ValueError as error:
        if not str(error).startswith(f"{registry.kind} "):
            raise  # the file's own, while it was imported
        raise Fault(name.line, str(error)) from None


def _parameters(
    cls: type[Any], formulation: str, node: Node, folder: str
) -> tuple[dict[str, Any], bool]:
    """Check a formulation's parameters by building it on two samples; tell if it takes targets.

    Of a kernel only its settings: whether samples suit it is for the data to tell.
    """
    options = {k: v for k, v in options_of(cls).items() if k not in ("X", "y")}
    if "C" in options:  # one C for each sample cannot be told before the data are there
        options["C"] = Option(float, options["C"].required)
    given = {k: v for k, v in node.value.items() if k not in ("formulation", "dataset")}
    chosen = dict[str, Any]()
    if "kernel" in options and "kernel" in given:
        chosen["kernel"] = plain(kernel(given.pop("kernel"), folder))
    samples = cls.example_samples({key: value.value for key, value in given.items()})
    make, rest = partial(cls, *samples), Node(given, node.line)
    problem = build(
        make,
        options,
        rest,
        formulation,
        {"loss": partial(loss, folder=folder)} if "loss" in options else None,
    )
    return values_of(problem, leave_out=("X", "y")) | chosen, problem.is_regression


def kernel(node: Node, folder: str) -> Kernel:
    """Return the kernel of a node; `left`, `right` and `kernel` inside it are kernels again."""
    inside = partial(kernel, folder=folder)
    nested: dict[str, Callable[[Node], Any]] = dict.fromkeys(("left", "right", "kernel"), inside)
    return _named(KERNELS, node, folder, nested)


def loss(node: Node, folder: str) -> Loss:
    """Return the loss of a node: a name, or a mapping with a name and settings."""
    return _named(LOSSES, node, folder, None)


def _named(
    registry: Registry[Any],
    node: Node,
    folder: str,
    nested: dict[str, Callable[[Node], Any]] | None,
) -> Any:
    """Return what a name, with settings or without, stands for; it is described by that name."""
    name, settings = name_and_settings(node, registry.kind)
    cls = _class(registry, name, folder)
    built = build(cls, options_of(cls), settings, name.value, nested)
    if is_outside(name.value):
        object.__setattr__(built, "name", name.value)
    return built


def _dataset(node: Node, folder: str) -> tuple[dict[str, Any], str]:
    """Return the description of a data set, and its task."""
    name, settings = name_and_settings(node, "dataset")
    if name.value not in datasets.names():
        if not is_outside(name.value):
            raise Fault(name.line, unknown("data set", name.value, datasets.names()))
        _class(datasets.SOURCES, name, folder)
    options = {k: option_of(f, f.type) for k, f in datasets.fields(name.value, folder).items()}
    source = build(partial(datasets.make, name.value, folder), options, settings, name.value)
    values = {k: v for k, v in values_of(source).items() if k in options}
    for option, usual in _LATER_OPTIONS.items():  # ids are the same as before there was a choice
        if values.get(option) == usual:
            values.pop(option, None)
    spec = {"name": name.value} | values
    try:
        build_source(spec, folder).check()
    except (OSError, ValueError) as error:
        line = settings.value.get("path", name).line
        raise Fault(line, f"{name.value}: {error}") from None
    return spec, str(source.task)


def solver_spec(node: Node, folder: str) -> SolverSpec:
    """Return the description of one solver, from this toolkit or from a file."""
    name, settings = name_and_settings(node, "solver")
    cls = _class(SOLVERS, name, folder)
    solver = build(cls, options_of(cls), settings, name.value)
    values = values_of(solver)
    return SolverSpec(name.value, values, "seed" in values and "seed" not in settings.value)


class OutsideClasses:
    """Describes problems and solvers; classes from files in a process of its own.

    That is started when it is first needed.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.worker = Worker(threads=1)
        self.unimportable: set[str] = set()

    def __enter__(self) -> OutsideClasses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.worker.stop()

    def problem_spec(self, node: Node) -> ProblemSpec:
        """Return the description of one problem; Fault at the line of what is not accepted."""
        return self._described(problem_spec, node, node.plain, node.line, _problem_as_written)

    def solver_spec(self, node: Node) -> SolverSpec:
        """Return the description of one solver; Fault at the line of what is not accepted."""
        name, settings = name_and_settings(node, "solver")
        as_written = SolverSpec(name.value, settings.plain)
        return self._described(solver_spec, node, name.value, name.line, lambda _: as_written)

    def _described(
        self,
        describe: Callable[[Node, str], T],
        node: Node,
        text: Any,
        line: int,
        as_written: Callable[[Any], T],
    ) -> T:
        names = outside_names(text)
        for name in names:
            self._check_file(name, line)
        if not names:
            return describe(node, self.folder)
        if names & self.unimportable:
            return as_written(text)
        try:
            self.worker.call(describe, node, self.folder)
            return self.worker.finish(_IMPORT_LIMIT)
        except (Fault, KeyboardInterrupt):
            raise
        except BaseException:  # whatever importing it does; its runs will tell
            self.unimportable |= names
            return as_written(text)

    def _check_file(self, name: str, line: int) -> None:
        try:
            file = find_path(name.rpartition(":")[0], self.folder)
        except ValueError as error:
            raise Fault(line, str(error)) from None
        if not file.is_file():
            raise Fault(line, f"{name}: there is no file {file}")


def _problem_as_written(text: dict[str, Any]) -> ProblemSpec:
    """Return the description of a problem whose file cannot be imported: it fails in its own runs."""
    named = ("dataset", "kernel", "loss")
    given: dict[str, Any] = {
        k: {"name": v} if k in named and isinstance(v, str) else v for k, v in text.items()
    }
    return ProblemSpec(given.pop("formulation"), given.pop("dataset"), given)
