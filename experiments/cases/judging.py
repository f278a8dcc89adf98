"""Certify a solver's answer, in a process where no solver has run.

The problem is built again from the file and the data, and the certified answer measured (`measuring`).
`status` is how the process ended, `claimed` what the solver claims, `verdict` what the
certificate shows.
"""

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np

from dualgap.experiments.cases import paths
from dualgap.experiments.cases.description import describe_optimum
from dualgap.experiments.cases.measuring import (
    answer_columns,
    model_and_diagnosis,
    quality_columns,
    trace_rows,
)
from dualgap.experiments.cases.messages import (
    Failure,
    SolverAnswer,
    pack_outcome,
    unpack_answer,
)
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, blank_record, failed, versions
from dualgap.experiments.cases.solving import load_problem
from dualgap.experiments.workers.isolation import ChildResult
from dualgap.experiments.workers.wire import Malformed
from dualgap.problems import Dataset, Point, Problem
from dualgap.problems.exchange.answers import read_answer
from dualgap.problems.forms import Claim
from dualgap.problems.texts import one_line
from dualgap.solvers import Evaluation, Solution, Solver, Status, Target
from dualgap.solvers.running.output import SolverOutput

_MIN_REPORTED_S = 3.0  # set-up that is worth a remark: importing and compiling take less
_MIN_REPORTED_RATIO = 10.0  # set-up time relative to solving time
_MIN_THREADS_TIME_S = 0.05  # a shorter solve has no reliable ratio of CPU time to wall time
_MAX_UNCLAIMED_S = 0.05  # process time that no solver has to account for


def certify_run(_: Callable[[], object], case: Case, call: ChildResult, threads: int) -> bytes:
    """Return the outcome of a case as a message, whatever its solver's process returned.

    `threads` is the number of threads that the solver may use.
    """
    try:
        with warnings.catch_warnings(), np.errstate():
            outcome = _certify(case, call, threads)
    except BaseException as error:
        outcome = failed(case, *Failure.of(error))
    return pack_outcome(outcome)


def load_solution(
    file: Path, problem: Problem, target_gap: float, rigorous: bool = False
) -> Solution:
    """Return the answer in a file as a solution that claims to be optimal.

    Raises
    ------
    ValueError, OSError
        If it cannot be read, or is not an answer to this problem.
    """
    point, unknown = read_answer(file, problem), cast("Solver", None)
    target = Target(target_gap, rigorous)
    return Solution(problem, unknown, point, Status.FINISHED, "optimal", target=target)


def certify_file(case: Case, folder: Path, key: str, problem_hash: str) -> Outcome:
    """Return the outcome of an answer by another program, the file `key`.* in a folder.

    `problem_hash` is that of the exported problem. The time of solving is unknown.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.name.startswith(f"{key}."))
        if len(files) != 1:
            names = ", ".join(path.name for path in files) or "none"
            return failed(case, "crashed", f"expected one answer {key}.*, found {names}")
        problem, data = load_problem(case)
        if problem.hash != problem_hash:
            return failed(case, "crashed", "the problem's data have changed since it was exported")
        solution = load_solution(files[0], problem, case.target_gap, case.proven)
        record = blank_record(case) | answer_columns(solution, 0.0)
        record |= quality_columns(solution, data)
        sizes = {"n": problem.n, "d": problem.d, "iterations": None, "problem_hash": problem.hash}
        record |= sizes | {"family_hash": problem.family_hash}
        return Outcome(record, **model_and_diagnosis(solution))
    except Exception as error:  # the other answers are still certified
        return failed(case, *Failure.of(error))


def _certify(case: Case, call: ChildResult, threads: int) -> Outcome:
    problem, data = load_problem(case)
    try:
        answer, points = unpack_answer(call.file, problem, on_path=bool(case.problem.path))
    except Malformed as error:
        return failed(case, "crashed", f"its process returned no valid answer: {error}")
    if answer.failure is not None:
        return failed(case, *answer.failure)
    record = blank_record(case) | {
        "problem_hash": problem.hash,
        "family_hash": problem.family_hash,
        "n": problem.n,
        "d": problem.d,
        "peak_rss": call.peak_rss,
        "threads": answer.threads,
        "cpu_frequency": answer.frequency,
        "cpu_throttled": answer.throttled,
    }
    if case.problem.path:
        started = perf_counter()
        columns, rows = paths.certify_path(problem, cast("Dataset", data), case, answer, points)
        excused = answer.measuring + 2 * (perf_counter() - started)
        record |= columns
        return Outcome(record | _time_columns(record, call, threads, excused), path=rows)
    solution = _solution(problem, case, answer, points[0])
    evaluations = [
        Evaluation(time, count, problem, point)
        for (time, count), point in zip(answer.trace, points[1:], strict=True)
    ]
    excused = answer.measuring + _evaluation_time(problem, evaluations)
    record |= answer_columns(solution, answer.importing)
    record |= {"claimed": str(answer.reports[0].claimed), "reason": _reason(case, solution)}
    record |= {"tol": solution.derived_tol or record["tol"]}
    record |= _time_columns(record, call, threads, excused)
    if solution.version:
        solver_version = {case.solver.label or case.solver.name: solution.version}
        record |= {"versions": json.dumps(versions() | solver_version)}
    record |= quality_columns(solution, data)
    record |= describe_optimum(solution) if case.described else {}
    return Outcome(
        record,
        trace_rows(case, evaluations),
        answer=None if case.after is None else solution.alpha,
        **model_and_diagnosis(solution),
    )


def _evaluation_time(problem: Problem, evaluations: list[Evaluation]) -> float:
    """Return the seconds that the first and the last evaluation may have taken while solving.

    `dualgap.solvers.running.loop` makes them; those between take at most half of its time.
    """
    if not (evaluations and (problem.may_be_infeasible or len(problem.parts) > 1)):
        return 0.0
    started = perf_counter()
    _ = evaluations[-1].certificate
    return 2 * (perf_counter() - started)


def _reason(case: Case, solution: Solution) -> str:
    """Return the reason of a solution; if a search chose a loose tolerance, that it did."""
    reason = one_line(solution.reason)
    if not (_is_loose(case) and solution.verdict == "inaccurate"):
        return reason
    key = case.solver.searched
    note = f"The search chose {key} {case.solver.settings[key]:g}, above the target gap."
    return "; ".join(filter(None, (reason, note)))


def _solution(problem: Problem, case: Case, answer: SolverAnswer, point: Any) -> Solution:
    """Return the answer with its claims; "optimal" to a loose tolerance becomes "stopped"."""
    unknown, loose, report = cast("Solver", None), _is_loose(case), answer.reports[0]
    claims: list[Claim] = [
        "stopped" if loose and claim == "optimal" else claim
        for claim in (report.claimed, *answer.claims)
    ]
    return Solution(
        problem,
        unknown,
        point,
        **vars(replace(report, claimed=claims[0])),
        parts=tuple(
            SolverOutput(problem, unknown, Point(), Status.FINISHED, claim) for claim in claims[1:]
        ),
        target=Target(case.target_gap, case.proven),
    )


def _is_loose(case: Case) -> bool:
    """Whether a search chose a tolerance that is not expected to reach the target."""
    key = case.solver.searched
    return key in ("tol", "gap") and case.solver.settings[key] > case.target_gap


def _time_columns(
    record: Mapping[str, Any], call: ChildResult, threads: int, excused: float
) -> dict[str, Any]:
    """Return a row's times and reason, corrected by the time that its process took.

    Time that the solver reports neither as set-up nor as solving is added to its solving time, if it
    exceeds both half of the process time and `excused`, the wait for a processor and `_MAX_UNCLAIMED_S`.
    """
    setup, solve, cpu = (record[name] or 0.0 for name in ("time_setup", "time_solve", "cpu_time"))
    remarks, times = list[str](), dict[str, float]()
    unclaimed = call.seconds - setup - solve
    if unclaimed > max(_MAX_UNCLAIMED_S + excused + call.delayed, call.seconds / 2):
        solve, cpu = solve + unclaimed, max(cpu, call.cpu_seconds - setup)
        times = {"time_solve": solve, "cpu_time": cpu}
        remarks += [f"{unclaimed:.2g} s claimed neither as set-up nor as solving were added"]
    if solve > _MIN_THREADS_TIME_S and (busy := cpu / solve) > threads + 0.5:
        remarks += [f"used {busy:.1f} threads, {threads} were allowed"]
    if setup > max(_MIN_REPORTED_S, _MIN_REPORTED_RATIO * solve):
        remarks += [f"set-up took {setup:.1f} s, solving {solve:.2g} s"]
    elsewhere = call.cpu_seconds - setup - cpu
    if elsewhere > max(_MIN_REPORTED_S, _MIN_REPORTED_RATIO * solve):
        remarks += [f"its process computed for {elsewhere:.1f} s outside set-up and solving"]
    return times | {"reason": _with_remarks(record["reason"], "; ".join(remarks))}


def _with_remarks(reason: str, remarks: str) -> str:
    if remarks and reason.endswith("."):
        return f"{reason} {remarks[0].upper()}{remarks[1:]}."
    return "; ".join(filter(None, (reason, remarks)))
