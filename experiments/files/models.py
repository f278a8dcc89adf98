"""The keys of an experiment file: types, defaults and descriptions, also for its JSON schema."""

import re
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)

from dualgap.experiments.files.document import Document, Fault, Loc
from dualgap.experiments.files.settings import type_text
from dualgap.experiments.files.yaml import short_text
from dualgap.problems.registry import unknown
from dualgap.solvers import SOLVERS
from dualgap.solvers.paths.interval import Ends

# regular expressions with the same meaning in JSON schemas and in Python
SAFE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._ +-]{0,99}$"
LABEL = r"^[^\s/\\:]([^\n\r\t/\\:]{0,58}[^\s/\\:])?$"  # of an entry of `solvers`
SIZE = r"^\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([A-Za-z]*)\s*$"
DURATION = "^(?=.){}$".format(
    "".join(rf"(?:([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?){unit})?" for unit in "dhms")
)
_UNIT_SECONDS = (86400, 3600, 60, 1)  # seconds per day, hour, minute, second
_MIN_MEMORY_BYTES = 2**20  # no worker starts with less: a smaller number lacks its unit
_HINTS = {
    "seed": ", as in {name: pegasos, seed: [1, 2, 3]}; `repetitions: 3` draws one seed per run"
}
_REQUIREMENTS = {  # by key and kind of error, where pydantic's message is unsuitable
    "name string_pattern_mismatch": "consist of at most 100 letters, digits, '.', '_', '-', '+' and "
    "spaces and begin with a letter or digit, as it becomes a folder",
    "memory_limit greater_than_equal": "be 1 MiB or more; give a unit, such as 4GiB or 500MB",
}
M = TypeVar("M", bound=BaseModel)
_BYTES = TypeAdapter(ByteSize)


def _as_bytes(value: Any) -> Any:
    """Convert text such as "4GiB" or "500MB" to bytes; return other values unchanged."""
    if not isinstance(value, str):
        return value
    with suppress(ValidationError):
        if re.fullmatch(SIZE, value):  # pydantic ignores text after the unit
            return int(_BYTES.validate_python(value))
    raise ValueError("be a size such as 4GiB or 500MB, a number of bytes, or null")


def as_seconds(value: Any) -> Any:
    """Convert text such as "90s", "10m", "1h30m" or "2d" to seconds; return other values unchanged."""
    if not isinstance(value, str):
        return value
    if parts := re.fullmatch(DURATION, value):
        return sum(
            float(number) * seconds
            for number, seconds in zip(parts.groups(), _UNIT_SECONDS, strict=True)
            if number
        )
    raise ValueError("be a duration such as 90s, 10m, 1h30m or 2d, a number of seconds, or null")


_Memory = Annotated[int, Field(ge=_MIN_MEMORY_BYTES), BeforeValidator(_as_bytes)] | None


class ExperimentFile(BaseModel, frozen=True):
    """The top level of an experiment file; the entries of the lists are checked one by one."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: str = Field(description="also the folder of the runs", pattern=SAFE_NAME)
    problems: list[Any] = Field(min_length=1, description="each is solved by every solver")
    solvers: list[Any] = Field(min_length=1, description="names, or names with settings")
    only_problems: list[str] = Field(
        [],
        description="names as tables print them, or regular expressions: omit all others [all]",
    )
    only_solvers: list[str] = Field(
        [], description="names or labels as tables print them: omit all others [all]"
    )
    kind: Literal["comparison", "benchmark", "verification"] = Field(
        "comparison",
        description="published as a summary, times at equal gaps, or checks",
    )
    seed: int = Field(0, ge=0, lt=2**64, description="seed of everything that is drawn at random")
    repetitions: int = Field(1, ge=1, description="runs of each solver on each problem")
    time_limit: Annotated[float, Field(gt=0), BeforeValidator(as_seconds)] | None = Field(
        None,
        description="solving time per run, in seconds or as 10m; a run that does not stop is killed "
        "10 s after 1.5 times the limit, a path ten minutes later",
    )
    memory_limit: _Memory = Field(
        None, description="per worker: a size such as 4GiB, or a number of bytes"
    )
    target_gap: float = Field(
        1e-6, gt=0, lt=1, description="largest relative gap at which a verdict is 'solved'"
    )
    target: Literal["certified", "proven"] = Field(
        "certified", description="bounds in float64, or theorems from ball arithmetic"
    )
    warm_start: bool = Field(
        False,
        description="on problems that differ only in C, lam or epsilon, start each solver from its "
        "answer to the previous one",
    )
    trace: bool = Field(True, description="evaluate iterates while solvers run")
    describe: bool = Field(
        False,
        description="record, for solved runs and outside their time, properties of the problem at its "
        "optimum: conditioning, spectrum, constants in published rates; and keep traces complete",
    )
    noise: bool = Field(
        False,
        description="run the first configuration of each solver twice, to measure timing noise",
    )


class Slurm(BaseModel, frozen=True):
    """Resources that the jobs of a solver request from SLURM; others keep the cluster's defaults."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    cpus: int | None = Field(None, ge=1, description="cores of a job, and threads of its runs")
    mem: _Memory = Field(None, description="a size such as 4GiB, or a number of bytes")
    time: Annotated[float, Field(gt=0, lt=1e9), BeforeValidator(as_seconds)] | None = Field(
        None, description="time limit of a job: a duration such as 90m or 1h, or seconds"
    )
    partition: str | None = Field(None, description="partition of the jobs")


@dataclass(frozen=True)
class PathSettings:
    """The settings of a `path`: one interval (low, high), and the largest relative gap in it."""

    C: Ends | None = None
    lam: Ends | None = None
    epsilon: Ends | None = None
    gap: float = 1e-3


FOLLOWED = [each.name for each in fields(PathSettings) if each.name != "gap"]
COLUMN_KEYS = ("columns", "drop")  # of a table


def validate(shape: type[M], value: Any) -> tuple[M | None, list[Fault]]:
    """Return the checked keys of a mapping, None if any is wrong, and all faults."""
    try:
        return shape.model_validate(value), []
    except ValidationError as error:
        return None, [Fault(_fault_text(each, shape), *each["loc"]) for each in error.errors()]


def resources(value: Any) -> dict[str, Any]:
    """Return the SLURM resources in the entry of a solver, as plain values.

    Raises
    ------
    Fault
        At the first key that is not accepted.
    """
    if not isinstance(value, dict):
        example = "{cpus: 4, mem: 8GiB, time: 1h, partition: long}"
        raise Fault(f"slurm: must be a mapping such as {example}, got {short_text(value)}")
    checked, faults = validate(Slurm, value)
    if checked is None:
        raise Fault(f"slurm: {faults[0].text}", *faults[0].loc)
    return checked.model_dump(exclude_none=True)


def label_faults(document: Document) -> list[Fault]:
    """Return the faults in the labels of the entries of `solvers`."""
    faults, locs = list[Fault](), dict[str, Loc]()
    for k, entry in enumerate(document.listed("solvers")):
        if not isinstance(entry, dict) or "label" not in entry:
            continue
        label, loc = entry["label"], ("solvers", k, "label")
        if not (isinstance(label, str) and re.fullmatch(LABEL, label) and label.isprintable()):
            text = (
                "must be text of at most 60 characters without '/', '\\', ':' and control characters, "
                f"and without spaces at its ends, got {short_text(label)}"
            )
        elif isinstance(entry.get("name"), list):
            text = f"{label!r} would label several solvers; give each solver its own entry"
        elif label in SOLVERS:
            text = f"{label!r} is the name of a solver; choose another label"
        elif label in locs:
            other = document.location(locs[label])
            text = f"{label!r} is also the label in {other}; give each entry its own label"
        else:
            locs[label] = loc
            continue
        faults.append(Fault(f"label: {text}", *loc))
    return faults


def _fault_text(error: Any, shape: type[BaseModel]) -> str:
    """Return the text of an error of pydantic, in the words of this project."""
    key = str(error["loc"][0])
    if error["type"] == "extra_forbidden":
        return unknown("key", key, shape.model_fields)
    if error["type"] == "missing":
        return f"needs the key {key!r}"
    if error["type"] == "too_short":
        return f"{key}: must have at least one entry, got {short_text(error['input'])}"
    if isinstance(error["input"], list) and key not in ("problems", "solvers"):
        return (
            f"{key}: must be one value, got {error['input']!r}; lists of values are accepted only in "
            f"the entries of problems and solvers{_HINTS.get(key, '')}"
        )
    if error["type"].endswith("_type"):
        hint = get_type_hints(shape, include_extras=True)[key]
        return f"{key}: must be {type_text(hint)}, got {short_text(error['input'])}"
    message = error["msg"].removeprefix("Value error, ").removeprefix("Input should ")
    requirement = _REQUIREMENTS.get(f"{key} {error['type']}", message)
    return f"{key}: must {requirement}, got {short_text(error['input'])}"
