"""The plain value of an experiment file, its faults, and where a message says that they are."""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import mul
from typing import Any, NamedTuple
from unicodedata import east_asian_width

from dualgap.experiments.records import Refusal
from dualgap.problems.texts import printable

# the keys and list indices that lead to a value, as in pydantic's errors
Loc = tuple[str | int, ...]

_MAX_FAULTS = 20  # shown per file
_MAX_FAULT_CHARACTERS = 600  # shown per fault
_SNIPPET_WIDTH = 70  # characters of a line that is shown, to fit into 80 columns


class Span(NamedTuple):
    """A part of a line: the line and the first column from 1, the last column, 0 for the line's end."""

    line: int
    column: int = 0
    end: int = 0


class Fault(Exception):
    """One fault of an experiment file.

    Attributes
    ----------
    loc : leads to the value at fault.
    span : its position, if a file is not YAML and has no values.
    """

    def __init__(self, text: str, *loc: str | int, span: Span | None = None) -> None:
        super().__init__(text, *loc)
        self.text, self.loc, self.span = text, loc, span


@contextmanager
def relocated(origins: Mapping[Loc, Loc]) -> Generator[None]:
    """Replace the longest known prefix in the `loc` of a fault by its origin in the file."""
    try:
        yield
    except Fault as fault:
        prefix = _longest_prefix(fault.loc, origins)
        raise Fault(fault.text, *origins.get(prefix, ()), *fault.loc[len(prefix) :]) from None


class Location(NamedTuple):
    """Where a fault is, as messages begin with it, and its rank in a message with several faults."""

    rank: tuple[int, int]
    name: str
    span: Span | None = None

    def __str__(self) -> str:
        return f"line {self.span.line}" if self.span else self.name


@dataclass(frozen=True)
class Document:
    """An experiment file, or a dict with its content.

    Attributes
    ----------
    name : what messages call it.
    text : its YAML.
    value : its plain value; `spans` has the position of each part.
    options : the options of the command line that set values, by the keys that lead to them.
    has_lines : whether messages name lines; for a dict they name keys, such as problems.0.C.
    """

    name: str
    text: str = ""
    value: Any = None
    spans: Mapping[Loc, Span] = field(default_factory=dict[Loc, Span])
    options: Mapping[Loc, str] = field(default_factory=dict[Loc, str])
    has_lines: bool = True

    def listed(self, key: str) -> list[Any]:
        """Return the list under a key; empty if there is none."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return value if isinstance(value, list) else []

    def location(self, loc: Loc, span: Span | None = None) -> Location:
        """Return the location of a value: an option, a line, or keys; its parent's if it is missing."""
        keys = tuple(map(str, loc))
        if option := self.options.get(_longest_prefix(keys, self.options)):
            return Location((1, [*self.options.values()].index(option)), option)
        prefix = _longest_prefix(loc, self.spans)
        span = span or self.spans.get(prefix)
        if span is None:  # the whole file
            return Location((0, 0), self.name)
        if self.has_lines:
            return Location((2, span.line), f"{self.name}:{span.line}", span)
        return Location((2, [*self.spans].index(prefix)), ".".join(map(str, prefix)) or self.name)


def _longest_prefix(loc: Loc, locations: Mapping[Loc, Any]) -> Loc:
    """Return the longest part of `loc` from its start that is one of `locations`, or ()."""
    return next((loc[:k] for k in range(len(loc), 0, -1) if loc[:k] in locations), ())


class ConfigError(Refusal):
    """An experiment file that cannot be run; the message has one line for each fault."""

    def __init__(self, source: Document | object, faults: Iterable[Fault]) -> None:
        document = source if isinstance(source, Document) else Document(str(source))
        located = {(document.location(f.loc, f.span), " ".join(f.text.split())) for f in faults}
        spans = dict[str, list[Span]]()  # by message: the same may be said of several values
        for (_, name, span), text in sorted(located, key=_rank):
            is_long = len(text) > _MAX_FAULT_CHARACTERS
            short = f"{text[: _MAX_FAULT_CHARACTERS - 4]} ..." if is_long else text
            spans.setdefault(printable(f"{name}: {short}"), []).extend([span] if span else [])
        more = len(spans) - _MAX_FAULTS
        last = [f"{document.name}: and {more} more faults"] if more > 0 else []
        first = dict(islice(spans.items(), _MAX_FAULTS))
        super().__init__("\n".join([*first, *last]))
        self._lines = [*_with_snippets(first, document.text), *last]

    @property
    def lines(self) -> Sequence[str]:
        """The message, and each line of the file with a fault, below those that are about it."""
        return self._lines


def _rank(located: tuple[Location, str]) -> tuple[Any, ...]:
    location, text = located
    return location.rank, text, location.span or ()


def _with_snippets(spans: Mapping[str, list[Span]], text: str) -> list[str]:
    """Return messages, those about the same line of a text followed by that line."""
    lines = list[str]()
    texts = re.split("\r\n|[\n\r\x85\u2028\u2029]", text)  # as YAML's reader counts lines
    for line, group in groupby(spans.items(), key=lambda pair: pair[1][0].line if pair[1] else 0):
        messages, of_line = zip(*group, strict=True)
        marked = [span for span in chain.from_iterable(of_line) if span.column]
        lines += [*messages, *(_snippet(texts[line - 1], marked) if marked else [])]
    return lines


def _snippet(text: str, spans: Sequence[Span]) -> list[str]:
    """Return a line of a file, cut to the width of a terminal, and marks below its spans."""
    marks = [" "] * (len(text) + 1)
    for span in spans:
        first, end = span.column - 1, max(span.column, span.end or len(text))
        marks[first:end] = "^" * (end - first)
    start = max(0, marks.index("^") - _SNIPPET_WIDTH // 2) if len(text) > _SNIPPET_WIDTH else 0
    part = slice(start, start + _SNIPPET_WIDTH)
    widths = [1 + (east_asian_width(character) in "FW") for character in f"{text} "]
    below = "".join(map(mul, marks[part], widths[part]))
    number, excerpt = str(spans[0].line), printable(text[part])
    excerpt = f"…{excerpt[1:]}" if start else excerpt
    return [f"  {number} | {excerpt}", f"  {' ' * len(number)} | {below.rstrip()}"]
