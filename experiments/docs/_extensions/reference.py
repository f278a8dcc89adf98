"""Pages that are made from the code: what `dualgap list` lists, and a page of each module."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docstrings import escape

from experiments.listing import listing

KINDS = ("solvers", "problems", "losses", "kernels", "datasets", "experiments")
PACKAGES = ("problems", "solvers", "experiments")
LEFT_OUT = ("experiments.docs", "experiments.gallery.")  # the gallery has pages of its own


def write(source: Path) -> None:
    """Write the lists into the folder `lists` of `source`, and the modules' pages into `api`."""
    (source / "lists").mkdir(exist_ok=True)
    for kind in KINDS:
        (source / "lists" / f"{kind}.rst").write_text("\n".join(_list(kind)), encoding="utf-8")
    for package in PACKAGES:
        folder = source / "api" / package
        folder.mkdir(parents=True, exist_ok=True)
        names = list(_modules(package))
        for name in names:
            text = f"{_title(name)}\n\n.. automodule:: {name}\n   :ignore-module-all:\n"
            (folder / f"{name}.rst").write_text(text, encoding="utf-8")
        pages = "\n".join(f"   {package}/{name}" for name in names)
        text = f"{_title(package)}\n\n.. toctree::\n   :maxdepth: 1\n\n{pages}\n"
        (source / "api" / f"{package}.rst").write_text(text, encoding="utf-8")


def _list(kind: str) -> Iterator[str]:
    table = listing(kind)
    yield f"{_title(kind.capitalize())}\n\nAs ``dualgap list {kind}`` has them.\n"
    yield ".. list-table::\n   :header-rows: 1\n"
    rows = zip(*(list(column.cells) for column in table.columns), strict=True)
    for first, *others in [[column.header for column in table.columns], *rows]:
        yield f"   * - {escape(str(first))}"
        yield from (f"     - {escape(str(cell))}" for cell in others)


def _modules(package: str) -> Iterator[str]:
    """Yield the package's modules by name, those with something public of their own."""
    paths = importlib.import_module(package).__path__
    yield package
    for module in pkgutil.walk_packages(paths, f"{package}."):
        if not module.name.startswith(LEFT_OUT) and "._" not in module.name:
            yield module.name


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}"


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
