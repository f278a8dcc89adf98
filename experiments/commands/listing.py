"""What experiment files may name, and what is recorded of their runs: `dualgap list`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from rich import box
from rich.table import Table
from rich.text import Text

from experiments.cases.columns import RESULTS, TRACES
from experiments.files.experiment import experiment_names, find_experiments
from experiments.files.settings import Option, option_of, options_of
from experiments.files.specs import KERNELS
from problems import FORMULATIONS, Kernel, datasets
from problems.formulations.softmax import Softmax
from problems.losses import LOSSES, Loss
from solvers import all_solvers

_Row = tuple[str, ...]


def listing(kind: str) -> Table:
    """Return the table of one kind of names."""
    heads, rows = {
        "solvers": (("solver", "form", "settings", "source"), _solvers()),
        "problems": (("formulation", "settings", "what it is", "source"), _problems()),
        "losses": (("loss", "settings", "what it is", "source"), _losses()),
        "datasets": (("data set", "settings", "what it is"), _datasets()),
        "kernels": (("kernel", "settings", "what it is", "source"), _kernels()),
        "experiments": (("experiment", "what it is"), _experiments()),
        "columns": (("column", "what it is"), _columns()),
    }[kind]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold", no_wrap=head == heads[0])
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _solvers() -> Iterator[_Row]:
    for name, cls in all_solvers().items():
        yield name, cls.form.__name__, _settings(cls), cls.source


def _problems() -> Iterator[_Row]:
    for name, cls in FORMULATIONS.items():
        yield name, _settings(cls, leave_out=("X", "y")), _first_line(cls), cls.source


def _losses() -> Iterator[_Row]:
    for name, cls in LOSSES.items():
        yield name, _settings(cls), _first_line(cls), cls.source
    yield Softmax.name, "that of softmax_erm", _first_line(Softmax), Softmax.source


def _kernels() -> Iterator[_Row]:
    for name, cls in KERNELS.items():
        yield name, _settings(cls), _first_line(cls), cls.source


def _datasets() -> Iterator[_Row]:
    common = {f.name: f.default for f in dataclasses.fields(datasets.Source)}
    for name in datasets.names():
        options = datasets.fields(name).values()
        own = [f for f in options if f.name not in common or f.default != common[f.name]]
        told = ", ".join(_setting(f.name, option_of(f, f.type), f.default) for f in own)
        yield name, told, datasets.describe(name).removeprefix(f"{name}: ")
    told = ", ".join(f"{name}={default}" for name, default in common.items())
    yield "all of these", told, "steps taken after reading"


def _experiments() -> Iterator[_Row]:
    for name in experiment_names():
        files = find_experiments(name)
        if files[0].stem == name:
            yield name, files[0].read_text().splitlines()[0].removeprefix("#").strip()
        else:
            yield name, "all of these: " + ", ".join(file.stem for file in files)


def _columns() -> Iterator[_Row]:
    yield from RESULTS.items()
    yield "of traces:", "a row for each look at a running solver"
    yield from TRACES.items()


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0].strip("`")


def _settings(cls: type, leave_out: tuple[str, ...] = ()) -> str:
    """Return "setting=default, ...", without the default where there is none."""
    options = options_of(cls)
    chosen = [f for f in dataclasses.fields(cls) if f.init and f.name not in leave_out]  # type: ignore[arg-type]
    return ", ".join(_setting(f.name, options[f.name], f.default) for f in chosen)


def _setting(name: str, option: Option, default: object) -> str:
    if option.required:
        return name
    return f"{name}={default.name if isinstance(default, (Kernel, Loss)) else default}"
