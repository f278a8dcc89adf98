"""One entry of an experiment file, its grid expanded: from a node to a checked description.

A class of the toolkit is built here once, so that its own checks are made before anything runs. A class
from outside may do anything when its file is imported, so that is done in a process of its own; a file
that cannot be imported is left to fail in its own runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

from experiments.files.settings import Option, build, name_and_settings, option_of, options_of
from experiments.files.specs import (
    KERNELS,
    ProblemSpec,
    SolverSpec,
    build_source,
    find_path,
    is_outside,
    plain,
    solver_class,
    values_of,
)
from experiments.files.yamlfile import Fault, Node, unknown
from experiments.workers.supervision import Worker
from problems import FORMULATIONS, Kernel, datasets
from problems.losses import LOSSES, Loss
from solvers import all_solvers

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
    if not isinstance(chosen.value, str) or chosen.value not in FORMULATIONS:
        raise Fault(chosen.line, unknown("formulation", chosen.plain, FORMULATIONS))
    formulation: str = chosen.value
    parameters, takes_targets = _parameters(formulation, node)
    dataset, task = _dataset(node.value["dataset"], folder)
    if task == "regression" and not takes_targets:
        raise Fault(
            chosen.line,
            f"{formulation} needs labels, but {dataset['name']} is a regression data set; "
            "use svr_dual, svr_primal or regularized_erm with the squared loss, or a "
            "classification data set",
        )
    return ProblemSpec(formulation, dataset, parameters)


def _parameters(formulation: str, node: Node) -> tuple[dict[str, Any], bool]:
    """Check a formulation's parameters by building it on two samples; tell if it takes targets.

    Of a kernel only its settings: whether samples suit it is for the data to tell.
    """
    cls = FORMULATIONS[formulation]
    options = {k: v for k, v in options_of(cls).items() if k not in ("X", "y")}
    if "C" in options:  # one C for each sample cannot be told before the data are there
        options["C"] = Option(float, options["C"].required)
    given = {k: v for k, v in node.value.items() if k not in ("formulation", "dataset")}
    chosen = dict[str, Any]()
    if "kernel" in options and "kernel" in given:
        chosen["kernel"] = plain(kernel(given.pop("kernel")))
    samples = cls.example_samples({key: value.value for key, value in given.items()})
    make, rest = partial(cls, *samples), Node(given, node.line)
    problem = build(make, options, rest, formulation, {"loss": loss} if "loss" in options else None)
    return values_of(problem, leave_out=("X", "y")) | chosen, problem.is_regression


def kernel(node: Node) -> Kernel:
    """Return the kernel of a node; `left`, `right` and `kernel` inside it are kernels again."""
    name, settings = name_and_settings(node, "kernel")
    if name.value not in KERNELS:
        raise Fault(name.line, unknown("kernel", name.value, KERNELS))
    cls = KERNELS[name.value]
    nested: dict[str, Callable[[Node], Any]] = dict.fromkeys(("left", "right", "kernel"), kernel)
    return build(cls, options_of(cls), settings, name.value, nested)


def loss(node: Node) -> Loss:
    """Return the loss of a node: a name, or a mapping with a name and settings."""
    name, settings = name_and_settings(node, "loss")
    if name.value not in LOSSES:
        raise Fault(name.line, unknown("loss", name.value, LOSSES))
    cls = LOSSES[name.value]
    return build(cls, options_of(cls), settings, name.value)


def _dataset(node: Node, folder: str) -> tuple[dict[str, Any], str]:
    """Return the description of a data set, and its task."""
    name, settings = name_and_settings(node, "dataset")
    if name.value not in datasets.names():
        raise Fault(name.line, unknown("data set", name.value, datasets.names()))
    options = {k: option_of(f, f.type) for k, f in datasets.fields(name.value).items()}
    source = build(partial(datasets.make, name.value), options, settings, name.value)
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
    try:
        cls = solver_class(name.value, folder)
    except ValueError as error:
        if not str(error).startswith("solver "):
            raise  # the file's own, while it was imported
        raise Fault(name.line, str(error)) from None
    solver = build(cls, options_of(cls), settings, name.value)
    values = values_of(solver)
    return SolverSpec(name.value, values, "seed" in values and "seed" not in settings.value)


class OutsideSolvers:
    """Describes solvers; those from files in a process of its own, started when first needed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.worker = Worker(threads=1)
        self.unimportable: set[str] = set()

    def __enter__(self) -> OutsideSolvers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.worker.stop()

    def solver_spec(self, node: Node) -> SolverSpec:
        """Return the description of one solver.

        Raises
        ------
        Fault
            At the line of what is not accepted.
        """
        name, settings = name_and_settings(node, "solver")
        if not is_outside(name.value):
            if name.value not in all_solvers():
                raise Fault(name.line, unknown("solver", name.value, all_solvers()))
            return solver_spec(node, self.folder)
        try:
            file = find_path(name.value.rpartition(":")[0], self.folder)
        except ValueError as error:
            raise Fault(name.line, f"solver: {error}") from None
        if not file.is_file():
            raise Fault(name.line, f"solver {name.value}: there is no file {file}")
        if name.value in self.unimportable:
            return SolverSpec(name.value, settings.plain)
        try:
            self.worker.call(solver_spec, node, self.folder)
            return self.worker.finish(_IMPORT_LIMIT)
        except (Fault, KeyboardInterrupt):
            raise
        except BaseException:  # whatever importing it does; its runs will tell
            self.unimportable.add(name.value)
            return SolverSpec(name.value, settings.plain)
