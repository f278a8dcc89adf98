"""A run that follows a path: its answers stand for every C, lam or epsilon of an interval.

The process that solves returns the points of all answers; the bounds between them are computed anew
where they are certified, from the points and the data alone.
"""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from experiments.cases.plan import Case, digest
from experiments.files.specs import path_text
from problems import Formulation
from problems.certificates.along import Parameter, with_value
from solvers import NoPath, Path, Solution, Solver, Status, solve_path
from solvers.paths.path import path_of

_KEPT = "point status claimed note target_gap time_solve time_setup cpu_time iterations counters"
Fields = dict[str, Any]


class Traced(NamedTuple):
    """What following a path gave: each answer's value and fields of its `Solution`, or why none.

    Attributes
    ----------
    importing : seconds of importing the solver.
    gap : of the answer where a path ended early, its own certified relative gap.
    """

    importing: float
    answers: list[tuple[float, Fields]]
    status: Status = Status.FINISHED
    reason: str = ""
    gap: float = nan


def fields_of(solution: Solution) -> Fields:
    """Return what is kept of an answer, from which its `Solution` can be made again."""
    return {name: getattr(solution, name) for name in _KEPT.split()}


def traced(problem: Formulation, solver: Solver, case: Case, importing: float) -> Traced:
    """Follow the path of a case."""
    spec = case.problem.path
    ends: dict[str, Any] = {spec["parameter"]: (spec["low"], spec["high"])}
    try:
        path = solve_path(
            problem, gap=spec["gap"], solver=solver, time_limit=case.time_limit, **ends
        )
    except NoPath as ended:
        answer = ended.answer
        if answer is None:
            return Traced(importing, [], reason=str(ended))
        reason = answer.reason if answer.certificate.point.alpha is None else str(ended)
        return Traced(importing, [], answer.status, reason, answer.certificate.relative_gap)
    return Traced(importing, [(piece.value, fields_of(piece.solution)) for piece in path.pieces])


def judged(problem: Formulation, case: Case, found: Traced) -> tuple[Fields, list[Fields]]:
    """Return columns of a path's row, and a row for each of its answers."""
    spec = case.problem.path
    hashes = {
        name: digest(own, path_text(spec))[:16]
        for name, own in (("problem_hash", problem.hash), ("family_hash", problem.family_hash))
    }
    parameter: Parameter = spec["parameter"]
    known = cast("Solver", SimpleNamespace(name=case.solver.name))
    answers = [
        (value, Solution(with_value(problem, parameter, value), known, **fields))
        for value, fields in found.answers
    ]
    if not answers:
        return hashes | _without(case, found), []
    interval = parameter, spec["low"], spec["high"]
    try:
        path = path_of(problem, interval, spec["gap"], answers)
    except NoPath as refuted:
        return hashes | _without(case, found._replace(reason=str(refuted))), []
    named = {"run_id": case.run_id, "parameter": parameter}
    table = path.table().rename(columns={parameter: "value"}).to_dict("records")
    rows = [named | {str(name): value for name, value in row.items()} for row in table]
    return hashes | _columns(path, rows, found.importing), rows


def _without(case: Case, found: Traced) -> Fields:
    """Return the columns of a path that is not there; a gap above the target says what was lacking."""
    lacking = found.gap > case.target_gap
    return {
        "status": str(found.status),
        "reason": found.reason,
        "verdict": "inaccurate" if lacking else "uncertified",
        "relative_gap": found.gap if lacking else None,
    }


def _columns(path: Path, rows: list[Fields], importing: float) -> Fields:
    solutions = [piece.solution for piece in path.pieces]
    claims = {solution.claimed for solution in solutions}
    evaluated = [count for s in solutions if (count := s.counters.get("kernel_evaluations"))]
    return {
        "status": str(Status.FINISHED),
        "claimed": claims.pop() if len(claims) == 1 else "stopped",
        "verdict": "solved",
        "reason": "",
        "relative_gap": max(row["worst_gap"] for row in rows),
        "bound_source": f"alpha and w of {len(rows)} answers",
        "n_answers": len(rows),
        "time_setup": importing + sum(s.time_setup for s in solutions),
        "time_solve": path.time_solve,
        "cpu_time": sum(s.cpu_time for s in solutions),
        "iterations": sum(s.iterations for s in solutions),
        "n_kernel_evals": max(evaluated, default=None),  # each counts those before it
    }
