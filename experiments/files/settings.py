"""Build checked instances of frozen dataclasses from mappings in an experiment file.

One mechanism serves kernels, data sets, solvers and formulations: names and types come from the
fields of the class, ranges from its `__post_init__`, and every fault leads to its setting.
"""

import dataclasses
import json
import re
import types
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError

from dualgap.experiments.files.document import Fault, relocated
from dualgap.experiments.files.yaml import short_text
from dualgap.problems import Kernel
from dualgap.problems.registry import unknown

T = TypeVar("T")

_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)
_NOT_SETTINGS = ("X", "y", "name")  # the samples, and the name of the class


class Option(NamedTuple):
    """An accepted key: the type of its value, whether it is required, and its default."""

    type: Any
    required: bool
    default: Any = None


@cache
def options_of(cls: Any) -> Mapping[str, Option]:
    """Return the fields of a dataclass that a file may set, by name."""
    hints = get_type_hints(cls)
    options: dict[str, Option] = {}
    hidden = {*_NOT_SETTINGS, *getattr(cls, "data_fields", ())}
    for field in dataclasses.fields(cls):
        if field.init and field.name not in hidden:
            default, make = field.default, field.default_factory
            if make is not dataclasses.MISSING:
                default = make()
            required = default is dataclasses.MISSING
            options[field.name] = Option(hints[field.name], required, None if required else default)
    return options


def name_and_settings(value: Any, subject: str) -> tuple[str, dict[str, Any]]:
    """Split {name: x, setting: ...}, or the bare text x, into the name and the settings."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, dict):
        raise Fault(f"{subject}: must be a name or a mapping, got {short_text(value)}")
    settings = cast("dict[str, Any]", value)
    if "name" not in settings:
        raise Fault(f"{subject}: needs the key 'name'")
    if not isinstance(name := settings["name"], str):
        raise Fault(f"{subject}: name must be text, got {short_text(name)}", "name")
    return name, {key: setting for key, setting in settings.items() if key != "name"}


def build(
    make: Callable[..., T],
    options: Mapping[str, Option],
    settings: Mapping[str, Any],
    subject: str,
    convert: Mapping[str, Callable[[Any], Any]] | None = None,
) -> T:
    """Return make(**settings), with every name, type and range checked.

    Parameters
    ----------
    make : a dataclass, or a function that returns one.
    options : the accepted keys.
    settings : plain values.
    subject : the subject of messages.
    convert : functions for options that are not plain values.

    Raises
    ------
    Fault
        At the first setting that is not accepted.
    """
    for key in settings:
        if key not in options:
            raise Fault(f"{subject}: {unknown('setting', key, options)}", key)
    for key, option in options.items():
        if option.required and key not in settings:
            raise Fault(f"{subject}: needs the setting {key!r}")
    values, convert = dict[str, Any](), convert or {}
    for key, value in settings.items():
        if key in convert:
            with relocated({(): (key,)}):
                values[key] = convert[key](value)
        else:
            values[key] = _typed(subject, key, options[key].type, value)
    try:
        return make(**values)
    except (ValueError, TypeError, ArithmeticError) as error:
        setting = re.match(r"\w+", str(error))
        loc = [setting.group()] if setting and setting.group() in settings else []
        raise Fault(f"{subject}: {error}", *loc) from None


def _typed(subject: str, key: str, hint: Any, value: Any) -> Any:
    """Return the value as the type `hint`: 3 is a float; true and '1' are not numbers."""
    try:
        # as JSON, a list is accepted for a tuple
        return _adapter(hint).validate_json(json.dumps(value), strict=True)
    except PydanticSchemaGenerationError:
        return value
    except ValidationError:
        text = f"{subject}: {key}: must be {type_text(hint)}, got {short_text(value)}"
        raise Fault(text, key) from None


def type_text(hint: Any) -> str:
    """Return a phrase that describes the values of a type."""
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        Path: "text",
        type(None): "null",
        Kernel: "a kernel",
        list: "a list",
        tuple: "a list",
    }
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return type_text(parts[0])
    if origin is Literal:
        return "one of " + ", ".join(map(str, parts))
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(map(type_text, parts)))
    return names.get(origin or hint) or getattr(hint, "__name__", str(hint))
