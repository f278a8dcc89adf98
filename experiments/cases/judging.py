"""Certify a solver's answer and measure it, in a process where no solver has run.

The problem is built again from the file and the data. `status` is how the process ended, `claimed` what
the solver claims, `verdict` what the certificate shows.
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
from dualgap.experiments.cases.messages import (
    Failure,
    SolverAnswer,
    pack_outcome,
    unpack_answer,
)
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, blank_record, failed, versions
from dualgap.experiments.cases.solving import load_problem
from dualgap.experiments.files.specs import Loaded
from dualgap.experiments.records.columns import COUNTED
from dualgap.experiments.workers.isolation import ChildResult
from dualgap.experiments.workers.wire import Malformed
from dualgap.problems import Dataset, Point, Precomputed, Problem, SampleProblem, describe
from dualgap.problems.dataset import Names
from dualgap.problems.exchange.answers import read_answer
from dualgap.problems.forms import Claim
from dualgap.problems.problem.task import LABELS
from dualgap.problems.quadratic.certificate import QPCertificate
from dualgap.problems.texts import one_line
from dualgap.solvers import Evaluation, Solution, Solver, Status, Target
from dualgap.solvers.running.output import SolverOutput

_MEASURES = """
primal_objective dual_objective gap relative_gap kkt_violation violating_pair primal_residual
dual_residual complementarity projection_distance
"""
_TRACE_BUDGET_S = 300.0  # half of the time limit of certifying
_MIN_REPORTED_S = 3.0  # set-up that is worth a remark: importing and compiling take less
_MIN_REPORTED_RATIO = 10.0  # set-up time relative to solving time
_MIN_THREADS_TIME_S = 0.05  # a shorter solve has no reliable ratio of CPU time to wall time
_MAX_UNCLAIMED_S = 0.05  # process time that no solver has to account for
_BATCH_ROWS = 1000  # test samples whose kernel values fit in memory
_MAX_DRAWN = 5000  # samples of a model that is recorded for a figure


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
        record = blank_record(case) | _answer_columns(solution, 0.0)
        record |= _quality_columns(solution, data)
        sizes = {"n": problem.n, "d": problem.d, "iterations": None, "problem_hash": problem.hash}
        record |= sizes | {"family_hash": problem.family_hash}
        return Outcome(record, **_model_and_diagnosis(solution))
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
    record |= _answer_columns(solution, answer.importing)
    record |= {"claimed": str(answer.reports[0].claimed), "reason": _reason(case, solution)}
    record |= {"tol": solution.derived_tol or record["tol"]}
    record |= _time_columns(record, call, threads, excused)
    if solution.version:
        solver_version = {case.solver.label or case.solver.name: solution.version}
        record |= {"versions": json.dumps(versions() | solver_version)}
    record |= _quality_columns(solution, data)
    record |= describe_optimum(solution) if case.described else {}
    return Outcome(
        record,
        _trace_rows(case, evaluations),
        answer=None if case.after is None else solution.alpha,
        **_model_and_diagnosis(solution),
    )


def _model_and_diagnosis(solution: Solution) -> dict[str, Any]:
    """Return the fields `model`, `names` and `diagnosis` of an outcome."""
    model, diagnosis = _model_arrays(solution), solution.diagnosis
    return {
        "model": model,
        "names": solution.problem.names if model else Names(),
        "diagnosis": {} if diagnosis is None else diagnosis._asdict(),
    }


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


def _trace_rows(case: Case, evaluations: list[Evaluation]) -> list[dict[str, Any]]:
    """Return one row per evaluation, as many as take half the time of solving, and the last.

    If problems are described, all evaluations have a row, as rates are fitted to them.
    """
    rows, due, spent = list[dict[str, Any]](), 0.0, 0.0
    for evaluation in evaluations:
        if evaluation.time < due and evaluation is not evaluations[-1]:
            continue
        started, c, problem = perf_counter(), evaluation.certificate, evaluation.problem
        support = None
        if isinstance(problem, SampleProblem) and c.point.alpha is not None:
            support = describe(problem, c).support
        row: dict[str, Any] = {
            "run_id": case.run_id,
            "time": evaluation.time,
            "iteration": evaluation.iteration,
            "n_support": None if support is None else support.size,
            "objective": problem.objective(c.primal_objective, c.dual_objective),
        }
        bounds = ("primal_objective", "dual_objective", "gap", "kkt_violation")
        rows.append(row | {name: getattr(c, name) for name in bounds})
        cost = perf_counter() - started
        spent += cost
        later = 0.0 if case.described else evaluation.time + 2.0 * cost
        due = later if spent < _TRACE_BUDGET_S else np.inf
    return rows


def _answer_columns(solution: Solution, importing: float) -> dict[str, Any]:
    """Return the columns of the solver and of the certificate."""
    c = solution.certificate
    of_qp = {"duality_gap": c.duality_gap} if isinstance(c, QPCertificate) else {}
    return {name: float(getattr(c, name)) for name in _MEASURES.split()} | {
        "status": str(solution.status),
        "claimed": str(solution.claimed),
        "verdict": solution.verdict,
        "reason": one_line(solution.reason),
        "bound_source": c.bound_source,
        "objective": float(solution.objective),
        "time_setup": solution.time_setup + importing,
        "time_solve": solution.time_solve,
        "cpu_time": solution.cpu_time,
        "iterations": None if solution.point.is_empty else solution.iterations,
        "n_kernel_evals": solution.counters.get("kernel_evaluations"),
        **of_qp,
        **{
            column.name: solution.counters[column.name]
            for column in COUNTED
            if column.name in solution.counters
        },
    }


def _quality_columns(solution: Solution, data: Loaded) -> dict[str, Any]:
    """Return support vectors, margin and accuracies of the answer."""
    if solution.alpha is None or not isinstance(solution.problem, SampleProblem):
        return {}
    geometry, problem = solution.geometry, solution.problem
    kinds = geometry.kinds
    quality: dict[str, Any] = {
        "n_support": int((kinds != "zero").sum()),
        "n_free": int((kinds == "free").sum()),
        "n_bounded": int((kinds == "bounded").sum()),
        "margin": float(geometry.margin) if geometry.rule.has_margin else None,
        "train_accuracy": problem.task.score(geometry.decision, problem.y),
    }
    if data.X_test is not None and data.y_test is not None:
        X = data.X_test
        blocks = [X[i : i + _BATCH_ROWS] for i in range(0, X.shape[0], _BATCH_ROWS)]
        predicted = np.concatenate([geometry.decision_function(block) for block in blocks])
        quality["test_accuracy"] = problem.task.score(predicted, data.y_test)
    return quality


def _model_arrays(solution: Solution) -> dict[str, Any]:
    """Return the arrays that draw the decision function in the plane; {} if it is not drawn."""
    problem, point = solution.problem, solution.certificate.point
    if not isinstance(problem, SampleProblem):
        return {}
    drawable = problem.d == 2 and problem.n <= _MAX_DRAWN and problem.outputs == len(problem.parts)
    has_margin = problem.task is not LABELS or solution.geometry.rule.has_margin
    drawable = drawable and has_margin
    if not drawable or isinstance(problem.kernel, Precomputed) or point.alpha is None:
        return {}
    arrays = vars(point) | {
        "X": problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray(),
        "y": problem.y,
        "offsets": solution.certificate.offsets,
    }
    return {name: np.asarray(a, np.float64) for name, a in arrays.items() if a is not None}
