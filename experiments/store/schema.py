"""Validation of the files of a results folder when they are read: they may come from anyone.

A name from such a file becomes part of a path only through `safe_path`.
"""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)
from pydantic.types import Json

from dualgap.experiments.records.columns import FILES, ColumnSpec
from dualgap.problems.validation import short_repr
from dualgap.solvers import Status
from dualgap.solvers.running.solution import Verdict

# names that all file systems accept, except for hidden files and names that look like options
_PART = re.compile(r'[^\s.~/\\:*?"<>|\x00-\x1f\x7f-][^/\\:*?"<>|\x00-\x1f\x7f]{0,199}')


def safe_path(text: str) -> PurePosixPath:
    """Return a relative path from an untrusted file, which cannot leave the folder it is joined to.

    Raises
    ------
    ValueError
        If it is empty or absolute, or a part of it is `..`, hidden, or has a character of
        `/\\:*?"<>|` or a control character.
    """
    path = PurePosixPath(text)
    if not path.parts or not all(map(_PART.fullmatch, path.parts)):
        raise ValueError(
            f"{short_repr(text)} is not a relative path without '..', hidden parts, control characters "
            'and any of \\:*?"<>|'
        )
    return path


def safe_name(text: str) -> str:
    """Return a name from an untrusted file that is one part of a path; ValueError as `safe_path`."""
    if not _PART.fullmatch(text):
        safe_path(text)
        raise ValueError(f"{short_repr(text)} is not one part of a path")
    return text


Name = Annotated[str, AfterValidator(safe_name)]

_Versions = dict[str, Annotated[str, Field(max_length=100)]]  # a message quotes them


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Named(_Shape):
    name: str


class _Parameters(_Shape):
    kernel: _Named | None = None
    loss: _Named | None = None


class _Interval(_Shape):
    parameter: str
    low: float
    high: float


class _Nothing(_Shape, extra="forbid"):
    pass


class _ProblemEntry(_Shape):
    formulation: str
    dataset: _Named
    parameters: _Parameters
    path: _Nothing | _Interval


class _NamedSolver(_Named):
    settings: dict[str, Any]
    series: str


class _Earlier(_Shape):
    versions: _Versions
    code: _Versions = {}
    date: str = ""
    differs: list[str] = []


class _Commit(_Shape):
    commit: str
    dirty: bool


class _Pool(_Shape):
    library: str
    version: str | None
    threads: int


class _Provenance(_Shape):
    git: _Commit | None = None
    blas: list[_Pool] = []
    environment: dict[str, str] = {}
    governor: str = ""
    container: str = ""
    frequency: float | None = None
    frequency_after: float | None = None


class _Machine(_Shape):
    processor: str
    cores: int
    memory: int


class _Plan(_Shape):
    """The entries that a folder and each of its sessions have."""

    run_ids: list[Name]
    name: str
    kind: str
    time_limit: Annotated[float, Field(gt=0)] | None
    problems: dict[str, _ProblemEntry]
    solvers: dict[str, _NamedSolver]
    code: _Versions
    versions: _Versions
    host: str
    platform: str
    machine: _Machine
    date: str
    folder: str = ""
    data: dict[str, dict[str, str]] = {}
    options: list[str] = []
    plans: list[str] = []


class Manifest(_Plan):
    """The manifest of a published folder."""

    earlier: list[_Earlier] = []
    provenance: list[_Provenance] = []


class SessionManifest(_Plan):
    """The manifest of a session.

    Attributes
    ----------
    previous : the sessions that the folder had when this one began.
    restarted : keys of the rounds of which no record of a previous session counts.
    replaces_plan : whether only the runs of this plan count from now on.
    lines, sha256 : of its log, once it has ended.
    """

    experiment: str
    previous: list[Name]
    restarted: list[Name]
    replaces_plan: bool
    provenance: _Provenance
    lines: Annotated[int, Field(ge=0)] | None = None
    sha256: str = ""


class OtherManifest(BaseModel):
    """The entries used from a manifest of another release."""

    schema_: int = Field(alias="schema")
    versions: dict[str, Any] = {}
    code: dict[str, Any] = {}


def _row(name: str, columns: tuple[ColumnSpec, ...], **fields: Any) -> type[BaseModel]:
    """Return the model of a table's row: numbers may be text, as NumPy's are written to JSON."""
    kinds: dict[str, Any] = {"text": str, "flag": bool, "json": Json[dict[str, Any]]}
    kinds |= dict.fromkeys(("number", "whole", "measure"), float)
    types: dict[str, Any] = {each.name: (kinds[each.kind] | None, None) for each in columns}
    return create_model(name, **(types | fields))


_RECORD = _row(
    "Record",
    FILES["runs.csv"],
    **{
        "run_id": (Name, ...),
        "problem_id": (str, ...),
        "problem": (Json[_ProblemEntry] | None, None),
    },
    **dict.fromkeys(("solver", "label", "series"), (str, ...)),
    status=(Status, ...),
    verdict=(Verdict, ...),
    **dict.fromkeys(("time_solve", "relative_gap"), (float | None, ...)),
    target_gap=(float, ...),
    params=(Json[dict[str, Any]], ...),
)
_TRACES: Any = list[_row("Trace", FILES["traces.csv"])]
_PATH_ANSWERS: Any = list[_row("PathAnswer", FILES["paths.csv"])]
_LINE = create_model(
    "Line",
    record=(_RECORD, ...),
    trace=(_TRACES, ...),
    output=(str, ""),
    diagnosis=(dict[str, Any], {}),
    path=(_PATH_ANSWERS, []),
)


def check_line(content: Any) -> None:
    """Raise ValidationError (a ValueError) if a line of a log does not fit the tables."""
    _LINE.model_validate(content)


def fault_text(error: ValidationError) -> str:
    """Return a message on the first fault of a file: the field, the requirement, and the value."""
    fault = error.errors(include_url=False)[0]
    field = ".".join(map(str, fault["loc"])) or "its content"
    message = fault["msg"].removeprefix("Value error, ")
    if message.startswith("Input should "):
        message = f"must {message.removeprefix('Input should ')}, got {short_repr(fault['input'])}"
    return f"{field}: {message}"
