"""The keys of an experiment file: their types, defaults and descriptions, also for its JSON schema."""

import re
from contextlib import suppress
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

from dualgap.experiments.files.settings import type_text
from dualgap.experiments.files.yamlfile import Fault, Node, shown
from dualgap.problems.registry import unknown
from dualgap.solvers import SOLVERS

SAFE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._ +-]{0,99}$"  # as JSON schemas and Python both read it
LABEL = r"^[^\s/\\:]([^\n\r\t/\\:]{0,58}[^\s/\\:])?$"  # of an entry of `solvers`
SIZE = r"^\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*([A-Za-z]*)\s*$"
DURATION = "^(?=.){}$".format(
    "".join(rf"(?:([0-9]{{1,9}}(?:\.[0-9]{{1,9}})?){unit})?" for unit in "dhms")
)
_UNITS = (86400, 3600, 60, 1)  # seconds, of a day, an hour, a minute, a second
_LEAST_MEMORY = 2**20  # bytes; no worker starts with less, so that a number below it lacks its unit
_HINTS = {
    "seed": ", as in {name: pegasos, seed: [1, 2, 3]}; `repetitions: 3` draws a seed for each run"
}
_MUST = {  # by key and kind of error, where pydantic's own words would not do
    "name string_pattern_mismatch": "consist of at most 100 letters, digits, '.', '_', '-', '+' and "
    "spaces and begin with a letter or digit, as it becomes a folder",
    "memory_limit greater_than_equal": "be 1 MiB or more; give a unit, such as 4GiB or 500MB",
}
M = TypeVar("M", bound=BaseModel)
_BYTES = TypeAdapter(ByteSize)


def _as_bytes(value: Any) -> Any:
    """Return bytes for text such as "4GiB" or "500MB"; anything else is left as it is."""
    if not isinstance(value, str):
        return value
    with suppress(ValidationError):
        if re.fullmatch(SIZE, value):  # pydantic overlooks what comes after the unit
            return int(_BYTES.validate_python(value))
    raise ValueError("be a size such as 4GiB or 500MB, a number of bytes, or null")


def as_seconds(value: Any) -> Any:
    """Return seconds for text such as "90s", "10m", "1h30m" or "2d"; anything else is left as it is."""
    if not isinstance(value, str):
        return value
    if parts := re.fullmatch(DURATION, value):
        return sum(
            float(number) * seconds
            for number, seconds in zip(parts.groups(), _UNITS, strict=True)
            if number
        )
    raise ValueError("be a duration such as 90s, 10m, 1h30m or 2d, a number of seconds, or null")


_Memory = Annotated[int, Field(ge=_LEAST_MEMORY), BeforeValidator(_as_bytes)] | None


def checked_labels(solvers: list[Node], faults: list[Fault]) -> None:
    """Add what is wrong with the labels of the entries of `solvers`."""
    lines: dict[str, int] = {}
    for entry in solvers:
        node = entry.value.get("label") if isinstance(entry.value, dict) else None
        if node is None:
            continue
        label = node.value
        if not (isinstance(label, str) and re.fullmatch(LABEL, label) and label.isprintable()):
            text = (
                "must be text of at most 60 characters without '/', '\\', ':' and control characters, "
                f"and without spaces at its ends, got {shown(node.plain)}"
            )
        elif isinstance(entry.value.get("name", node).value, list):
            text = f"{label!r} would be that of several solvers; give each an entry of its own"
        elif label in SOLVERS:
            text = f"{label!r} is the name of a solver; choose another one"
        elif label in lines:
            text = (
                f"{label!r} is that of line {lines[label]} too; give each entry a label of its own"
            )
        else:
            lines[label] = node.line
            continue
        faults.append(Fault(node.line, f"label: {text}"))


class ExperimentFile(BaseModel, frozen=True):
    """The shape of an experiment file; what is inside the lists is checked entry by entry."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    name: str = Field(description="also the folder of the runs", pattern=SAFE_NAME)
    problems: list[Any] = Field(min_length=1, description="each is solved by every solver")
    solvers: list[Any] = Field(min_length=1, description="names, or names with settings")
    only_problems: list[str] = Field(
        [],
        description="names as tables print them, or regular expressions: others are left out [all]",
    )
    only_solvers: list[str] = Field(
        [], description="names or labels as tables print them: others are left out [all]"
    )
    kind: Literal["comparison", "benchmark", "verification"] = Field(
        "comparison",
        description="what is published of it: a summary, times at equal gaps, or checks",
    )
    seed: int = Field(0, ge=0, lt=2**64, description="seed of everything that is drawn at random")
    repetitions: int = Field(1, ge=1, description="runs of each solver on each problem")
    time_limit: Annotated[float, Field(gt=0), BeforeValidator(as_seconds)] | None = Field(
        None,
        description="of solving a run, in seconds or as 10m; it is killed after 1.5 times that and 10 s "
        "if it does not stop by itself, a path ten minutes later",
    )
    memory_limit: _Memory = Field(
        None, description="of a worker: a size such as 4GiB, or a number of bytes"
    )
    target_gap: float = Field(
        1e-6, gt=0, lt=1, description="relative gap at which a verdict is 'solved'"
    )
    target: Literal["certified", "proven"] = Field(
        "certified", description="bounds in float64, or theorems from ball arithmetic"
    )
    warm_start: bool = Field(
        False,
        description="on problems that differ in C, lam or epsilon alone each solver begins at its "
        "answer to the one listed before",
    )
    trace: bool = Field(True, description="evaluate iterates while solvers run")
    describe: bool = Field(
        False,
        description="record, of solved runs and outside their time, what the problem is like at its "
        "optimum: conditioning, spectrum, constants of published rates; and thin out no trace",
    )
    noise: bool = Field(
        False, description="run the first of each solver twice, to measure timing noise"
    )


class Slurm(BaseModel, frozen=True):
    """What the jobs of a solver ask of SLURM; what is left out is left to the cluster."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    cpus: int | None = Field(None, ge=1, description="cores of a job, and threads of its runs")
    mem: _Memory = Field(None, description="a size such as 4GiB, or a number of bytes")
    time: Annotated[float, Field(gt=0, lt=1e9), BeforeValidator(as_seconds)] | None = Field(
        None, description="how long a job may run: a duration such as 90m or 1h, or seconds"
    )
    partition: str | None = Field(None, description="where its jobs wait")


def resources(node: Node) -> dict[str, Any]:
    """Return what the entry of a solver asks of SLURM, as plain values.

    Raises
    ------
    Fault
        At the line of what is not accepted.
    """
    if not isinstance(node.value, dict):
        example = "{cpus: 4, mem: 8GiB, time: 1h, partition: long}"
        raise Fault(
            node.line, f"slurm: must be a mapping such as {example}, got {shown(node.plain)}"
        )
    try:
        return Slurm.model_validate(node.plain).model_dump(exclude_none=True)
    except ValidationError as error:
        found = error.errors()[0]
        key = str(found["loc"][0])
        raise Fault(node.value[key].line, f"slurm: {_fault_text(key, found, Slurm)}") from None


def checked_keys(root: Node, faults: list[Fault], shape: type[M]) -> M | None:
    """Return the keys of a file of a shape; None if any is wrong, with what is in `faults`."""
    try:
        return shape.model_validate(root.plain)
    except ValidationError as error:
        for found in error.errors():
            key = str(found["loc"][0])
            line = root.value.get(key, root).line
            faults.append(Fault(line, _fault_text(key, found, shape)))
    return None


def _fault_text(key: str, found: Any, shape: type[BaseModel]) -> str:
    if found["type"] == "extra_forbidden":
        return unknown("key", key, shape.model_fields)
    if found["type"] == "missing":
        return f"needs the key {key!r}"
    if found["type"] == "too_short":
        return f"{key}: must have at least one entry, got {shown(found['input'])}"
    if isinstance(found["input"], list) and key not in ("problems", "solvers"):
        return (
            f"{key}: must be one value, got {found['input']!r}; lists of values may stand inside the "
            f"entries of problems and solvers{_HINTS.get(key, '')}"
        )
    if found["type"].endswith("_type"):
        hint = get_type_hints(shape, include_extras=True)[key]
        return f"{key}: must be {type_text(hint)}, got {shown(found['input'])}"
    message = found["msg"].removeprefix("Value error, ").removeprefix("Input should ")
    must = _MUST.get(f"{key} {found['type']}", message)
    return f"{key}: must {must}, got {shown(found['input'])}"
