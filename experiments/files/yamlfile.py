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

_MAX_DEPTH = 20  # levels of nesting; an alias inside itself would never end
_MAX_VALUES = 100_000  # aliases of aliases grow exponentially
MAX_FILE_BYTES = 256 * 1024  # about ten seconds of parsing
_MAX_INTEGER_BITS = 10_000  # Python refuses to print much longer integers
_MAX_FAULTS = 20  # shown per file
_MAX_FAULT_CHARACTERS = 600  # shown per fault


class Fault(Exception):
    """One fault of an experiment file, at a line.

    Lines count from 1; 0 is the whole file, and -k is the k-th option of the command line, or the k-th
    value of a dict.
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
        unique = {(fault.line, " ".join(fault.text.split())) for fault in faults}
        limit = _MAX_FAULT_CHARACTERS
        ordered = [
            (line, text if len(text) <= limit else f"{text[: limit - 4]} ...")
            for line, text in sorted(unique, key=lambda f: (f[0] > 0, abs(f[0]), f[1]))
        ]
        locations = [
            options[-line - 1] if line < 0 else f"{file}:{line}" if line else str(file)
            for line, _ in ordered
        ]
        lines = [f"{at}: {text}" for at, (_, text) in zip(locations, ordered, strict=True)]
        more = len(lines) - _MAX_FAULTS
        last = [f"{file}: and {more} more faults"] if more > 0 else []
        super().__init__("\n".join(map(printable, lines[:_MAX_FAULTS] + last)))


@dataclass(frozen=True, eq=False)
class Node:
    """A YAML value and its line: a dict of nodes, a list of nodes, or a plain scalar.

    Nodes compare by identity, so that caches by node are shared by all cases of a grid.
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
        """Return the entries of the list under this key; empty if there is no such list."""
        child = self.value.get(key) if isinstance(self.value, dict) else None
        return child.value if child is not None and isinstance(child.value, list) else []


def short_text(value: Any) -> str:
    """Return a plain value as messages quote it: in YAML's notation if that differs from Python's."""
    if value == "None":
        return "'None', which YAML reads as text"
    names = {None: "null", True: "true", False: "false"}
    return names[value] if value is None or isinstance(value, bool) else repr(value)


def yaml_text(value: Any) -> str:
    """Return a plain value as YAML.

    Raises
    ------
    Fault
        If it contains anything except numbers, text, lists and mappings.
    """
    yaml, stream = YAML(typ="safe", pure=True), StringIO()
    yaml.default_flow_style, yaml.width = None, 2**20
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    try:
        yaml.dump(value, stream)
    except RepresenterError as error:
        text = f"{error}; use numbers, text, lists and dicts; convert arrays with .tolist()"
        raise Fault(0, text) from None
    return stream.getvalue()


def with_paths(node: Node, path: str, paths: list[str]) -> Node:
    """Return a tree whose line -k refers to `paths[k - 1]`, such as problems.0.C."""
    paths.append(path)
    line, value = -len(paths), node.value

    def child_with_paths(key: str | int, child: Node) -> Node:
        return with_paths(child, f"{path}.{key}".lstrip("."), paths)

    if isinstance(value, dict):
        value = {key: child_with_paths(key, child) for key, child in value.items()}
    elif isinstance(value, list):
        value = [child_with_paths(k, child) for k, child in enumerate(value)]
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
            warnings.simplefilter("ignore")  # an anchor may be redefined
            root = yaml.compose(text)
        if root is None:
            return Node(None, 1)
        return _tree(root, yaml.constructor, 1, _MAX_DEPTH, count(1))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise Fault(line, f"is not YAML: {error.problem or error.context}") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Fault(line, f"is not YAML: U+{error.character:04X} is not allowed") from None
    except RecursionError:
        raise Fault(1, f"is nested deeper than {_MAX_DEPTH} levels") from None
    except Fault:
        raise
    except Exception as error:  # by the library, such as the OverflowError for "\\U99999999"
        raise Fault(1, f"is not YAML: {type(error).__name__}: {error}") from None


def _tree(node: Any, load: Any, line: int, depth: int, numbers: Iterator[int]) -> Node:
    """Convert a node of the library; `numbers` counts the nodes of the whole document."""
    if next(numbers) > _MAX_VALUES:
        raise Fault(line, f"has more than {_MAX_VALUES} values; aliases may have multiplied them")
    if depth == 0:
        raise Fault(line, f"is nested deeper than {_MAX_DEPTH} levels; an alias may contain itself")
    if isinstance(node, SequenceNode):
        items = [(item, item.start_mark.line + 1) for item in node.value]
        return Node([_tree(item, load, at, depth - 1, numbers) for item, at in items], line)
    if not isinstance(node, MappingNode):
        return Node(_scalar(node, load, line), line)
    load.flatten_mapping(node)  # puts the merged keys first
    merged: list[Any] = getattr(node, "merge", None) or []
    explicit: list[Any] = node.value[len(merged) :]
    lines, children = dict[str, int](), dict[str, Node]()
    for i, (name, child) in enumerate(explicit + merged):
        at = name.start_mark.line + 1
        if not isinstance(name, ScalarNode):
            raise Fault(at, f"the key is a {name.id}; put text in quotation marks")
        key = _scalar(name, load, at)
        if not isinstance(key, str):
            kind = type(key).__name__
            raise Fault(at, f"the key {key} is a {kind}; put text in quotation marks")
        if i < len(explicit) and key in lines:
            raise Fault(at, f'duplicate key "{key}": it is also set in line {lines[key]}')
        if i < len(explicit) or key not in lines:
            children[key] = _tree(child, load, at, depth - 1, numbers)
        if i < len(explicit):
            lines[key] = at
    return Node(children, line)


def _scalar(node: Any, load: Any, line: int) -> Any:
    """Return a scalar as a bool, int, float, str or None."""
    try:
        value = load.construct_object(node)
    except MarkedYAMLError:
        raise
    except Exception as error:
        raise Fault(line, f"is not YAML: {type(error).__name__}: {error}") from None
    if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
        raise Fault(line, f"has an integer of {value.bit_length()} bits; no setting is that large")
    if isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
        raise Fault(line, f"{value!r} has half of a surrogate pair, which is not a character")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise Fault(line, f"{value!s} is a {type(value).__name__}; put text in quotation marks")
