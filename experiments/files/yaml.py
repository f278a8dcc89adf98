"""YAML 1.2 as plain values with their positions, which are looked up only to report a fault."""

import warnings
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.representer import RepresenterError

from dualgap.experiments.files.document import ConfigError, Document, Fault, Loc, Span

MAX_FILE_BYTES = 256 * 1024  # about ten seconds of parsing
_MAX_DEPTH = 20  # levels of nesting; an alias inside itself would never end
_MAX_VALUES = 100_000  # aliases of aliases grow exponentially
_MAX_INTEGER_BITS = 10_000  # Python refuses to print much longer integers


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
        raise Fault(text) from None
    return stream.getvalue()


def parse(content: bytes, name: object = "") -> Document:
    """Return the document of a YAML file.

    Raises
    ------
    ConfigError
        If it is not UTF-8, not YAML, has a key twice, or is too deep or too large.
    """
    text = content.decode(errors="replace")
    try:
        value, spans = load(content)
    except Fault as fault:
        raise ConfigError(Document(str(name), text), [fault]) from None
    return Document(str(name), text, value, spans)


def load(content: bytes) -> tuple[Any, dict[Loc, Span]]:
    """Return the plain value of a YAML text, and the positions of its parts; raise Fault."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise Fault("is not UTF-8 text; save the file as UTF-8", span=Span(line)) from None
    yaml = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an anchor may be redefined
            root = yaml.compose(text)
        values = _Values(yaml.constructor)
        return values.plain(root, (), Span(1)), values.spans
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = Span(1) if mark is None else Span(mark.line + 1, *2 * [mark.column + 1])
        raise Fault(f"is not YAML: {error.problem or error.context}", span=span) from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problem = f"is not YAML: U+{error.character:04X} is not allowed"
        raise Fault(problem, span=Span(line)) from None
    except RecursionError:
        raise Fault(f"is nested deeper than {_MAX_DEPTH} levels", span=Span(1)) from None
    except Fault:
        raise
    except Exception as error:  # by the library, such as the OverflowError for "\\U99999999"
        raise Fault(f"is not YAML: {type(error).__name__}: {error}", span=Span(1)) from None


class _Values:
    """Converts the nodes of ruamel.yaml to plain values, and notes where each of them is."""

    def __init__(self, constructor: Any) -> None:
        self.constructor, self.spans = constructor, dict[Loc, Span]()

    def plain(self, node: Any, loc: Loc, span: Span) -> Any:
        """Return the plain value of a node; aliases are followed, within limits."""
        self.spans[loc] = span
        if len(self.spans) > _MAX_VALUES:
            text = f"has more than {_MAX_VALUES} values; aliases may have multiplied them"
            raise Fault(text, span=span)
        if len(loc) == _MAX_DEPTH:
            text = f"is nested deeper than {_MAX_DEPTH} levels; an alias may contain itself"
            raise Fault(text, span=span)
        if isinstance(node, SequenceNode):
            items = ((item, _span(item, item)) for item in node.value)
            return [self.plain(item, (*loc, k), at) for k, (item, at) in enumerate(items)]
        if isinstance(node, MappingNode):
            return self._mapping(node, loc)
        return None if node is None else self._scalar(node, span)

    def _mapping(self, node: Any, loc: Loc) -> dict[str, Any]:
        """Return a mapping; merged keys come after explicit ones."""
        self.constructor.flatten_mapping(node)  # puts the merged keys first
        merged: list[Any] = getattr(node, "merge", None) or []
        explicit: list[Any] = node.value[len(merged) :]
        children = dict[str, Any]()
        for i, (name, child) in enumerate(explicit + merged):
            span = _span(name, child)
            key = self._key(name, span)
            if key not in children:
                children[key] = self.plain(child, (*loc, key), span)
            elif i < len(explicit):
                line = self.spans[*loc, key].line
                text = f'duplicate key "{key}": it is also set in line {line}'
                raise Fault(text, span=span)
        return children

    def _key(self, node: Any, span: Span) -> str:
        if not isinstance(node, ScalarNode):
            raise Fault(f"the key is a {node.id}; put text in quotation marks", span=span)
        key = self._scalar(node, span)
        if isinstance(key, str):
            return key
        kind = type(key).__name__
        raise Fault(f"the key {key} is a {kind}; put text in quotation marks", span=span)

    def _scalar(self, node: Any, span: Span) -> Any:
        """Return a scalar as a bool, int, float, str or None."""
        try:
            value = self.constructor.construct_object(node)
        except MarkedYAMLError:
            raise
        except Exception as error:
            raise Fault(f"is not YAML: {type(error).__name__}: {error}", span=span) from None
        if isinstance(value, int) and value.bit_length() > _MAX_INTEGER_BITS:
            text = f"has an integer of {value.bit_length()} bits; no setting is that large"
        elif isinstance(value, str) and any("\ud800" <= c <= "\udfff" for c in value):
            text = f"{value!r} has half of a surrogate pair, which is not a character"
        elif value is None or isinstance(value, (bool, int, float, str)):
            return value
        else:
            text = f"{value!s} is a {type(value).__name__}; put text in quotation marks"
        raise Fault(text, span=span)


def _span(first: Any, last: Any) -> Span:
    """Return the span from the start of a node to the end of another, in the line of the first."""
    start, end = first.start_mark, last.end_mark
    is_one_line = end.line == start.line and end.column > start.column  # an alias may be elsewhere
    return Span(start.line + 1, start.column + 1, end.column if is_one_line else 0)
