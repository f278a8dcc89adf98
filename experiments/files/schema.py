"""JSON Schema of experiment files, for editors that complete and check them: `dualgap schema`.

It is made from what reads the files: the model of `experiment`, and the fields of the dataclasses of
formulations, kernels, losses, data sets and solvers. Whatever may be a grid axis may be a list of its
values. It knows names and types; `dualgap run` checks ranges and what depends on the data.

Source: JSON Schema, draft 2020-12 (json-schema.org).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
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
_ENTRIES = {"problems": "problem", "solvers": "solver"}
_NAMED = {"solver": "solvers", "dataset": "datasets", "kernel": "kernels", "loss": "losses"}
_OF_A_PROBLEM = ("formulation", "dataset")
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
    for key, entry in _ENTRIES.items():
        keys[key] |= {"items": _axis(_ref(entry))}
    keys["memory_limit"]["anyOf"].append({"type": "string", "pattern": SIZE})
    formulations = list(entries("problems"))
    definitions = {"problem": _problem([entry.name for entry in formulations])}
    definitions |= _settings("formulation", formulations, [*_OF_A_PROBLEM, KEY])
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


def _type(key: str, hint: Any) -> Schema:
    """Return the schema of one value of a type."""
    if key == "C":
        return {
            "type": "number"
        }  # how many there would be, one for each sample, depends on the data
    if key == "loss" or hint is Kernel:
        return _ref("loss" if key == "loss" else "kernel")
    try:
        return TypeAdapter(hint).json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
        return {}


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


def _name(names: list[str]) -> Schema:
    return {"anyOf": [{"enum": names}, _OUTSIDE]}


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
            "properties": {key: {} for key in others} | _properties(kind, entry.options),
            "additionalProperties": False,
        }
        | _required(
            [key for key, option in entry.options.items() if option.required], KEY in others
        )
        for entry in named
    }


def _required(keys: list[str], has_path: bool) -> Schema:
    """Return which keys must be there; a path stands for the parameter that it follows."""
    if not has_path or not any(key in FOLLOWED for key in keys):
        return {"required": keys}
    left = [[other for other in keys if other != key] for key in keys if key in FOLLOWED]
    followed = {"anyOf": [{"required": others} for others in left]}
    return {"if": {"required": [KEY]}, "then": followed, "else": {"required": keys}}


def _or_auto(kind: str, key: str, value: Schema) -> Schema:
    """Return the schema of a setting; a solver's accuracy may be searched."""
    searched = kind == "solver" and key in SEARCHED
    return {"anyOf": [{"const": "auto"}, value]} if searched else value


def _properties(kind: str, options: Mapping[str, Option]) -> dict[str, Schema]:
    return {
        key: _axis(_or_auto(kind, key, _type(key, option.type)))
        | ({} if option.required else _default(option.default))
        for key, option in options.items()
    }


def _default(value: Any) -> Schema:
    value = plain(value)
    return {"default": value} if isinstance(value, (bool, int, float, str, list, dict)) else {}


def _problem(formulations: list[str]) -> Schema:
    return {
        "type": "object",
        "required": list(_OF_A_PROBLEM),
        "properties": {
            "formulation": _axis(_name(formulations)),
            "dataset": _axis(_ref("dataset")),
            KEY: _path(),
        },
        "allOf": list(_chosen("formulation", "formulation", formulations)),
    }


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


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
