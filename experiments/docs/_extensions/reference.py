"""Pages that are made from the code: names and their settings, commands and columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from docstrings import escape
from settings_tables import documented, file_keys, list_table, settings, settings_table

from experiments.cli import main
from experiments.commands.listing import listing
from experiments.files.catalogue import first_sentence
from experiments.records.columns import DESCRIBED, PATHS, RESULTS, TRACES
from experiments.records.outcomes import OUTCOMES

KINDS = ("solvers", "problems", "losses", "kernels", "datasets", "experiments")
DETAILED = KINDS[:-1]  # those whose names have settings
PACKAGES = ("problems", "solvers", "experiments")
_TITLES = {"datasets": "Data sets"}


def write(source: Path) -> None:
    """Write the pages of `lists` into `source`, and what other pages include from `made`."""
    (source / "lists").mkdir(exist_ok=True)
    for kind in KINDS:
        (source / "lists" / f"{kind}.rst").write_text("\n".join(_list(kind)), encoding="utf-8")
    (source / "made").mkdir(exist_ok=True)
    for name, text in _included().items():
        (source / "made" / f"{name}.txt").write_text(text, encoding="utf-8")


def _included() -> dict[str, str]:
    """Return parts of handwritten pages, by name."""
    named = {
        **{
            name: {own.name: own.meaning for own in columns}
            for name, columns in (
                *(("columns", (*RESULTS, *DESCRIBED)), ("traces", TRACES)),
                ("paths", PATHS),
            )
        },
        "outcomes": {name: kind.meaning for name, kind in OUTCOMES.items()},
    }
    made = {"keys": settings_table(file_keys(), "key"), "commands": "\n".join(_commands())}
    for name, of in named.items():
        rows = ((f"``{key}``", meaning) for key, meaning in of.items())
        made[name] = list_table(rows, (), ":widths: 25 75")
    return made


def _commands() -> Iterator[str]:
    """Yield the help of every command, as the command itself gives it."""
    for name in main.commands:
        asked = [name, "--help"]
        shown = CliRunner().invoke(main, asked, prog_name="dualgap", terminal_width=96).output
        block = "\n".join(f"   {line}" for line in shown.strip().splitlines())
        yield f"{_title(f'dualgap {name}', '-')}\n\n.. code-block:: text\n\n{block}\n"


def _list(kind: str) -> Iterator[str]:
    names = listing(kind)
    detailed = {e.name: e for e in documented(kind) if e.own} if kind in DETAILED else {}
    yield f"{_title(_TITLES.get(kind, kind.capitalize()))}\n\nAs ``dualgap list {kind}`` has them.\n"
    rows = list(zip(*(map(str, column.cells) for column in names.columns), strict=True))
    linked = [(f"`{name}`_" if name in detailed else escape(name), *cells) for name, *cells in rows]
    yield list_table(linked, [str(column.header) for column in names.columns])
    for entry in detailed.values():
        own = settings_table(settings(entry))
        yield f"\n{_title(entry.name, '-')}\n\n{escape(first_sentence(entry.cls))}\n\n{own}"


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
