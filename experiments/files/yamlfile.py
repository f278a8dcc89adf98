"""YAML 1.2 files as trees of values with their lines, so that every error can name its line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError, RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scalarbool import ScalarBoolean

_DEEPEST = 20  # levels; an alias inside itself would have no end
_MOST = 100_000  # values; aliases of aliases grow exponentially
LARGEST = 256 * 1024  # bytes, which take some ten seconds to parse
_LONGEST = 10_000  # bits of an integer; Python refuses to show much longer ones
_MOST_SHOWN, _TEXT = 20, 600  # faults of a file; characters of one


class Fault(Exception):
    """One thing that is wrong with an experiment file, at a line (from 1; 0: of the whole file)."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(line, text)
        self.line, self.text = line, text


class ConfigError(Exception):
    """An experiment file that cannot be run; the message has one line for each fault."""

    def __init__(self, file: Path | str, faults: Iterable[Fault]) -> None:
        told = {(fault.line, " ".join(fault.text.split())) for fault in faults}
        ordered = sorted(
            (line, text if len(text) <= _TEXT else f"{text[: _TEXT - 4]} ...")
            for line, text in told
        )
        places = [f"{file}:{line}" if line else str(file) for line, _ in ordered]
        lines = [f"{place}: {text}" for place, (_, text) in zip(places, ordered, strict=True)]
        more = len(lines) - _MOST_SHOWN
        last = [f"{file}: and {more} more faults"] if more > 0 else []
        super().__init__("\n".join(lines[:_MOST_SHOWN] + last))


@dataclass(frozen=True)
class Node:
    """A YAML value and its line: a dict of nodes, a list of nodes, or a plain scalar."""

    value: Any
    line: int

    @property
    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {key: child.plain for key, child in self.value.items()}
        return [c.plain for c in self.value] if isinstance(self.value, list) else self.value


def shown(value: Any) -> str:
    """Return a plain value as a message quotes it: as YAML has it where that is not what Python says."""
    if value == "None":
        return "'None', which YAML takes for text"
    names = {None: "null", True: "true", False: "false"}
    return names[value] if value is None or isinstance(value, bool) else repr(value)


def parse(content: bytes) -> Node:
    """Return the tree of a YAML document.

    Raises
    ------
    Fault
        If it is not UTF-8, not YAML, has a key twice, or is too deep or too large.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Fault(line, "is not UTF-8 text; save the file as UTF-8") from None
    return _tree(_load(text), 1, _DEEPEST, count(1))


class _Constructor(RoundTripConstructor):
    """The library's own, with a line for what it only raises as a KeyError, ValueError, ..."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Return the value of a YAML node."""
        try:
            return super().construct_object(node, deep)
        except (Fault, MarkedYAMLError, RecursionError):
            raise
        except Exception as error:
            raise Fault(node.start_mark.line + 1, _not_yaml(error)) from None


def _load(text: str) -> Any:
    yaml = YAML()
    yaml.Constructor = _Constructor
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor may be used again
            return yaml.load(text)
    except DuplicateKeyError as error:
        raise Fault(_line(error), (error.problem or "found a duplicate key").strip()) from None
    except MarkedYAMLError as error:
        raise Fault(_line(error), f"is not YAML: {error.problem or error.context}") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Fault(line, f"is not YAML: U+{error.character:04X} is not allowed") from None
    except RecursionError:
        raise Fault(1, f"is nested deeper than {_DEEPEST} levels") from None
    except Fault:
        raise
    except Exception as error:  # of the library itself, such as the OverflowError of "\\U99999999"
        raise Fault(1, _not_yaml(error)) from None


def _not_yaml(error: Exception) -> str:
    return f"is not YAML: {type(error).__name__}: {error}"


def unknown(what: str, word: object, known: Iterable[str]) -> str:
    """Return a sentence saying that `word` is not known, with the nearest word that is."""
    choices = list(known)
    alike = [choice for choice in choices if choice.lower() == str(word).lower()]
    near = alike or get_close_matches(str(word), choices, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown {what} {word!r}; {hint}accepted are {', '.join(choices) or 'none'}"


def _line(error: MarkedYAMLError) -> int:
    mark = error.problem_mark or error.context_mark
    return 1 if mark is None else mark.line + 1


def _tree(value: Any, line: int, depth: int, numbers: Iterator[int]) -> Node:
    """Return a loaded value as a node; `numbers` counts the nodes of the whole document."""
    if next(numbers) > _MOST:
        raise Fault(line, f"has more than {_MOST} values; aliases may have multiplied them")
    if depth == 0:
        raise Fault(line, f"is nested deeper than {_DEEPEST} levels; an alias may hold itself")
    if isinstance(value, CommentedMap):
        lines = {key: _position(value.lc.key, key, line) for key in value}
        children = {k: _tree(v, lines[k], depth - 1, numbers) for k, v in value.items()}
        for key in children:
            if not isinstance(key, str):
                told = f"the key {key!s} is a {type(key).__name__}; put text in quotation marks"
                raise Fault(lines[key], told)
        return Node({_scalar(key, lines[key]): child for key, child in children.items()}, line)
    if isinstance(value, CommentedSeq):
        lines = [_position(value.lc.item, i, line) for i in range(len(value))]
        pairs = zip(value, lines, strict=True)
        return Node([_tree(v, at, depth - 1, numbers) for v, at in pairs], line)
    return Node(_scalar(value, line), line)


def _position(find: Callable[[Any], tuple[int, int]], key: Any, line: int) -> int:
    try:
        return find(key)[0] + 1
    except (KeyError, TypeError):  # merged from an anchor: it has no line of its own
        return line


def _scalar(value: Any, line: int) -> Any:
    """Return a plain bool, int, float, str or None for the loader's own subclasses of them."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, ScalarBoolean):
        return bool(value)
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        raise Fault(line, f"has an integer of {value.bit_length()} bits; no setting is that large")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise Fault(line, f"{str(value)!r} has half of a surrogate pair, which is no character")
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)
    raise Fault(line, f"{value!s} is a {type(value).__name__}; put text in quotation marks")
