"""A run that follows a path: answers and combinations of two cover an interval of C, lam or epsilon.

The solving process returns the points of all answers; the certifying process computes the bounds between
them from the points and the data alone.
"""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from dualgap.experiments.cases.messages import SolverAnswer, SolverReport
from dualgap.experiments.cases.plan import Case, digest
from dualgap.experiments.records.names import path_text
from dualgap.problems import Dataset, Formulation, Gram, Point
from dualgap.problems.answers.interpolation import Parameter, with_value
from dualgap.problems.problem import replace_fields
from dualgap.problems.texts import one_line
from dualgap.solvers import NoPath, Path, Solution, Solver, Status, Target, solve_path
from dualgap.solvers.paths.following import assemble_path
from dualgap.solvers.paths.selection import held_out_errors

Fields = dict[str, Any]


def follow_path(
    problem: Formulation, solver: Solver, case: Case
) -> tuple[SolverAnswer, list[Solution]]:
    """Follow the path of a case; return its answer and the solutions on it."""
    spec = case.problem.path
    ends: dict[str, Any] = {spec["parameter"]: (spec["low"], spec["high"])}
    try:
        path = solve_path(
            problem, gap=spec["gap"], solver=solver, time_limit=case.time_limit, **ends
        )
    except NoPath as ended:
        last = ended.answer
        if last is None:
            return SolverAnswer(reason=one_line(str(ended))), []
        reason = last.reason if last.certificate.point.alpha is None else str(ended)
        gap = last.certificate.relative_gap
        return SolverAnswer(status=last.status, reason=one_line(reason), gap=gap), []
    solutions = [answer.solution for answer in path.answers]
    values = [answer.value for answer in path.answers]
    return SolverAnswer([SolverReport.of(solution) for solution in solutions], values), solutions


def certify_path(
    problem: Formulation, data: Dataset, case: Case, answer: SolverAnswer, points: Sequence[Point]
) -> tuple[Fields, list[Fields]]:
    """Return the columns of a path's row, and one row per answer on it."""
    spec = case.problem.path
    hashes = {
        name: digest(value, path_text(spec))[:16]
        for name, value in (("problem_hash", problem.hash), ("family_hash", problem.family_hash))
    }
    path, reason = None, answer.reason
    gram = Gram(problem.X, problem.kernel, keep=True)
    shared = replace_fields(problem, samples=problem.samples.derived(problem.X, gram))
    try:
        if answer.values:
            path = assemble_path(
                shared,
                (spec["parameter"], spec["low"], spec["high"]),
                spec["gap"],
                _answers(shared, case, answer, points),
            )
    except NoPath as refuted:
        reason = str(refuted)
    if path is None:
        is_inaccurate = answer.gap > case.target_gap
        return hashes | {
            "status": str(answer.status),
            "reason": reason,
            "verdict": "inaccurate" if is_inaccurate else "uncertified",
            "relative_gap": answer.gap if is_inaccurate else None,
        }, []
    rows = _rows(path, data, case)
    return hashes | _columns(path, rows, answer.importing), rows


def _answers(
    problem: Formulation, case: Case, answer: SolverAnswer, points: Sequence[Point]
) -> list[tuple[float, Solution]]:
    """Return the value of the parameter and the solution of each answer."""
    parameter: Parameter = case.problem.path["parameter"]
    named = cast("Solver", SimpleNamespace(name=case.solver.name))
    answers, target = list[tuple[float, Solution]](), Target(case.target_gap)
    for value, report, point in zip(answer.values, answer.reports, points, strict=True):
        at_value = with_value(problem, parameter, value)
        solution = Solution(at_value, named, point, **vars(report), target=target)
        answers.append((value, solution))
    return answers


def _rows(path: Path, data: Dataset, case: Case) -> list[Fields]:
    """Return one row per answer on a path, with its error on held-out samples."""
    parameter = case.problem.path["parameter"]
    key = {"run_id": case.run_id, "parameter": parameter}
    table = path.table().rename(columns={parameter: "value"}).to_dict("records")
    return [
        key | {str(name): value for name, value in row.items()} | error
        for row, error in zip(table, _held_out_errors(path, data), strict=True)
    ]


def _columns(path: Path, rows: Sequence[Fields], importing: float) -> Fields:
    """Return the columns of the row of a path whose answers cover its interval."""
    solutions = [answer.solution for answer in path.answers]
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
        "n_kernel_evals": max(evaluated, default=None),  # each count includes the previous ones
    }


def _held_out_errors(path: Path, data: Dataset) -> list[Fields]:
    """Return the error of each answer, and its bounds over all optima at the values nearest to it."""
    names, unknown = ("error", "error_lower", "error_upper"), np.full((3, len(path.answers)), None)
    if data.X_test is None or data.y_test is None:
        errors = unknown
    else:
        values = np.array([answer.value for answer in path.answers])
        try:
            errors = held_out_errors(path, data.X_test, data.y_test, path.breakpoints, values)
        except ValueError:  # its optimal intercept is unknown
            errors = unknown
    return [dict(zip(names, column, strict=True)) for column in errors.T.tolist()]
