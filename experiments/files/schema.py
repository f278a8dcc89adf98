"""JSON Schema of experiment files, for editors that complete and check them: `dualgap schema`.

It is made from what reads the files: the model of `experiment`, and the fields of the dataclasses of
formulations, kernels, losses, data sets and solvers. Whatever may be a grid axis may be a list of its
values. It knows names and types; `dualgap run` checks ranges and what depends on the data.

Source: JSON Schema, draft 2020-12 (json-schema.org).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from dualgap.experiments.files.catalogue import about, classes
from dualgap.experiments.files.grid import FOLLOWED, KEY, NAMES
from dualgap.experiments.files.keys import DURATION, LABEL, SIZE, ExperimentFile, Slurm
from dualgap.experiments.files.settings import Option, options_of
from dualgap.experiments.files.specs import SEARCHED, plain
from dualgap.problems import Kernel

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
    slurm = Slurm.model_json_schema()
    for key, pattern in (("mem", SIZE), ("time", DURATION)):
        slurm["properties"][key]["anyOf"].append({"type": "string", "pattern": pattern})
    keys["memory_limit"]["anyOf"].append({"type": "string", "pattern": SIZE})
    keys["time_limit"]["anyOf"].append({"type": "string", "pattern": DURATION})
    problems = classes("problems")
    beside: Schema = {"dataset": _axis(_ref("dataset")), KEY: _path()}
    definitions = {"problem": _mapping("formulation", "formulation", problems, beside)}
    definitions["problem"]["required"].append("dataset")
    definitions |= _settings("formulation", problems, ["formulation", *beside])
    for kind, key in _NAMED.items():
        named = classes(key)
        alone = [
            name
            for name, cls in named.items()
            if not any(option.required for option in options_of(cls).values())
        ]
        beside = {"label": _LABEL, "slurm": slurm} if kind == "solver" else {}
        mapping = _mapping(kind, "name", named, beside)
        definitions[kind] = {"if": {"type": "string"}, "then": _name(alone), "else": mapping}
        definitions |= _settings(kind, named, ["name", *beside])
    head = {"$schema": DRAFT, "title": "dualgap experiment", "description": _ABOUT}
    return shape | head | {"$defs": definitions}


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(experiment_schema(), indent=1) + "\n"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _name(names: Iterable[str]) -> Schema:
    return {"anyOf": [{"enum": list(names)}, _OUTSIDE]}


def _axis(value: Schema) -> Schema:
    """Return the schema of a value or a grid axis; of a list that is a value only that of the axis."""
    if not value:
        return {}
    several = {"type": "array", "minItems": 1, "items": value}
    if value.get("type") == "array":
        return several
    # not anyOf, whose error could only be that neither of the two fits
    return {"if": {"type": "array"}, "then": several, "else": value}


def _mapping(kind: str, key: str, names: Iterable[str], beside: Schema) -> Schema:
    """Return the schema of a mapping with a name, the settings that go with it, and other keys.

    Where the names are a list, the settings are those of all of them.
    """
    chosen: list[Schema] = []
    for name in names:
        is_this = {"const": name}
        among = {"type": "array", "contains": is_this}
        met = {"properties": {key: {"anyOf": [is_this, among]}}, "required": [key]}
        chosen.append({"if": met, "then": _ref(f"{kind}.{name}")})
    return {
        "type": "object",
        "required": [key],
        "properties": {key: _axis(_name(names)), **beside},
        "allOf": chosen,
    }


def _settings(kind: str, named: Mapping[str, Any], others: Sequence[str]) -> dict[str, Schema]:
    """Return the schema of each name's settings, beside which the keys `others` stand."""
    found: dict[str, Schema] = {}
    for name, cls in named.items():
        options = options_of(cls)
        settings = {key: _setting(kind, key, option) for key, option in options.items()}
        keys = [key for key, option in options.items() if option.required]
        required: Schema = {"required": keys}
        if KEY in others and (followed := [key for key in keys if key in FOLLOWED]):
            # a path stands for the parameter that it follows
            left = [{"required": [other for other in keys if other != key]} for key in followed]
            required = {"if": {"required": [KEY]}, "then": {"anyOf": left}, "else": required}
        found[f"{kind}.{name}"] = {
            "description": cls.source if kind == "solver" else about(name, cls),
            "properties": {key: {} for key in others} | settings,
            "additionalProperties": False,
            **required,
        }
    return found


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
    if key in NAMES and value.get("type") == "array":
        several = {"if": {"contains": {"type": "array"}}, "then": _axis(value), "else": value}
        return several | {"default": plain(option.default)}
    known = not option.required and isinstance(default, (bool, int, float, str, list, dict))
    return _axis(value) | ({"default": default} if known else {})


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
