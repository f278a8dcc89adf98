"""YAML 1.2 files as trees of values with their lines, so that every error can name its line."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any, Self

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import RepresenterError

from dualgap.experiments.records import Refusal
from dualgap.problems.texts import printable

_DEEPEST = 20  # levels; an alias inside itself would have no end
_MOST = 100_000  # values; aliases of aliases grow exponentially
LARGEST = 256 * 1024  # bytes, which take some ten seconds to parse
_LONGEST = 10_000  # bits of an integer; Python refuses to show much longer ones
_MOST_SHOWN, _TEXT = 20, 600  # faults of a file; characters of one


class Fault(Exception):
    """One thing that is wrong with an experiment file, at a line.

    Lines count from 1; 0 is the whole file, and -k the k-th option of the command line, or place in a
    dict.
    """

    def __init__(self, line: int, text: str) -> None:
        super().__init__(line, text)
        self.line, self.text = line, text


class ConfigError(Refusal):
    """An experiment file that cannot be run; the message has one line for each fault."""

    has_lines = True

    def __init__(
        self, file: Path | str, faults: Iterable[Fault], options: Sequence[str] = ()
    ) -> None:
        told = {(fault.line, " ".join(fault.text.split())) for fault in faults}
        ordered = [
            (line, text if len(text) <= _TEXT else f"{text[: _TEXT - 4]} ...")
            for line, text in sorted(told, key=lambda own: (own[0] > 0, abs(own[0]), own[1]))
        ]
        places = [
            options[-line - 1] if line < 0 else f"{file}:{line}" if line else str(file)
            for line, _ in ordered
        ]
        lines = [f"{place}: {text}" for place, (_, text) in zip(places, ordered, strict=True)]
        more = len(lines) - _MOST_SHOWN
        last = [f"{file}: and {more} more faults"] if more > 0 else []
        super().__init__("\n".join(map(printable, lines[:_MOST_SHOWN] + last)))


@dataclass(frozen=True, eq=False)
class Node:
    """A YAML value and its line: a dict of nodes, a list of nodes, or a plain scalar.

    A node is equal to itself alone, so that what it describes is found once for all cases of a grid.
    """

    value: Any
    line: int

    @property
    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {key: child.plain for key, child in self.value.items()}
        return [c.plain for c in self.value] if isinstance(self.value, list) else self.value

    def listed(self, key: str) -> list[Self]:
        """Return the entries of the list that a dict has by this key; none where it is no such thing."""
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return found.value if found is not None and isinstance(found.value, list) else []


def shown(value: Any) -> str:
    """Return a plain value as a message quotes it: as YAML has it where that is not what Python says."""
    if value == "None":
        return "'None', which YAML takes for text"
    names = {None: "null", True: "true", False: "false"}
    return names[value] if value is None or isinstance(value, bool) else repr(value)


def yaml_text(value: Any) -> str:
    """Return a plain value as YAML.

    Raises
    ------
    Fault
        If it has anything but numbers, text, lists and mappings.
    """
    yaml, stream = YAML(typ="safe", pure=True), StringIO()
    yaml.default_flow_style, yaml.width = None, 2**20
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    try:
        yaml.dump(value, stream)
    except RepresenterError as error:
        told = f"{error}; write numbers, text, lists and dicts, as .tolist() makes of an array"
        raise Fault(0, told) from None
    return stream.getvalue()


def named_by_place(node: Node, place: str, places: list[str]) -> Node:
    """Return a tree whose lines say where a value is: at -k, `places[k - 1]`, as problems.0.C."""
    places.append(place)
    line, value = -len(places), node.value

    def inside(key: str | int, child: Node) -> Node:
        return named_by_place(child, f"{place}.{key}".lstrip("."), places)

    if isinstance(value, dict):
        value = {key: inside(key, child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [inside(k, child) for k, child in enumerate(value)]
    return Node(value, line)


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
    yaml = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor may be used again
            root = yaml.compose(text)
        return (
            Node(None, 1) if root is None else _tree(root, yaml.constructor, 1, _DEEPEST, count(1))
        )
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise Fault(line, f"is not YAML: {error.problem or error.context}") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Fault(line, f"is not YAML: U+{error.character:04X} is not allowed") from None
    except RecursionError:
        raise Fault(1, f"is nested deeper than {_DEEPEST} levels") from None
    except Fault:
        raise
    except Exception as error:  # of the library itself, such as the OverflowError of "\\U99999999"
        raise Fault(1, f"is not YAML: {type(error).__name__}: {error}") from None


def _tree(node: Any, load: Any, line: int, depth: int, numbers: Iterator[int]) -> Node:
    """Return one of the library's nodes as ours; `numbers` counts those of the whole document."""
    if next(numbers) > _MOST:
        raise Fault(line, f"has more than {_MOST} values; aliases may have multiplied them")
    if depth == 0:
        raise Fault(line, f"is nested deeper than {_DEEPEST} levels; an alias may hold itself")
    if isinstance(node, SequenceNode):
        items = [(item, item.start_mark.line + 1) for item in node.value]
        return Node([_tree(item, load, at, depth - 1, numbers) for item, at in items], line)
    if not isinstance(node, MappingNode):
        return Node(_scalar(node, load, line), line)
    load.flatten_mapping(node)  # which puts the merged keys first
    merged: list[Any] = getattr(node, "merge", None) or []
    own: list[Any] = node.value[len(merged) :]
    lines, children = dict[str, int](), dict[str, Node]()
    for i, (name, child) in enumerate(own + merged):
        at = name.start_mark.line + 1
        if not isinstance(name, ScalarNode):
            raise Fault(at, f"the key is a {name.id}; put text in quotation marks")
        key = _scalar(name, load, at)
        if not isinstance(key, str):
            kind = type(key).__name__
            raise Fault(at, f"the key {key} is a {kind}; put text in quotation marks")
        if i < len(own) and key in lines:
            raise Fault(at, f'duplicate key "{key}": it is set in line {lines[key]} too')
        if i < len(own) or key not in lines:
            children[key] = _tree(child, load, at, depth - 1, numbers)
        if i < len(own):
            lines[key] = at
    return Node(children, line)


def _scalar(node: Any, load: Any, line: int) -> Any:
    """Return the bool, int, float, str or None that a scalar is."""
    try:
        value = load.construct_object(node)
    except MarkedYAMLError:
        raise
    except Exception as error:
        raise Fault(line, f"is not YAML: {type(error).__name__}: {error}") from None
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        raise Fault(line, f"has an integer of {value.bit_length()} bits; no setting is that large")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise Fault(line, f"{value!r} has half of a surrogate pair, which is no character")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise Fault(line, f"{value!s} is a {type(value).__name__}; put text in quotation marks")
