"""Pages that are made from the code: names and their settings, commands, columns, and every module."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from docstrings import escape
from settings_tables import HEADS, entries, file_keys, table

from experiments.cases.columns import RESULTS, TRACES
from experiments.cli import main
from experiments.commands.listing import listing
from experiments.report.summary import MEANINGS

KINDS = ("solvers", "problems", "losses", "kernels", "datasets", "experiments")
DETAILED = KINDS[:-1]  # those whose names have settings
PACKAGES = ("problems", "solvers", "experiments")
_TITLES = {"datasets": "Data sets"}
LEFT_OUT = ("experiments.docs", "experiments.gallery.")  # the gallery has pages of its own


def write(source: Path) -> None:
    """Write the pages of `lists` and `api` into `source`, and what other pages include from `made`."""
    (source / "lists").mkdir(exist_ok=True)
    for kind in KINDS:
        (source / "lists" / f"{kind}.rst").write_text("\n".join(_list(kind)), encoding="utf-8")
    _write_modules(source / "api")
    (source / "made").mkdir(exist_ok=True)
    for name, text in _included().items():
        (source / "made" / f"{name}.txt").write_text(text, encoding="utf-8")


def _write_modules(folder: Path) -> None:
    for package in PACKAGES:
        (folder / package).mkdir(parents=True, exist_ok=True)
        names = list(_modules(package))
        for name in names:
            text = f"{_title(name)}\n\n.. automodule:: {name}\n   :ignore-module-all:\n"
            (folder / package / f"{name}.rst").write_text(text, encoding="utf-8")
        (folder / f"{package}.rst").write_text(
            "\n".join(_contents(package, names)), encoding="utf-8"
        )


def _contents(package: str, names: list[str]) -> Iterator[str]:
    """Yield a package's page: each module with the sentence that it begins with."""
    yield f"{_title(f'Package {package}')}\n\n.. toctree::\n   :hidden:\n"
    yield from (f"   {package}/{name}" for name in names)
    yield "\n.. list-table::\n   :widths: 35 65\n"
    for name in names:
        about = inspect.cleandoc(importlib.import_module(name).__doc__ or "").split("\n\n")[0]
        yield f"   * - :doc:`{name} <{package}/{name}>`"
        yield f"     - {escape(' '.join(about.split()))}"
    yield ""


def _included() -> dict[str, str]:
    """Return parts of handwritten pages, by name."""
    named = {"columns": RESULTS, "traces": TRACES, "outcomes": MEANINGS}
    return {
        "keys": table(file_keys(), ("key", *HEADS[1:])),
        "commands": "\n".join(_commands()),
    } | {name: "\n".join(_meanings(of)) for name, of in named.items()}


def _commands() -> Iterator[str]:
    """Yield the help of every command, as the command itself gives it."""
    for name in main.commands:
        asked = [name, "--help"]
        shown = CliRunner().invoke(main, asked, prog_name="dualgap", terminal_width=96).output
        block = "\n".join(f"   {line}" for line in shown.strip().splitlines())
        yield f"{_title(f'dualgap {name}', '-')}\n\n.. code-block:: text\n\n{block}\n"


def _meanings(of: Mapping[str, str]) -> Iterator[str]:
    yield ".. list-table::\n   :widths: 25 75\n"
    for name, meaning in of.items():
        yield f"   * - ``{name}``\n     - {escape(meaning)}"
    yield ""


def _list(kind: str) -> Iterator[str]:
    names = listing(kind)
    detailed = [e for e in entries(kind) if e.settings] if kind in DETAILED else []
    sections = {entry.name for entry in detailed}
    yield f"{_title(_TITLES.get(kind, kind.capitalize()))}\n\nAs ``dualgap list {kind}`` has them.\n"
    yield ".. list-table::\n   :header-rows: 1\n"
    rows = zip(*(list(column.cells) for column in names.columns), strict=True)
    for first, *others in [[column.header for column in names.columns], *rows]:
        yield f"   * - `{first}`_" if str(first) in sections else f"   * - {escape(str(first))}"
        yield from (f"     - {escape(str(cell))}" for cell in others)
    for entry in detailed:
        yield f"\n{_title(entry.name, '-')}\n\n{escape(entry.about)}\n\n{table(entry.settings)}"


def _modules(package: str) -> Iterator[str]:
    """Yield the package's modules by name, those with something public of their own."""
    paths = importlib.import_module(package).__path__
    yield package
    for module in pkgutil.walk_packages(paths, f"{package}."):
        if not module.name.startswith(LEFT_OUT) and "._" not in module.name:
            yield module.name


def _title(text: str, rule: str = "=") -> str:
    return f"{text}\n{rule * len(text)}"


def _is_imported(
    _app: Any, _what: str, _name: str, obj: Any, _skip: bool, _options: Any
) -> bool | None:
    """Leave out what a module has from other packages, and methods that they add to classes."""
    origin = str(getattr(obj, "__module__", None) or PACKAGES[0]).partition(".")[0]
    return True if origin not in PACKAGES else None


def _write_all(app: Any) -> None:
    write(Path(app.srcdir))


def setup(app: Any) -> dict[str, Any]:
    """Write the pages before any is read."""
    app.connect("autodoc-skip-member", _is_imported)
    app.connect("builder-inited", _write_all)
    return {"parallel_read_safe": True}
