"""Checked descriptions of single problems and solvers, from the nodes of an expanded entry.

Each class of the toolkit is instantiated here once, so that its checks are made before anything runs.
Importing a user's file may do anything, and is therefore done in a separate process; a file that cannot
be imported fails later, in its own runs.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, TypeVar, cast

from dualgap.experiments.files.grid import at_upper_end, path_spec
from dualgap.experiments.files.keys import resources
from dualgap.experiments.files.settings import build, name_and_settings, options_of
from dualgap.experiments.files.specs import (
    SEARCHED,
    ProblemSpec,
    SolverSpec,
    build_source,
    plain,
    user_class_file,
    values_of,
)
from dualgap.experiments.files.yamlfile import Fault, Node
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Layout, Malformed, WorkerError, WorkerExit, pack
from dualgap.problems import FORMULATIONS, Problem, datasets
from dualgap.problems.compilation import separate_compile_cache
from dualgap.problems.datasets import ENTRIES, SOURCES
from dualgap.problems.kernels import KERNELS
from dualgap.problems.losses import LOSSES
from dualgap.problems.registry import Registry, class_names, find_path, is_user_class, unknown
from dualgap.solvers import SOLVERS

S = TypeVar("S", ProblemSpec, SolverSpec)
_DESCRIPTION = Layout[ProblemSpec | SolverSpec | tuple[int, str]](
    ProblemSpec | SolverSpec | tuple[int, str]
)

_IMPORT_TIMEOUT_S = 30.0  # importing and compiling a large package may take several seconds


class Describer:
    """Describes entries; those with user-defined classes in a separate process.

    Use it within `contextlib.closing`.
    """

    def __init__(self, folder: str) -> None:
        self.folder, self.worker = folder, Worker(threads=1)
        self.unimportable, self.imported = set[str](), set[str]()

    def close(self) -> None:
        """End the process."""
        self.worker.stop()

    def problem(self, node: Node) -> ProblemSpec:
        """Return the description of one problem; raise Fault at the line that is not accepted."""
        return self._describe(_problem, node)

    def solver(self, node: Node) -> SolverSpec:
        """Return the description of one solver; raise Fault at the line that is not accepted."""
        return self._describe(_solver, node)

    def _describe(self, describe: Callable[[Node, str, bool], S], node: Node) -> S:
        """Return a description; unchecked, as written in the entry, if a file cannot be imported."""
        outside = dict[str, str]()
        for name in _user_class_nodes(node):
            try:
                file = user_class_file(name.value, self.folder)
                if not file.is_file():
                    raise ValueError(f"there is no file {file}")
                class_names(file)
            except ValueError as error:
                raise Fault(name.line, f"{name.value:.200}: {error}") from None
            outside[name.value] = str(file)
        if not outside:
            return describe(node, self.folder, True)
        if not self.unimportable.isdisjoint(outside):
            return describe(node, self.folder, False)
        if (files := {*outside.values()}) != self.imported:
            self.worker.stop()  # so that no file influences the description of another
        self.imported = files
        self.worker.call(_description, describe, node, self.folder, " ".join(outside))
        try:
            description, _ = _DESCRIPTION.read(self.worker.finish(_IMPORT_TIMEOUT_S))
            if isinstance(description, ProblemSpec):
                _check_names([description.dataset, *description.parameters.values()])
        except (TimeoutError, WorkerExit, WorkerError, Malformed):
            self.unimportable |= outside.keys()  # the runs will record the reason
            return describe(node, self.folder, False)
        if isinstance(description, tuple):
            raise Fault(*description)
        return cast("S", description)


def _description(
    describe: Callable[[Node, str, bool], object], node: Node, folder: str, outside: str
) -> bytes:
    """Return a message with a description, or with the line and text of its fault."""
    with separate_compile_cache(outside):
        try:
            return pack(describe(node, folder, True))
        except Fault as fault:
            return pack((fault.line, fault.text))


def _check_names(values: Iterable[Any]) -> None:
    """Raise Malformed if a data set, kernel or loss, also a nested one, has no name."""
    for value in values:
        if isinstance(value, dict):
            spec = cast("dict[str, Any]", value)
            if not isinstance(spec.get("name"), str):
                raise Malformed("name: must be text")
            _check_names(spec.values())
        elif isinstance(value, list):
            _check_names(cast("list[Any]", value))


def _user_class_nodes(node: Node) -> Iterator[Node]:
    """Yield every `path/to/file.py:ClassName` in a node."""
    if isinstance(node.value, str) and is_user_class(node.value):
        yield node
    elif isinstance(node.value, (dict, list)):
        for child in node.value.values() if isinstance(node.value, dict) else node.value:
            yield from _user_class_nodes(child)


def _problem(node: Node, folder: str, importable: bool) -> ProblemSpec:
    if not isinstance(node.value, dict):
        raise Fault(node.line, f"a problem must be a mapping, got {node.plain!r}")
    for key in ("formulation", "dataset"):
        if key not in node.value:
            keys = ", ".join(node.value) or "none"
            raise Fault(node.line, f"a problem needs the key {key!r}; its keys are: {keys}")
    if not importable:
        settings: dict[str, Any] = node.plain
        for key in ("dataset", "kernel", "loss"):
            if isinstance(settings.get(key), str):
                settings[key] = {"name": settings[key]}
        return ProblemSpec(settings.pop("formulation"), settings.pop("dataset"), settings)
    formulation: Node = node.value["formulation"]
    path_settings, upper = at_upper_end(node)
    parameters, example = _parameters(formulation, upper, folder)
    path = path_spec(example, path_settings, node)
    parameters.pop(path.get("parameter", ""), None)
    needs_signs = example.task is not None and "classes" not in example.task.takes
    dataset, task = _dataset(node.value["dataset"], folder, needs_signs)
    if (task == "program") == (example.task is not None):
        content = "samples" if example.task is None else "whole problems"
        raise Fault(
            formulation.line,
            f"{formulation.value} cannot use {dataset['name']}, which contains {content}; use convex_qp "
            "with quadratic_program or maros_meszaros, and all other formulations with samples",
        )
    if dataset.get("multiclass") and needs_signs:
        raise Fault(
            formulation.line,
            f"{formulation.value} needs two classes, but {dataset['name']} keeps all of its classes; "
            "set positive: <the class that becomes +1> instead of multiclass: true, or use "
            "one_vs_rest, one_vs_one or softmax_erm",
        )
    if task == "regression" and example.task and "targets" not in example.task.takes:
        raise Fault(
            formulation.line,
            f"{formulation.value} needs labels, but {dataset['name']} is a regression data set; "
            "use svr_dual, svr_primal or regularized_erm with the squared loss, or a "
            "classification data set",
        )
    return ProblemSpec(formulation.value, dataset, parameters, path)


def _class(registry: Registry[Any], name: Node, folder: str) -> Any:
    """Return the class of a name, from the toolkit or from a file; raise Fault if there is none."""
    try:
        return registry.find(name.plain, folder)
    except ValueError as error:
        kind = registry.kind
        if not str(error).startswith((f"{kind} ", f"{kind}: ", f"unknown {kind} ")):
            raise  # raised by the file during its import
        raise Fault(name.line, str(error)) from None


def _parameters(formulation: Node, node: Node, folder: str) -> tuple[dict[str, Any], Problem]:
    """Check a formulation's parameters by building it on a few samples; also return the instance.

    Only the settings of a kernel are checked: whether it accepts the samples depends on the data.
    """
    cls = _class(FORMULATIONS, formulation, folder)
    options = dict(options_of(cls))
    if "C" in options:  # an array with one C per sample depends on the data
        options["C"] = options["C"]._replace(type=float)
    settings = {k: v for k, v in node.value.items() if k not in ("formulation", "dataset")}
    parameters = dict[str, Any]()
    if "kernel" in options and "kernel" in settings:
        parameters["kernel"] = plain(_build(KERNELS, settings.pop("kernel"), folder))
    samples = cls.example_data({key: value.value for key, value in settings.items()})
    convert = {"loss": partial(_build, LOSSES, folder=folder)} if "loss" in options else {}
    make, name = partial(cls.from_data, *samples), formulation.value
    problem = build(make, options, Node(settings, node.line), name, convert)
    return values_of(problem, leave_out=cls.data_fields) | parameters, problem


def _build(registry: Registry[Any], node: Node, folder: str) -> Any:
    """Return the kernel or loss of a node; its settings `left`, `right` and `kernel` are kernels."""
    name, settings = name_and_settings(node, registry.kind)
    cls = _class(registry, name, folder)
    nested: dict[str, Callable[[Node], Any]] = dict.fromkeys(
        ("left", "right", "kernel"), partial(_build, KERNELS, folder=folder)
    )
    instance = build(cls, options_of(cls), settings, name.value, nested)
    if is_user_class(name.value):  # its description needs the name in the file
        object.__setattr__(instance, "name", name.value)
    return instance


@lru_cache(maxsize=1000)
def _dataset(node: Node, folder: str, needs_signs: bool) -> tuple[dict[str, Any], str]:
    """Return the description of a data set, and its task.

    With `needs_signs` a file must have two labels, also if its task is "auto".
    """
    name, settings = name_and_settings(node, "dataset")
    if not is_user_class(name.value) and name.value not in datasets.names():
        raise Fault(name.line, unknown("data set", name.value, datasets.names()))
    is_published = name.value in ENTRIES
    options = options_of(datasets.Published if is_published else _class(SOURCES, name, folder))
    make = partial(datasets.make, name.value, folder)
    source = build(make, options, settings, name.value)
    values = {k: v for k, v in values_of(source).items() if k in options}
    spec = {"name": name.value} | values
    file = find_path(values["path"], folder) if "path" in values else None
    changed = file.stat().st_mtime_ns if file is not None and file.exists() else 0
    signs = {"task": "classification"} if needs_signs and values.get("task") == "auto" else {}
    if fault := _unusable(json.dumps(spec | signs), folder, changed):
        line = settings.value.get("path", name).line
        raise Fault(line, f"{name.value}: {fault}") from None
    return spec, str(source.task)


@lru_cache(maxsize=1000)
def _unusable(spec: str, folder: str, _changed: int) -> str:
    """Return why the data of a description are unusable, or ""; cached for all cases of a grid."""
    try:
        build_source(json.loads(spec), folder).check()
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def _solver(node: Node, folder: str, importable: bool) -> SolverSpec:
    name, settings = name_and_settings(node, "solver")
    nodes: dict[str, Node] = dict(settings.value)
    label = nodes.pop("label").plain if "label" in nodes else ""
    slurm = resources(nodes.pop("slurm", Node({}, node.line)))
    searched = next((key for key in SEARCHED if key in nodes and nodes[key].value == "auto"), "")
    if searched:  # a search begins at the loosest value
        nodes[searched] = Node(SEARCHED[searched], nodes[searched].line)
    settings = Node(nodes, settings.line)
    if not importable:
        return SolverSpec(name.value, settings.plain, False, searched, label, slurm)
    cls = _class(SOLVERS, name, folder)
    values = values_of(build(cls, options_of(cls), settings, name.value))
    seeded = "seed" in values and "seed" not in nodes
    return SolverSpec(name.value, values, seeded, searched, label, slurm)
