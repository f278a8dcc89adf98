"""What the processes of a run send one another, see `workers.wire`: an answer, and then its outcome.

The solving process sends its answer to the certifying one, and that sends the outcome to the command.
Nothing in either is trusted: the receiver has its own problem, target and case, which determine the
arrays and the columns that there may be.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from math import nan, prod
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, blank_record
from dualgap.experiments.records.columns import COLUMNS, FILES
from dualgap.experiments.workers.start import error_text
from dualgap.experiments.workers.wire import Layout, Malformed, Shapes, pack
from dualgap.problems import ConvexQP, Point, QPPoint, SampleProblem
from dualgap.problems.blocks import DualRule
from dualgap.problems.dataset import Names
from dualgap.problems.forms import Claim
from dualgap.problems.texts import one_line
from dualgap.problems.validation import NoSuchProblem
from dualgap.solvers import Solution, Status

_MAX_POINTS = 3000  # answers on a path plus evaluations of a trace; real answers have fewer
_MAX_HEADER_BYTES = 2**24


class Failure(NamedTuple):
    """The end of a run without an answer: status, reason and traceback."""

    status: Status
    reason: str
    output: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return an exception as a failure; a problem that cannot be built is unsupported."""
        if isinstance(error, NoSuchProblem):
            return cls(Status.UNSUPPORTED, one_line(str(error)), "")
        try:
            output = traceback.format_exc()
        except BaseException as other:  # the exception's own methods raise
            output = f"no traceback: {type(other).__name__}"
        status = Status.OUT_OF_MEMORY if isinstance(error, MemoryError) else Status.CRASHED
        return cls(status, error_text(error), output.encode(errors="backslashreplace").decode())


@dataclass(frozen=True)
class SolverReport:
    """The claims and costs of one `Solution`, without its point."""

    status: Status
    claimed: Claim
    note: str
    time_solve: float
    time_setup: float
    cpu_time: float
    iterations: int
    counters: dict[str, float]
    version: str
    derived_tol: float | None
    finer_tol: float | None

    @classmethod
    def of(cls, solution: Solution) -> SolverReport:
        """Return the report on a solution."""
        values: dict[str, Any] = {each.name: getattr(solution, each.name) for each in fields(cls)}
        values["note"], values["counters"] = one_line(solution.note), dict(solution.counters)
        values["version"] = one_line(solution.version)
        return cls(**values)


@dataclass(frozen=True)
class SolverAnswer:
    """A solver's answer without its points.

    Attributes
    ----------
    reports : on the answer, or on each answer of a path. values : of the path's parameter there.
    claims : of the answers to subproblems.
    trace : time and iterations of each evaluation.
    threads : the largest number that a numerical library of the process may use.
    frequency : clock frequency in MHz of the solver's core. throttled : throttling events meanwhile.
    measuring : seconds that finding out these three took.
    importing : seconds of importing the solver.
    status, reason, gap : of a path that ended early; `gap` is that of its last answer.
    failure : the end of a run without an answer.
    """

    reports: list[SolverReport] = field(default_factory=list[SolverReport])
    values: list[float] = field(default_factory=list[float])
    claims: list[Claim] = field(default_factory=list[Claim])
    trace: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    threads: int | None = None
    frequency: float | None = None
    throttled: int | None = None
    measuring: float = 0.0
    importing: float = 0.0
    status: Status = Status.FINISHED
    reason: str = ""
    gap: float = nan
    failure: Failure | None = None

    @property
    def points(self) -> int:
        """Number of points sent with it."""
        return len(self.reports) + len(self.trace)


_ANSWER_LAYOUT = Layout[SolverAnswer](SolverAnswer)


def pack_answer(answer: SolverAnswer, points: Iterable[Any] = ()) -> bytes:
    """Return an answer as a message; the points are those of `reports`, then those of `trace`."""
    arrays = {
        f"{part} {number}": value.to_vector() if isinstance(value, DualRule) else value
        for number, point in enumerate(points)
        for part, value in vars(point).items()
        if value is not None
    }
    return pack(answer, arrays)


def unpack_answer(
    message: BinaryIO, problem: SampleProblem | ConvexQP, on_path: bool = False
) -> tuple[SolverAnswer, list[Any]]:
    """Return an answer to a problem and its points, any number of them if `on_path`.

    Raises
    ------
    Malformed
        If the message is not an answer to this problem.
    """
    part_shapes = _shapes_of_point(problem)

    def shapes(answer: SolverAnswer) -> Shapes:
        return {
            f"{part} {i}": accepted
            for i in range(answer.points)
            for part, accepted in part_shapes.items()
        }

    numbers = sum(prod(accepted[0]) for part, accepted in part_shapes.items() if part != "rule")
    max_bytes = _MAX_HEADER_BYTES + 8 * _MAX_POINTS * numbers
    answer, arrays = _ANSWER_LAYOUT.read(message, shapes, max_bytes)
    expected = len(answer.values) if on_path else 1
    if answer.failure is None and len(answer.reports) != expected:
        raise Malformed(f"reports: has {len(answer.reports)} answers, expected {expected}")
    make_point: Any = QPPoint if isinstance(problem, ConvexQP) else Point
    parts = [
        {part: arrays.get(f"{part} {i}") for part in part_shapes} for i in range(answer.points)
    ]
    return answer, [
        make_point(**{name: _unpacked(name, value, problem) for name, value in point.items()})
        for point in parts
    ]


def _unpacked(name: str, value: Any, problem: SampleProblem | ConvexQP) -> Any:
    """Return a rule as an object, an array without dimensions as a float, others unchanged."""
    if name == "rule" and value is not None:
        try:
            return DualRule.from_vector(value, problem.d)
        except ValueError as error:
            raise Malformed(str(error)) from None
    return float(value) if value is not None and value.ndim == 0 else value


def _shapes_of_point(problem: SampleProblem | ConvexQP) -> dict[str, Any]:
    """Return the accepted shapes of each array of a point; the first is the largest."""
    if isinstance(problem, ConvexQP):
        return {"x": ((problem.n,),), "z": ((problem.h.size,),), "y": ((problem.b_eq.size,),)}
    n, outputs = problem.n, problem.outputs
    return {
        "alpha": ((n * outputs,), (n, outputs)),
        "w": ((prod(problem.weights_shape),), (problem.d, outputs)),
        "b": ((outputs,), ()),
        "rule": ((None,),) if problem.in_blocks else (),
    }


Cell = bool | int | float | str | None
Row = dict[str, Cell]
_Header = tuple[Row, list[Row], str, Row, list[Row], Names]  # an outcome without its arrays
_OUTCOME_LAYOUT = Layout[_Header](_Header)
_DUAL_VARIABLES = "answer"
_COLUMN_NAMES = {column.name for column in FILES["runs.csv"]}
# columns of `blank_record` that the worker decides; all others are as planned, whatever it sends
_WORKER_COLUMNS = {"claimed", "verdict", "bound_source", "host", "versions"}


def pack_outcome(outcome: Outcome) -> bytes:
    """Return an outcome as a message, see `workers.wire`."""
    texts = ("problem", "names")  # of a model that was read, as Dask sends it on
    arrays = {name: array for name, array in outcome.model.items() if name not in texts}
    arrays |= {} if outcome.answer is None else {_DUAL_VARIABLES: outcome.answer}
    more = outcome.output, outcome.diagnosis, outcome.path, outcome.names
    return pack((outcome.record, outcome.trace, *more), arrays)


def read_outcome(message: BinaryIO | bytes, case: Case) -> Outcome:
    """Return the outcome of a case from its message.

    Raises
    ------
    Malformed
        If the message is not an outcome of this case.
    """
    (record, trace, output, diagnosis, path, names), arrays = _OUTCOME_LAYOUT.read(
        message, _shapes_of_outcome
    )
    if wrong := (set(COLUMNS) - record.keys()) | (record.keys() - _COLUMN_NAMES):
        raise Malformed(f"columns: {', '.join(sorted(wrong))[:200]}")
    blank = blank_record(case)
    planned = {k: blank[k] for k in COLUMNS if blank[k] is not None and k not in _WORKER_COLUMNS}
    trace, path = ([row | {"run_id": case.run_id} for row in rows] for rows in (trace, path))
    model: dict[str, Any] = {name: a for name, a in arrays.items() if name != _DUAL_VARIABLES}
    if model:
        model["problem"] = np.str_(json.dumps([vars(case.problem), case.folder]))
        model["names"] = np.str_(json.dumps(names))
    answer = arrays.get(_DUAL_VARIABLES)
    return Outcome(record | planned, trace, model, output, diagnosis, path, answer, names)


def _shapes_of_outcome(header: _Header) -> Shapes:
    """Return the shapes of the arrays that an outcome may have: of a model, and dual variables."""
    n = header[0].get("n")
    if not isinstance(n, int):
        return {}
    alpha, weights = ((n,), (n, None)), ((2,), (2, None))
    plane: Shapes = {"X": ((n, 2),), "y": ((n,),), "alpha": alpha, "w": weights}
    return {**plane, "b": ((), (None,)), "offsets": ((None,),), _DUAL_VARIABLES: alpha}
