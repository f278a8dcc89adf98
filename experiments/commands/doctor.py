"""`dualgap doctor`: check that an installation is complete."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from re import findall, search
from typing import TYPE_CHECKING, NamedTuple

import click

from dualgap.experiments.operations.terminal import console

if TYPE_CHECKING:
    from rich.table import Table


@click.command("doctor")
def command() -> None:
    """Check this installation and solve a small problem with it."""
    rows = examine()
    console().print(to_terminal(rows))
    sys.exit(0 if all(row.fine for row in rows) else 1)


class HealthCheck(NamedTuple):
    """The item that was checked, the finding, and whether it is as it must be."""

    item: str
    finding: str
    fine: bool


_Item = tuple[str, str, bool]


def examine() -> list[HealthCheck]:
    """Check the installation; it is healthy if all checks are fine."""
    sections = {
        "machine": _machine,
        "packages": _packages,
        "threads": _threads,
        "folders": _folders,
        "self-check": _solves,
    }
    items: list[_Item] = []
    for name, section in sections.items():
        try:
            items.extend(section())
        except Exception as error:  # a package may be missing or broken; check the other sections
            items.append((name, f"{type(error).__name__}: {error}", False))
    return [HealthCheck(*item) for item in items]


def to_terminal(rows: Iterable[HealthCheck]) -> Table:
    """Return the checks as a table for the terminal."""
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=False)
    for row in rows:
        table.add_row(row.item, Text(row.finding, style="" if row.fine else "red"))
    return table


def _machine() -> Iterator[_Item]:
    import psutil  # noqa: PLC0415 - if it is missing, the other sections are still checked

    from dualgap.experiments.workers.machine import cores  # noqa: PLC0415

    memory = psutil.virtual_memory()
    yield "python", f"{platform.python_version()} on {platform.platform()}", True
    yield "cores", str(cores()), True
    sizes = f"{memory.total / 2**30:.1f} GiB, {memory.available / 2**30:.1f} GiB of it free"
    yield "memory", sizes, True


def _packages() -> Iterator[_Item]:
    """Yield the versions of the packages that dualgap, or one of its extras, needs."""
    python = Path(sys.executable)
    if python.is_relative_to(Path.cwd()):
        python = python.relative_to(Path.cwd())
    for requirement in requires("dualgap") or []:
        (name,) = findall(r"^[A-Za-z0-9._-]+", requirement)
        extra = search(r"extra == [\"'](.+?)[\"']", requirement)
        install = f"{python} -m pip install {name}"
        try:
            yield name, version(name) + (" (optional)" if extra else ""), True
        except PackageNotFoundError:
            if extra:
                yield name, f"not installed (optional, extra {extra[1]}: {install})", True
            else:
                yield name, f"missing: {install}", False


def _threads() -> Iterator[_Item]:
    from threadpoolctl import threadpool_info  # noqa: PLC0415

    import_module("scipy.linalg")  # starts its thread pools
    for pool in threadpool_info():
        library = f"{pool['prefix']} {pool['version'] or ''}".strip()
        yield f"threads of {pool['internal_api']}", f"{pool['num_threads']} ({library})", True


def _folders() -> Iterator[_Item]:
    from dualgap.problems import datasets  # noqa: PLC0415

    yield "data set cache", str(datasets.cache_folder()), True
    try:
        folder = datasets.data_folder()
    except NotADirectoryError as error:
        yield "DUALGAP_DATA", str(error), False
    else:
        yield "DUALGAP_DATA", "not set" if folder is None else str(folder), True


def _solves() -> Iterator[_Item]:
    """Solve a small problem with the default solver, and show its certificate."""
    from dualgap.problems import RBF, SoftMarginDual, datasets  # noqa: PLC0415
    from dualgap.solvers import all_solvers, solve  # noqa: PLC0415

    yield "solvers", ", ".join(all_solvers()), True
    data = datasets.load("four_gaussians", n=80)
    solution = solve(SoftMarginDual(data.X, data.y, 1.0, RBF(0.05)))
    c = solution.certificate
    bounds = f"{c.dual_objective:.10g} ≤ optimum ≤ {c.primal_objective:.10g}"
    yield "self-check", f"{solution.verdict}: {bounds}", solution.verdict == "solved"
