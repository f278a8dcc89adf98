"""JSON Schema of experiment files, for editors that complete and check them: `dualgap schema`.

It is made from what reads the files: the model of `experiment`, and the fields of the dataclasses of
formulations, kernels, losses, data sets and solvers. Whatever may be a grid axis may be a list of its
values. It knows names and types; `dualgap run` checks ranges and what depends on the data.

Source: JSON Schema, draft 2020-12 (json-schema.org).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from experiments.files.catalogue import Entry, entries
from experiments.files.grid import FOLLOWED, KEY
from experiments.files.keys import LABEL, SIZE, ExperimentFile
from experiments.files.settings import Option
from experiments.files.specs import SEARCHED, plain
from problems import Kernel

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_OUTSIDE = {"type": "string", "pattern": r"\.py:[^:]+$"}  # a class from a file
_ABOUT = "Problems and solvers: each solver is run on each problem, and each answer is certified."
_NAMED = {"solver": "solvers", "dataset": "datasets", "kernel": "kernels", "loss": "losses"}
_LABEL = {
    "type": "string",
    "pattern": LABEL,
    "description": "what tables and figures call this entry: text that no other entry has",
}
Schema = dict[str, Any]


def experiment_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of experiment files, as plain dicts and lists."""
    shape = ExperimentFile.model_json_schema()
    keys = shape["properties"]
    keys["problems"] |= {"items": _axis(_ref("problem"))}
    keys["solvers"] |= {"items": _axis(_ref("solver"))}
    keys["memory_limit"]["anyOf"].append({"type": "string", "pattern": SIZE})
    formulations = list(entries("problems"))
    names = [entry.name for entry in formulations]
    problem: Schema = {
        "type": "object",
        "required": ["formulation", "dataset"],
        "properties": {
            "formulation": _axis(_name(names)),
            "dataset": _axis(_ref("dataset")),
            KEY: _path(),
        },
        "allOf": list(_chosen("formulation", "formulation", names)),
    }
    definitions: dict[str, Schema] = {"problem": problem}
    definitions |= _settings("formulation", formulations, ["formulation", "dataset", KEY])
    for kind, key in _NAMED.items():
        named = list(entries(key))
        others = ["name", "label"] if kind == "solver" else ["name"]
        definitions |= {kind: _name_or_mapping(kind, named)} | _settings(kind, named, others)
    definitions["solver"]["else"]["properties"]["label"] = _LABEL
    about = {"$schema": DRAFT, "title": "dualgap experiment", "description": _ABOUT}
    return shape | about | {"$defs": definitions}


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(experiment_schema(), indent=1) + "\n"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _name(names: list[str]) -> Schema:
    return {"anyOf": [{"enum": names}, _OUTSIDE]}


def _axis(value: Schema) -> Schema:
    """Return the schema of a value or a grid axis; of a list that is a value only that of the axis."""
    if not value:
        return {}
    several = {"type": "array", "minItems": 1, "items": value}
    if value.get("type") == "array":
        return several
    # not anyOf, whose error could only be that neither of the two fits
    return {"if": {"type": "array"}, "then": several, "else": value}


def _name_or_mapping(kind: str, named: Collection[Entry]) -> Schema:
    """Return the schema of a name, or of a mapping with a name and settings."""
    names = [entry.name for entry in named]
    alone = [e.name for e in named if not any(option.required for option in e.options.values())]
    return {
        "if": {"type": "string"},
        "then": _name(alone),
        "else": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": _axis(_name(names))},
            "allOf": list(_chosen(kind, "name", names)),
        },
    }


def _chosen(kind: str, key: str, names: Collection[str]) -> Iterator[Schema]:
    """Yield for each name the settings that go with it; those of all names where they are a list."""
    for name in names:
        is_this = {"const": name}
        among = {"type": "array", "contains": is_this}
        met = {"properties": {key: {"anyOf": [is_this, among]}}, "required": [key]}
        yield {"if": met, "then": _ref(f"{kind}.{name}")}


def _settings(kind: str, named: Collection[Entry], others: Collection[str]) -> dict[str, Schema]:
    """Return the schema of each name's settings, beside which the keys `others` stand."""
    return {
        f"{kind}.{entry.name}": {
            "description": entry.source if kind == "solver" else entry.about,
            "properties": {key: {} for key in others}
            | {key: _setting(kind, key, option) for key, option in entry.options.items()},
            "additionalProperties": False,
            **_required([k for k, option in entry.options.items() if option.required], others),
        }
        for entry in named
    }


def _setting(kind: str, key: str, option: Option) -> Schema:
    """Return the schema of a setting; a solver's accuracy may be searched."""
    value: Schema = {}
    if key == "C":  # how many there would be, one for each sample, depends on the data
        value = {"type": "number"}
    elif key == "loss" or option.type is Kernel:
        value = _ref("loss" if key == "loss" else "kernel")
    else:
        with suppress(PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
            value = TypeAdapter(option.type).json_schema()
    if kind == "solver" and key in SEARCHED:
        value = {"anyOf": [{"const": "auto"}, value]}
    default = plain(option.default)
    known = not option.required and isinstance(default, (bool, int, float, str, list, dict))
    return _axis(value) | ({"default": default} if known else {})


def _required(keys: list[str], others: Collection[str]) -> Schema:
    """Return which keys must be there; a path stands for the parameter that it follows."""
    followed = [key for key in keys if key in FOLLOWED and KEY in others]
    if not followed:
        return {"required": keys}
    left = [{"required": [other for other in keys if other != key]} for key in followed]
    return {"if": {"required": [KEY]}, "then": {"anyOf": left}, "else": {"required": keys}}


def _path() -> Schema:
    """Return the schema of a path: the interval of one parameter, of which a list is an axis."""
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    several = {"type": "array", "minItems": 1, "items": numbers}
    interval = {"if": {"items": {"type": "array"}}, "then": several, "else": numbers}
    return {
        "type": "object",
        "properties": dict.fromkeys(FOLLOWED, interval) | {"gap": _axis({"type": "number"})},
        "additionalProperties": False,
        "description": "follow a parameter from one value to another, certified in between",
    }
