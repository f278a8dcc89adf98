"""The names that experiment files accept and results contain: `dualgap list`."""

from collections.abc import Iterator, Mapping
from inspect import getdoc
from typing import Any

from dualgap.experiments.files.experiment import experiment_names, find_experiments, purpose
from dualgap.experiments.files.models import ExperimentFile
from dualgap.experiments.files.schema import about, classes
from dualgap.experiments.files.settings import Option, options_of
from dualgap.experiments.files.specs import plain
from dualgap.experiments.files.yaml import short_text
from dualgap.experiments.records.columns import FILES, PATHS, TRACES
from dualgap.experiments.records.outcomes import OUTCOMES, STOP_REASONS
from dualgap.experiments.tables.table import Column, Table
from dualgap.problems import datasets
from dualgap.problems.formulations.softmax import Softmax

_Row = tuple[str, ...]
_HEADS = {
    "solvers": ("solver", "form", "requires", "settings"),
    "problems": ("formulation", "settings", "description", "source"),
    "losses": ("loss", "settings", "description", "source"),
    "datasets": ("data set", "settings", "description"),
    "kernels": ("kernel", "settings", "description", "source"),
    "experiments": ("experiment", "description"),
    "keys": ("key of a file", "default", "meaning"),
    "columns": ("column", "meaning"),
    "outcomes": ("outcome", "meaning"),
    "figures": ("figure", "description", "columns"),
    "properties": ("property", "requirement of a selftest", "tried on"),
}


def listing(kind: str) -> Table:
    """Return the table of one kind of names."""
    sources = {
        "experiments": _experiments,
        "keys": _keys,
        "columns": _columns,
        "outcomes": _outcomes,
        "figures": _figures,
        "properties": _properties,
    }
    rows = sources.get(kind, lambda: _named(kind))()
    first, *more = _HEADS[kind]
    columns = {first: Column(first, align="left")} | {n: Column(n, align="words") for n in more}
    return Table.of((dict(zip(columns, row, strict=True)) for row in rows), columns)


def _named(kind: str) -> Iterator[_Row]:
    common = options_of(datasets.Source) if kind == "datasets" else {}
    for name, cls in classes(kind).items():
        specific = {k: v for k, v in options_of(cls).items() if v != common.get(k)}
        if kind == "solvers":
            needs = "; ".join(need.name for need in cls.needs)
            accepted = ", ".join(getattr(cls, "choices", ()))
            of_backend = f"; backend: {accepted}" if accepted else ""
            yield name, cls.form.__name__, needs, _settings(specific) + of_backend
        elif kind == "datasets":
            yield name, _settings(specific), about(name, cls)
        else:
            yield name, _settings(specific), about(name, cls), cls.source
    if kind == "losses":
        yield Softmax.name, "loss of softmax_erm", about(Softmax.name, Softmax), Softmax.source
    if kind == "datasets":
        yield "all data sets", _settings(common), "applied after reading"


def _experiments() -> Iterator[_Row]:
    for name in experiment_names():
        files = find_experiments(name)
        if files[0].stem == name:
            yield name, purpose(files[0].read_text(encoding="utf-8"))
        else:
            yield name, "runs all of " + ", ".join(file.stem for file in files)


def _keys() -> Iterator[_Row]:
    for name, field in ExperimentFile.model_fields.items():
        default = "required" if field.is_required() else _default(field.default)
        yield name, default, str(field.description)


def _columns() -> Iterator[_Row]:
    yield from ((column.name, column.meaning) for column in FILES["runs.csv"])
    yield "of traces:", "one row per evaluation of a running solver"
    yield from ((column.name, column.meaning) for column in TRACES)
    yield "of paths:", "one row per answer on a path"
    yield from ((column.name, column.meaning) for column in PATHS)


def _outcomes() -> Iterator[_Row]:
    yield from ((name, outcome.meaning) for name, outcome in OUTCOMES.items())
    yield "stop_reason:", "what ended the solver"
    yield from STOP_REASONS.items()


def _figures() -> Iterator[_Row]:
    from dualgap.experiments.plots.drawing import FIGURES  # noqa: PLC0415 - loads matplotlib

    for name, kind in FIGURES.items():
        sentence = (getdoc(kind) or "").partition("\n\n")[0]
        yield (
            name,
            f"{sentence} Only on request." if kind.on_request else sentence,
            " ".join(kind.columns),
        )


def _properties() -> Iterator[_Row]:
    from dualgap.experiments.selftest import PROPERTIES  # noqa: PLC0415 - loads all solvers

    first: dict[object, str] = {}
    for item in PROPERTIES:
        same = first.setdefault(item.check, item.name)
        about = f"As {same}." if same != item.name else (getdoc(item.check) or "")
        basic = " All other properties depend on it." if item.basic else ""
        problems = list(dict.fromkeys(name.partition(": ")[0] for name in item.problems))
        tried_on = ", ".join(problems) if len(problems) <= 2 else f"{len(problems)} problems"
        yield item.name, " ".join(f"{about}{basic}".split()), tried_on


def _settings(options: Mapping[str, Option]) -> str:
    """Return "setting=default, ...", with the name alone if there is no default."""
    return ", ".join(
        key if option.required else f"{key}={_default(option.default)}"
        for key, option in options.items()
    )


def _default(value: Any) -> str:
    """Return a default as in an experiment file; for a kernel or loss its name."""
    value = plain(value)
    if isinstance(value, dict) and "name" in value:
        return str(value["name"])
    return value if isinstance(value, str) else short_text(value)
