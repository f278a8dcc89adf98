"""What experiment files may name, and what is recorded of their runs: `dualgap list`."""

from collections.abc import Iterator, Mapping
from inspect import getdoc
from typing import Any

from dualgap.experiments.files.catalogue import about, classes
from dualgap.experiments.files.experiment import experiment_names, find_experiments, purpose
from dualgap.experiments.files.keys import ExperimentFile
from dualgap.experiments.files.settings import Option, options_of
from dualgap.experiments.files.specs import plain
from dualgap.experiments.files.yamlfile import shown
from dualgap.experiments.records.columns import COUNTED, DESCRIBED, PATHS, RESULTS, TRACES
from dualgap.experiments.records.outcomes import OUTCOMES
from dualgap.experiments.tables.table import Column, Table
from dualgap.problems import datasets
from dualgap.problems.formulations.softmax import Softmax
from dualgap.solvers.running.defaults import SUCCESSORS

_FEW = 2  # names that are listed one by one
_Row = tuple[str, ...]
_HEADS = {
    "solvers": ("solver", "form", "settings", "successors", "source"),
    "problems": ("formulation", "settings", "what it is", "source"),
    "losses": ("loss", "settings", "what it is", "source"),
    "datasets": ("data set", "settings", "what it is"),
    "kernels": ("kernel", "settings", "what it is", "source"),
    "experiments": ("experiment", "what it is"),
    "keys": ("key of a file", "default", "what it is"),
    "columns": ("column", "what it is"),
    "outcomes": ("outcome", "what it is"),
    "properties": ("property", "what must hold in a selftest", "tried on"),
}


def listing(kind: str) -> Table:
    """Return the table of one kind of names."""
    others = {
        "experiments": _experiments,
        "keys": _keys,
        "columns": _columns,
        "outcomes": lambda: ((name, known.meaning) for name, known in OUTCOMES.items()),
        "properties": _properties,
    }
    rows = others.get(kind, lambda: _named(kind))()
    first, *more = _HEADS[kind]
    columns = {first: Column(first, side="left")} | {n: Column(n, side="words") for n in more}
    return Table.of((dict(zip(columns, row, strict=True)) for row in rows), columns)


def _named(kind: str) -> Iterator[_Row]:
    common = options_of(datasets.Source) if kind == "datasets" else {}
    for name, cls in classes(kind).items():
        own = {k: option for k, option in options_of(cls).items() if option != common.get(k)}
        if kind == "solvers":
            successors = ", ".join(SUCCESSORS.get(name, ()))
            yield name, cls.form.__name__, _settings(own), successors, cls.source
        elif kind == "datasets":
            yield name, _settings(own), about(name, cls)
        else:
            yield name, _settings(own), about(name, cls), cls.source
    if kind == "losses":
        yield Softmax.name, "that of softmax_erm", about(Softmax.name, Softmax), Softmax.source
    if kind == "datasets":
        yield "all of these", _settings(common), "steps taken after reading"


def _experiments() -> Iterator[_Row]:
    for name in experiment_names():
        files = find_experiments(name)
        if files[0].stem == name:
            yield name, purpose(files[0].read_text(encoding="utf-8"))
        else:
            yield name, "all of these: " + ", ".join(file.stem for file in files)


def _keys() -> Iterator[_Row]:
    for name, field in ExperimentFile.model_fields.items():
        default = "required" if field.is_required() else _default(field.default)
        yield name, default, str(field.description)


def _columns() -> Iterator[_Row]:
    yield from ((own.name, own.meaning) for own in (*RESULTS, *DESCRIBED, *COUNTED))
    yield "of traces:", "a row for each evaluation of a running solver"
    yield from ((own.name, own.meaning) for own in TRACES)
    yield "of paths:", "a row for each answer on a path"
    yield from ((own.name, own.meaning) for own in PATHS)


def _properties() -> Iterator[_Row]:
    from dualgap.experiments.selftest import PROPERTIES  # noqa: PLC0415 - loads all solvers

    first: dict[object, str] = {}
    for item in PROPERTIES:
        known = first.setdefault(item.check, item.name)
        about = f"As {known}." if known != item.name else (getdoc(item.check) or "")
        basic = " Without it nothing else can be judged." if item.basic else ""
        problems = list(dict.fromkeys(name.partition(": ")[0] for name in item.problems))
        tried_on = ", ".join(problems) if len(problems) <= _FEW else f"{len(problems)} problems"
        yield item.name, " ".join(f"{about}{basic}".split()), tried_on


def _settings(options: Mapping[str, Option]) -> str:
    """Return "setting=default, ...", without the default where there is none."""
    return ", ".join(
        key if option.required else f"{key}={_default(option.default)}"
        for key, option in options.items()
    )


def _default(value: Any) -> str:
    """Return a default as an experiment file has it; of a kernel or loss the name."""
    value = plain(value)
    if isinstance(value, dict) and "name" in value:
        return str(value["name"])
    return value if isinstance(value, str) else shown(value)
