"""JSON Schema of experiment files, for editors that complete and check them: `dualgap schema`.

It is made from what reads the files: the model of `config`, and the fields of the dataclasses of
formulations, kernels, losses, data sets and solvers. Whatever may be a grid axis may be a list of its
values. It knows names and types; ranges, and what only the data can tell, are for `dualgap run` to say.

Source: JSON Schema, draft 2020-12 (json-schema.org).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from experiments.files.experiment import SIZE, ExperimentFile
from experiments.files.settings import Option, option_of, options_of
from experiments.files.specs import KERNELS, plain
from problems import FORMULATIONS, Kernel, datasets
from problems.losses import LOSSES
from solvers import all_solvers

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_OUTSIDE = {"type": "string", "pattern": r"\.py:[^:]+$"}  # a solver from a file
_ABOUT = "Problems and solvers: each solver is run on each problem, and each answer is certified."
_ENTRIES = {"problems": "problem", "solvers": "solver"}
_OF_A_PROBLEM = ("formulation", "dataset")
Schema = dict[str, Any]


def experiment_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of experiment files, as plain dicts and lists."""
    shape = ExperimentFile.model_json_schema()
    keys = shape["properties"]
    for key, entry in _ENTRIES.items():
        keys[key] |= {"items": _axis(_ref(entry))}
    keys["memory_limit"]["anyOf"].append({"type": "string", "pattern": SIZE})
    named = {"solver": _solvers(), "dataset": _datasets(), "kernel": _kernels(), "loss": _losses()}
    definitions = {"problem": _problem()} | _formulations()
    for kind, entries in named.items():
        definitions |= {kind: _named(kind, entries)} | _settings(kind, entries)
    about = {"$schema": DRAFT, "title": "dualgap experiment", "description": _ABOUT}
    return shape | about | {"$defs": definitions}


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(experiment_schema(), indent=1) + "\n"


_Entry = tuple[str, dict[str, Schema], list[str]]  # description, settings, those that must be there
_Entries = dict[str, _Entry]


def _solvers() -> _Entries:
    return {name: (cls.source, *_options(cls)) for name, cls in all_solvers().items()}


def _kernels() -> _Entries:
    return {name: (_first_line(cls), *_options(cls)) for name, cls in KERNELS.items()}


def _losses() -> _Entries:
    return {name: (_first_line(cls), *_options(cls)) for name, cls in LOSSES.items()}


def _datasets() -> _Entries:
    found: _Entries = {}
    for name in datasets.names():
        known = datasets.fields(name)
        options = {key: option_of(field, field.type) for key, field in known.items()}
        values = {key: field.default for key, field in known.items()}
        told = datasets.describe(name).removeprefix(f"{name}: ")
        found[name] = (told, *_typed(options, values))
    return found


def _options(cls: Any, leave_out: tuple[str, ...] = ()) -> tuple[dict[str, Schema], list[str]]:
    """Return the schema of each field of a dataclass, and the fields that have no default."""
    options = {k: option for k, option in options_of(cls).items() if k not in leave_out}
    return _typed(options, {field.name: field.default for field in fields(cls)})


def _typed(
    options: Mapping[str, Option], values: Mapping[str, Any]
) -> tuple[dict[str, Schema], list[str]]:
    required = [key for key, option in options.items() if option.required]
    usual = {key: {} if key in required else _default(values[key]) for key in options}
    return {k: _axis(_type(k, option.type)) | usual[k] for k, option in options.items()}, required


def _default(value: Any) -> Schema:
    value = plain(value)
    return {"default": value} if isinstance(value, (bool, int, float, str, list, dict)) else {}


def _type(key: str, hint: Any) -> Schema:
    """Return the schema of one value of a type."""
    if key == "C":
        return {"type": "number"}  # one for each sample cannot be told before the data are there
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
    # not anyOf: that could only say that none of the two fits
    return {"if": {"type": "array"}, "then": several, "else": value}


def _named(kind: str, entries: _Entries) -> Schema:
    """Return the schema of a name, or of a mapping with a name and settings."""
    alone = [name for name, (_, _, required) in entries.items() if not required]
    outside = [_OUTSIDE] if kind == "solver" else []
    name = {"anyOf": [{"enum": list(entries)}, *outside]} if outside else {"enum": list(entries)}
    return {
        "if": {"type": "string"},
        "then": {"anyOf": [{"enum": alone}, *outside]} if outside else {"enum": alone},
        "else": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": _axis(name)},
            "allOf": list(_chosen(kind, "name", entries)),
        },
    }


def _chosen(kind: str, key: str, entries: Mapping[str, Any]) -> Iterator[Schema]:
    """Yield for each name the settings that go with it; those of all names where they are a list."""
    for name in entries:
        is_this = {"const": name}
        among = {"type": "array", "contains": is_this}
        met = {"properties": {key: {"anyOf": [is_this, among]}}, "required": [key]}
        yield {"if": met, "then": _ref(f"{kind}.{name}")}


def _settings(kind: str, entries: _Entries) -> dict[str, Schema]:
    return {
        f"{kind}.{name}": {
            "description": told,
            "properties": {"name": {}} | settings,
            "required": required,
            "additionalProperties": False,
        }
        for name, (told, settings, required) in entries.items()
    }


def _problem() -> Schema:
    return {
        "type": "object",
        "required": list(_OF_A_PROBLEM),
        "properties": {
            "formulation": _axis({"enum": list(FORMULATIONS)}),
            "dataset": _axis(_ref("dataset")),
        },
        "allOf": list(_chosen("formulation", "formulation", FORMULATIONS)),
    }


def _formulations() -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for name, cls in FORMULATIONS.items():
        settings, required = _options(cls, leave_out=("X", "y"))
        found[f"formulation.{name}"] = {
            "description": _first_line(cls),
            "properties": {key: {} for key in _OF_A_PROBLEM} | settings,
            "required": required,
            "additionalProperties": False,
        }
    return found


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0].strip("`")


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}
