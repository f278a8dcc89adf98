"""JSON Schema of experiment files, for editors that complete and check them: `dualgap init --schema`.

It is derived from the code that reads the files: the model of `experiment`, and the fields of the
dataclasses of formulations, kernels, losses, data sets and solvers. Any grid axis may be a list of
values. The schema has names and types; `dualgap run` also checks ranges and conditions on the data.

Source: JSON Schema, draft 2020-12 (json-schema.org).
"""

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError

from dualgap.experiments.files.models import (
    COLUMN_KEYS,
    DURATION,
    FOLLOWED,
    LABEL,
    SIZE,
    ExperimentFile,
    Slurm,
)
from dualgap.experiments.files.settings import Option, options_of
from dualgap.experiments.files.specs import SEARCHED, plain
from dualgap.problems import FORMULATIONS, Kernel, datasets
from dualgap.problems.datasets import SOURCES, Published
from dualgap.problems.kernels import KERNELS
from dualgap.problems.losses import LOSSES
from dualgap.solvers import SOLVERS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_OUTSIDE = {"type": "string", "pattern": r"\.py:[^:]+$"}  # a class from a file
_ABOUT = "Problems and solvers: each solver is run on each problem, and each answer is certified."
_PLURALS = {"solver": "solvers", "dataset": "datasets", "kernel": "kernels", "loss": "losses"}
_LABEL = {
    "type": "string",
    "pattern": LABEL,
    "description": "unique name of this entry in tables and figures",
}
Schema = dict[str, Any]


def classes(kind: str) -> Mapping[str, Any]:
    """Return the classes of a kind (solvers, problems, losses, kernels, datasets) by name, in order."""
    if kind == "datasets":
        return {name: SOURCES.get(name, Published) for name in datasets.names()}
    registries = {"solvers": SOLVERS, "problems": FORMULATIONS, "losses": LOSSES}
    return (registries | {"kernels": KERNELS})[kind]


def about(name: str, cls: Any) -> str:
    """Return the description of a data set, or the first paragraph of another class's docstring."""
    if issubclass(cls, datasets.Loadable):
        return datasets.describe(name).removeprefix(f"{name}: ")
    return inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].replace("\n", " ")


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
    extra: Schema = {"dataset": _axis(_ref("dataset")), "path": _path()}
    definitions = {"problem": _mapping("formulation", "formulation", problems, extra)}
    definitions["problem"]["required"].append("dataset")
    definitions |= _settings("formulation", problems, ["formulation", *extra])
    for kind, plural in _PLURALS.items():
        by_name = classes(plural)
        without_settings = [
            name
            for name, cls in by_name.items()
            if not any(option.required for option in options_of(cls).values())
        ]
        extra = {"label": _LABEL, "slurm": slurm} if kind == "solver" else {}
        mapping, name = _mapping(kind, "name", by_name, extra), _name(without_settings)
        definitions[kind] = {"if": {"type": "string"}, "then": name, "else": mapping}
        definitions |= _settings(kind, by_name, ["name", *extra])
    head = {"$schema": DRAFT, "title": "dualgap experiment", "description": _ABOUT}
    return shape | head | {"$defs": definitions}


def schema_text() -> str:
    """Return the text of the schema file."""
    return json.dumps(experiment_schema(), indent=1) + "\n"


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _name(names: Iterable[str]) -> Schema:
    return {"anyOf": [{"enum": list(names)}, _OUTSIDE]}


def _axis(value: Schema) -> Schema:
    """Return the schema of a value or a grid axis; for a list-valued setting only that of the axis."""
    if not value:
        return {}
    axis = {"type": "array", "minItems": 1, "items": value}
    if value.get("type") == "array":
        return axis
    # not anyOf, whose error message could only be that neither alternative fits
    return {"if": {"type": "array"}, "then": axis, "else": value}


def _mapping(kind: str, key: str, names: Iterable[str], extra: Schema) -> Schema:
    """Return the schema of a mapping with a name, its settings, and extra keys.

    If the name is a list, the settings are those of all names in it.
    """
    conditions: list[Schema] = []
    for name in names:
        is_name = {"const": name}
        contains_name = {"type": "array", "contains": is_name}
        applies = {"properties": {key: {"anyOf": [is_name, contains_name]}}, "required": [key]}
        conditions.append({"if": applies, "then": _ref(f"{kind}.{name}")})
    return {
        "type": "object",
        "required": [key],
        "properties": {key: _axis(_name(names)), **extra},
        "allOf": conditions,
    }


def _settings(kind: str, by_name: Mapping[str, Any], extra: Sequence[str]) -> dict[str, Schema]:
    """Return the schema of each name's settings, which also accepts the keys `extra`."""
    schemas: dict[str, Schema] = {}
    for name, cls in by_name.items():
        options = options_of(cls)
        settings = {key: _setting(kind, key, option) for key, option in options.items()}
        keys = [key for key, option in options.items() if option.required]
        required: Schema = {"required": keys}
        if "path" in extra and (followed := [key for key in keys if key in FOLLOWED]):
            # a path replaces the parameter that it follows
            reduced = [{"required": [k for k in keys if k != key]} for key in followed]
            required = {
                "if": {"required": ["path"]},
                "then": {"anyOf": reduced},
                "else": required,
            }
        schemas[f"{kind}.{name}"] = {
            "description": cls.source if kind == "solver" else about(name, cls),
            "properties": {key: {} for key in extra} | settings,
            "additionalProperties": False,
            **required,
        }
    return schemas


def _setting(kind: str, key: str, option: Option) -> Schema:
    """Return the schema of a setting; a solver's accuracy may be searched."""
    value: Schema = {}
    if key == "C":  # the length of an array with one C per sample depends on the data
        value = {"type": "number"}
    elif key == "loss" or option.type is Kernel:
        value = _ref("loss" if key == "loss" else "kernel")
    else:
        with suppress(PydanticSchemaGenerationError, PydanticInvalidForJsonSchema):
            value = TypeAdapter(option.type).json_schema()
    if kind == "solver" and key in SEARCHED:
        value = {"anyOf": [{"const": "auto"}, value]}
    default = plain(option.default)
    if key in COLUMN_KEYS and value.get("type") == "array":
        axis = {"if": {"contains": {"type": "array"}}, "then": _axis(value), "else": value}
        return axis | {"default": plain(option.default)}
    has_default = not option.required and isinstance(default, (bool, int, float, str, list, dict))
    return _axis(value) | ({"default": default} if has_default else {})


def _path() -> Schema:
    """Return the schema of a path: the interval of one parameter, or an axis of intervals."""
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    axis = {"type": "array", "minItems": 1, "items": numbers}
    interval = {"if": {"items": {"type": "array"}}, "then": axis, "else": numbers}
    return {
        "type": "object",
        "properties": dict.fromkeys(FOLLOWED, interval) | {"gap": _axis({"type": "number"})},
        "additionalProperties": False,
        "description": "follow a parameter from one value to another, certified in between",
    }
