"""What a solver gave, on its way from the process that solved to where it is certified; see `wire`.

Nothing in it is believed: what a problem is, its target and its run are known where it is certified, and
from the problem follows which arrays there may be.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from math import nan
from typing import Any, BinaryIO, NamedTuple

from dualgap.experiments.workers.errors import error_text
from dualgap.experiments.workers.wire import Layout, Malformed, Shapes, pack
from dualgap.problems import Formulation, Point
from dualgap.problems.forms import Claim
from dualgap.problems.texts import one_line
from dualgap.problems.validation import NoSuchProblem
from dualgap.solvers import Solution, Status

_PARTS = ("alpha", "w", "b", "rule")  # of a point
_MOST_POINTS = 3000  # answers on a path and evaluations of a trace, of which there are fewer
_MOST_HEADER = 2**24  # bytes


class Failure(NamedTuple):
    """How a run ended that gave no answer: status, reason, and its traceback."""

    status: Status
    reason: str
    output: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return the failure that an exception is; what cannot be posed is unsupported, no crash."""
        if isinstance(error, NoSuchProblem):
            return cls(Status.UNSUPPORTED, one_line(str(error)), "")
        try:
            told = traceback.format_exc()
        except BaseException as other:  # of an exception whose own methods fail
            told = f"no traceback: {type(other).__name__}"
        lacking = isinstance(error, MemoryError)
        status = Status.OUT_OF_MEMORY if lacking else Status.CRASHED
        return cls(status, error_text(error), told.encode(errors="backslashreplace").decode())


@dataclass(frozen=True)
class Found:
    """Of one `Solution` what the solver's process says, without its point."""

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

    @classmethod
    def of(cls, solution: Solution) -> Found:
        """Return what is kept of a solution."""
        own: dict[str, Any] = {each.name: getattr(solution, each.name) for each in fields(cls)}
        own["note"], own["counters"] = one_line(solution.note), dict(solution.counters)
        own["version"] = one_line(solution.version)
        return cls(**own)


@dataclass(frozen=True)
class Answer:
    """What a solver gave, taken apart.

    Attributes
    ----------
    found : of the answer; of a path one for each answer on it. values : of the path's parameter there.
    claims : of the answers to subproblems.
    trace : time and iterations of each evaluation.
    threads : the most that a numerical library of the process may use.
    importing : seconds of importing the solver.
    status, reason, gap : of a path that ended early; `gap` is that of the answer where it did.
    failure : how the run ended, if it gave no answer.
    """

    found: list[Found] = field(default_factory=list[Found])
    values: list[float] = field(default_factory=list[float])
    claims: list[Claim] = field(default_factory=list[Claim])
    trace: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])
    threads: int | None = None
    importing: float = 0.0
    status: Status = Status.FINISHED
    reason: str = ""
    gap: float = nan
    failure: Failure | None = None

    @property
    def points(self) -> int:
        """How many points it comes with."""
        return len(self.found) + len(self.trace)


_LAYOUT = Layout[Answer](Answer)


def packed(answer: Answer, points: Iterable[Point] = ()) -> bytes:
    """Return an answer as a message; the points are those of `found`, then those of `trace`."""
    arrays = {
        f"{part} {number}": value
        for number, point in enumerate(points)
        for part in _PARTS
        if (value := getattr(point, part)) is not None
    }
    return pack(answer, arrays)


def read(
    message: BinaryIO, problem: Formulation, on_path: bool = False
) -> tuple[Answer, list[Point]]:
    """Return an answer to a problem, with its points; `on_path` for any number of them on a path.

    Raises
    ------
    Malformed
        If the message is no answer to this problem.
    """
    n, outputs, weights = problem.n, problem.outputs, problem.n_weights
    each = {
        "alpha": ((n * outputs,), (n, outputs)),
        "w": ((weights,), (problem.d, outputs)),
        "b": ((), (outputs,)),
        "rule": ((None,),) if problem.in_blocks else (),
    }

    def shapes(answer: Answer) -> Shapes:
        return {f"{part} {i}": each[part] for i in range(answer.points) for part in _PARTS}

    most = _MOST_HEADER + 8 * _MOST_POINTS * (n * outputs + weights + outputs)
    answer, arrays = _LAYOUT.read(message, shapes, most)
    expected = len(answer.values) if on_path else 1
    if answer.failure is None and len(answer.found) != expected:
        raise Malformed(f"found: has {len(answer.found)} answers, expected {expected}")
    found = [[arrays.get(f"{part} {i}") for part in _PARTS] for i in range(answer.points)]
    return answer, [
        Point(alpha, w, float(b) if b is not None and b.ndim == 0 else b, rule)
        for alpha, w, b, rule in found
    ]
