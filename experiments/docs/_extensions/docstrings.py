"""Docstrings as they are written here, made fit for reStructuredText.

They are written to be read as they stand: |x| and α* are mathematics, not references and emphasis;
lines that are indented, or have columns, are formulas and tables, to be shown as they are.
"""

import re
from itertools import groupby
from typing import Any

_MARKS = re.compile(r"(?<!\\)([|*])|(?<=\w)(_)(?!\w)")
_MEANT = re.compile(r"(``?[^`]+``?|(?<![\w*])\*\w+\*(?![\w*]))")  # code and emphasis
_NAMES = re.compile(r"^(Attributes|Parameters)\n-{4,}\n((?:(?!.*\n-{4,}).*\n?)*)", re.MULTILINE)


def escape(text: str) -> str:
    """Return `text` so that nothing in it is markup but code and *emphasis*."""
    parts = _MEANT.split(text)
    return "".join(part if i % 2 else _MARKS.sub(r"\\\g<0>", part) for i, part in enumerate(parts))


def readable(lines: list[str]) -> list[str]:
    """Return a docstring's lines: formulas as literal blocks, names as lists, the rest as prose."""
    end = next((i for i, line in enumerate(lines) if re.fullmatch(r"-{4,}", line)), len(lines) + 1)
    kinds, made = ["text"], list[str]()
    for line in lines[: end - 1]:
        if re.match(r"- |\d+\. ", line) or (kinds[-1] == "item" and line.startswith("  ")):
            kinds.append("item")
        elif line.strip():
            formula = line.startswith(" ") or re.search(r"\S {2,}\S", line)
            kinds.append("formula" if formula else "text")
        else:
            kinds.append(kinds[-1])
    for kind, own in groupby(zip(kinds[1:], lines, strict=False), key=lambda pair: pair[0]):
        made += ["", "::", ""] if kind == "formula" else [""]
        made += [f"    {line}" if kind == "formula" else escape(line) for _, line in own]
    sections = _NAMES.sub(_as_list, "\n".join(lines[end - 1 :]))
    return [*made, "", *map(escape, sections.splitlines())]


def _as_list(section: re.Match[str]) -> str:
    """Return a section of names as a list: numpydoc would take "name : text" for a type."""
    title, entries = section.groups()
    entries = re.sub(r"(?m)^(\w[^:\n]*,)\n(?=\w)", r"\1 ", entries)  # names of two lines
    entries = re.sub(r"(?m)^(\w[^:\n]*?) :(?: |$)|^(\w[^:\n]*)(?=\n )", r"- ``\1\2``: ", entries)
    return f".. rubric:: {title}\n\n{re.sub(r'(?m)^ +', '  ', entries)}\n"


def _process(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def _is_foreign(_app: Any, _what: str, _name: str, obj: Any, *_: Any) -> bool | None:
    """Leave out what a module has from other packages, and methods that they add to classes."""
    module = str(getattr(obj, "__module__", None) or "dualgap")
    return None if module.startswith("dualgap.") else True


def setup(app: Any) -> dict[str, Any]:
    """Work on docstrings before numpydoc does."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("autodoc-skip-member", _is_foreign)
    return {"parallel_read_safe": True}
