"""Convert docstrings to reStructuredText.

They are written to be read as plain text: |x| and α* are mathematics, not references and emphasis;
lines that are indented, or have columns, are formulas and tables, to be shown verbatim.
"""

import re
from itertools import groupby
from typing import Any

_MARKS = re.compile(r"(?<!\\)([|*])|(?<=\w)(_)(?!\w)")
_MARKUP = re.compile(r"(``?[^`]+``?|(?<![\w*])\*\w+\*(?![\w*]))")  # code and emphasis
_NAMES = re.compile(r"^(Attributes|Parameters)\n-{4,}\n((?:(?!.*\n-{4,}).*\n?)*)", re.MULTILINE)


def escape(text: str) -> str:
    """Escape all markup characters in `text` except code and *emphasis*."""
    parts = _MARKUP.split(text)
    return "".join(part if i % 2 else _MARKS.sub(r"\\\g<0>", part) for i, part in enumerate(parts))


def readable(lines: list[str]) -> list[str]:
    """Convert a docstring's lines: formulas to literal blocks, names to lists, the rest to prose."""
    end = next((i for i, line in enumerate(lines) if re.fullmatch(r"-{4,}", line)), len(lines) + 1)
    kinds, converted = ["text"], list[str]()
    for line in lines[: end - 1]:
        if re.match(r"- |\d+\. ", line) or (kinds[-1] == "item" and line.startswith("  ")):
            kinds.append("item")
        elif line.strip():
            formula = line.startswith(" ") or re.search(r"\S {2,}\S", line)
            kinds.append("formula" if formula else "text")
        else:
            kinds.append(kinds[-1])
    for kind, group in groupby(zip(kinds[1:], lines, strict=False), key=lambda pair: pair[0]):
        converted += ["", "::", ""] if kind == "formula" else [""]
        converted += [f"    {line}" if kind == "formula" else escape(line) for _, line in group]
    sections = _NAMES.sub(_as_list, "\n".join(lines[end - 1 :]))
    return [*converted, "", *map(escape, sections.splitlines())]


def _as_list(section: re.Match[str]) -> str:
    """Convert a section of names to a list: numpydoc would take "name : text" for a type."""
    title, entries = section.groups()
    entries = re.sub(r"(?m)^(\w[^:\n]*,)\n(?=\w)", r"\1 ", entries)  # names on two lines
    entries = re.sub(r"(?m)^(\w[^:\n]*?) :(?: |$)|^(\w[^:\n]*)(?=\n )", r"- ``\1\2``: ", entries)
    return f".. rubric:: {title}\n\n{re.sub(r'(?m)^ +', '  ', entries)}\n"


def _process(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = readable(lines)


def _is_foreign(_app: Any, _what: str, _name: str, obj: Any, *_: Any) -> bool | None:
    """Return None for objects of this package, True (skip it) for objects of other packages."""
    module = str(getattr(obj, "__module__", None) or "dualgap")
    return None if module.startswith("dualgap.") else True


def setup(app: Any) -> dict[str, Any]:
    """Process docstrings before numpydoc does."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    app.connect("autodoc-skip-member", _is_foreign)
    return {"parallel_read_safe": True}
