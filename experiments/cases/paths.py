"""A run that follows a path: its answers stand for every C, lam or epsilon of an interval.

The process that solves gives the points of all answers; the bounds between them are computed anew where
they are certified, from the points and the data alone.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from dualgap.experiments.cases.answer import Answer, Found
from dualgap.experiments.cases.plan import Case, digest
from dualgap.experiments.records.names import path_text
from dualgap.problems import Dataset, Formulation, Point
from dualgap.problems.answers.parametric_bounds import Parameter, with_value
from dualgap.problems.texts import one_line
from dualgap.solvers import NoPath, Path, Solution, Solver, Status, select, solve_path
from dualgap.solvers.paths.path import path_of

Fields = dict[str, Any]


def traced(problem: Formulation, solver: Solver, case: Case) -> tuple[Answer, list[Solution]]:
    """Follow the path of a case; return the answer, and the solutions on it."""
    spec = case.problem.path
    ends: dict[str, Any] = {spec["parameter"]: (spec["low"], spec["high"])}
    try:
        path = solve_path(
            problem, gap=spec["gap"], solver=solver, time_limit=case.time_limit, **ends
        )
    except NoPath as ended:
        last = ended.answer
        if last is None:
            return Answer(reason=one_line(str(ended))), []
        reason = last.reason if last.certificate.point.alpha is None else str(ended)
        gap = last.certificate.relative_gap
        return Answer(status=last.status, reason=one_line(reason), gap=gap), []
    solutions = [piece.solution for piece in path.pieces]
    values = [piece.value for piece in path.pieces]
    return Answer([Found.of(solution) for solution in solutions], values), solutions


def judged(
    problem: Formulation, data: Dataset, case: Case, answer: Answer, points: Sequence[Point]
) -> tuple[Fields, list[Fields]]:
    """Return columns of a path's row, and a row for each of its answers."""
    spec = case.problem.path
    hashes = {
        name: digest(own, path_text(spec))[:16]
        for name, own in (("problem_hash", problem.hash), ("family_hash", problem.family_hash))
    }
    parameter: Parameter = spec["parameter"]
    known = cast("Solver", SimpleNamespace(name=case.solver.name))
    answers = list[tuple[float, Solution]]()
    for value, found, point in zip(answer.values, answer.found, points, strict=True):
        posed, own = with_value(problem, parameter, value), vars(found)
        answers.append((value, Solution(posed, known, point, **own, target_gap=case.target_gap)))
    path, reason = None, answer.reason
    try:
        if answers:
            path = path_of(problem, (parameter, spec["low"], spec["high"]), spec["gap"], answers)
    except NoPath as refuted:
        reason = str(refuted)
    if path is None:  # a gap above the target says what was lacking
        lacking = answer.gap > case.target_gap
        return hashes | {
            "status": str(answer.status),
            "reason": reason,
            "verdict": "inaccurate" if lacking else "uncertified",
            "relative_gap": answer.gap if lacking else None,
        }, []
    named = {"run_id": case.run_id, "parameter": parameter}
    table = path.table().rename(columns={parameter: "value"}).to_dict("records")
    errors = _errors(path, data)
    rows = [
        named | {str(name): value for name, value in row.items()} | of_it
        for row, of_it in zip(table, errors, strict=True)
    ]
    solutions = [piece.solution for piece in path.pieces]
    claims = {solution.claimed for solution in solutions}
    evaluated = [count for s in solutions if (count := s.counters.get("kernel_evaluations"))]
    return hashes | {
        "status": str(Status.FINISHED),
        "claimed": claims.pop() if len(claims) == 1 else "stopped",
        "verdict": "solved",
        "reason": "",
        "relative_gap": max(row["worst_gap"] for row in rows),
        "bound_source": f"alpha and w of {len(rows)} answers",
        "n_answers": len(rows),
        "time_setup": answer.importing + sum(s.time_setup for s in solutions),
        "time_solve": path.time_solve,
        "cpu_time": sum(s.cpu_time for s in solutions),
        "iterations": sum(s.iterations for s in solutions),
        "n_kernel_evals": max(evaluated, default=None),  # each counts those before it
    }, rows


def _errors(path: Path, data: Dataset) -> list[Fields]:
    """Return the columns of each answer on the samples held out, with what all optima could have."""
    unknown: Fields = dict.fromkeys(("error", "least_error", "most_error"))
    if data.X_test is None or data.y_test is None:
        return [unknown] * len(path.pieces)
    try:
        table = select(path, data.X_test, data.y_test).table
    except ValueError:  # nothing can be said of its optimal intercept
        return [unknown] * len(path.pieces)
    named = table.rename(columns={"least": "least_error", "most": "most_error"})
    rows = named[[*unknown]].to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in rows]
