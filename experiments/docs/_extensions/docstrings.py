"""Docstrings as they are written here, made fit for reStructuredText.

They are written to be read as they stand: |x| and α* are mathematics, not references and emphasis;
lines that are indented, or have columns, are formulas and tables, to be shown as they are.
"""

from __future__ import annotations

import re
from typing import Any

_MARKS = re.compile(r"(?<!\\)([|*])|(?<=\w)(_)(?!\w)")
_MEANT = re.compile(r"(``?[^`]+``?|(?<![\w*])\*\w+\*(?![\w*]))")  # code and emphasis
_COLUMNS = re.compile(r"\S {2,}\S")
INLINE = re.compile(r"(?<=[.;])\s+(\w+(?:, \w+)*) : ")  # a name on the line of another
_BROKEN = re.compile(r"^(\w[^:\n]*,)\n(?=\w)", re.MULTILINE)  # names that go on in the next line
_ITEM = re.compile(r"- |\d+\. ")
_NAMES = re.compile(
    r"^(?P<title>Attributes|Parameters)\n-{4,}\n(?P<entries>(?:(?!.*\n-{4,}).*\n?)*)", re.MULTILINE
)


def escape(text: str) -> str:
    """Return `text` so that nothing in it is markup but code and *emphasis*."""
    parts = _MEANT.split(text)
    return "".join(part if i % 2 else _MARKS.sub(r"\\\g<0>", part) for i, part in enumerate(parts))


def readable(lines: list[str]) -> list[str]:
    """Return a docstring's lines: formulas as literal blocks, prose without accidental markup."""
    end = next((i for i, line in enumerate(lines) if re.fullmatch(r"-{4,}", line)), len(lines) + 1)
    sections = _NAMES.sub(_as_list, "\n".join(lines[end - 1 :]))
    return [*_prose(lines[: end - 1]), "", *map(escape, sections.splitlines())]


def _prose(lines: list[str]) -> list[str]:
    """Return paragraphs, lists, and formulas with what makes them literal blocks."""
    made: list[str] = []
    last = "text"
    for line in lines:
        if not line.strip():
            kind = last
        elif _ITEM.match(line) or (last == "item" and line.startswith("  ")):
            kind = "item"
        else:
            kind = "formula" if line[0] == " " or _COLUMNS.search(line) else "text"
        if kind != last:
            made += ["", "::", ""] if kind == "formula" else [""]
        made.append(f"    {line}" if kind == "formula" else escape(line))
        last = kind
    return made


def _as_list(section: re.Match[str]) -> str:
    """Return a section of names as a list: numpydoc would take "name : text" for a type."""
    entries = _BROKEN.sub(r"\1 ", section["entries"])
    entries = INLINE.sub(r"\n\1 : ", entries)
    entries = re.sub(r"(?m)^(\w[^:\n]*?) :(?: |$)", r"- ``\1``: ", entries)
    entries = re.sub(r"(?m)^(\w[^:\n]*)\n(?= )", r"- ``\1``:\n", entries)
    return f".. rubric:: {section['title']}\n\n{re.sub(r'(?m)^ +', '  ', entries)}\n"


def _process(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def setup(app: Any) -> dict[str, Any]:
    """Work on docstrings before numpydoc does."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True}
