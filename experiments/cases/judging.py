"""Certifying what a solver gave, and measuring it: where no solver has run.

The problem is built anew from the file and the data. `status` describes the process, `claimed` is what
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
from dualgap.experiments.cases.answer import Answer, Failure, read
from dualgap.experiments.cases.description import described
from dualgap.experiments.cases.plan import Case, code_from_outside
from dualgap.experiments.cases.records import Outcome, blank_record, failed, packed, versions
from dualgap.experiments.cases.solving import posed
from dualgap.experiments.files.specs import Loaded
from dualgap.experiments.records.columns import COUNTED
from dualgap.experiments.workers.isolation import Returned
from dualgap.experiments.workers.wire import Malformed
from dualgap.problems import Dataset, Formulation, Point, Precomputed, describe
from dualgap.problems.compilation import compiled_apart
from dualgap.problems.exchange.answers import read_answer
from dualgap.problems.forms import Claim
from dualgap.problems.formulations.task import LABELS
from dualgap.problems.texts import one_line
from dualgap.solvers import Evaluation, Solution, Solver, Status

_MEASURES = """
primal_objective dual_objective gap relative_gap kkt_violation violating_pair primal_residual
dual_residual complementarity projection_distance
"""
_TRACED = "primal_objective dual_objective gap kkt_violation"
_TRACED_FOR = 300.0  # seconds, half of what certifying may take
_LONG = 3.0  # seconds: importing and compiling take less
_MUCH = 10.0  # times as long as solving is what changes a comparison
_MEASURABLE = 0.05  # seconds of solving, below which CPU time is no measure of threads
_UNCLAIMED = 0.05  # seconds that a process may take besides what its solver claims, and half of all
_ROWS = 1000  # predicted at a time
_MOST_DRAWN = 5000  # samples of a model that is kept for a picture


def judged(_: Callable[[], object], case: Case, given: Returned, threads: int) -> bytes:
    """Return the outcome of a case as a message, for whatever its solver's process left.

    `threads` is how many the solver may use.
    """
    try:
        apart = compiled_apart(code_from_outside(case, "problem"))
        with warnings.catch_warnings(), np.errstate(), apart:
            outcome = _judged(case, given, threads)
    except BaseException as error:
        outcome = failed(case, *Failure.of(error))
    return packed(outcome)


def answered(
    file: Path, problem: Formulation, target_gap: float, rigorous: bool = False
) -> Solution:
    """Return the answer in a file as one that a solver claims to be optimal.

    Raises
    ------
    ValueError, OSError
        If it cannot be read, or is no answer to this problem.
    """
    point, unknown = read_answer(file, problem), cast("Solver", None)
    limits: Any = {"target_gap": target_gap, "rigorous": rigorous}
    return Solution(problem, unknown, point, Status.FINISHED, "optimal", **limits)


def judged_file(case: Case, folder: Path, key: str, known: str) -> Outcome:
    """Return the outcome of an answer that was found elsewhere: a file in a folder, named by a key.

    `known` is the hash of the problem that it answers; the time of whatever found it is not known.
    """
    try:
        files = sorted(path for path in folder.iterdir() if path.name.startswith(f"{key}."))
        if len(files) != 1:
            found = ", ".join(path.name for path in files) or "none"
            return failed(case, "crashed", f"expected one answer {key}.*, found {found}")
        problem, data = posed(case)
        if problem.hash != known:
            return failed(
                case, "crashed", "the problem's data are others than when it was exported"
            )
        solution = answered(files[0], problem, case.target_gap, case.proven)
        record = blank_record(case) | _answer(solution, 0.0) | _quality(solution, data)
        sizes = {"n": problem.n, "d": problem.d, "iterations": None, "problem_hash": problem.hash}
        record |= sizes | {"family_hash": problem.family_hash}
        diagnosis = {} if solution.diagnosis is None else solution.diagnosis._asdict()
        return Outcome(record, model=_model(solution), diagnosis=diagnosis)
    except Exception as error:  # of this answer: the others are judged all the same
        return failed(case, *Failure.of(error))


def _judged(case: Case, given: Returned, threads: int) -> Outcome:
    problem, data = posed(case)
    try:
        answer, points = read(given.file, problem, on_path=bool(case.problem.path))
    except Malformed as error:
        return failed(case, "crashed", f"its process left something that is no answer: {error}")
    if answer.failure is not None:
        return failed(case, *answer.failure)
    record = blank_record(case) | {
        "problem_hash": problem.hash,
        "family_hash": problem.family_hash,
        "n": problem.n,
        "d": problem.d,
        "peak_rss": given.peak_rss,
        "threads": answer.threads,
    }
    if case.problem.path:
        begun = perf_counter()
        columns, rows = paths.judged(problem, cast("Dataset", data), case, answer, points)
        record |= columns
        record |= _timed(record, given, threads, 2 * (perf_counter() - begun))
        return Outcome(record, path=rows)
    solution = _solution(problem, case, answer, points[0])
    evaluations = [
        Evaluation(time, count, problem, point)
        for (time, count), point in zip(answer.trace, points[1:], strict=True)
    ]
    evaluating = 0.0
    if evaluations and (problem.may_be_infeasible or len(problem.parts) > 1):
        # the first and the last are made while solving; those between them take at most half of its
        # time, see `dualgap.solvers.running.loop`
        begun = perf_counter()
        _ = evaluations[-1].certificate
        evaluating = 2 * (perf_counter() - begun)
    record |= _answer(solution, answer.importing)
    record |= {
        "claimed": str(answer.found[0].claimed),
        "tol": solution.derived_tol or record["tol"],
    }
    if _is_loose(case) and solution.verdict == "inaccurate":
        key = case.solver.searched
        chosen = f"The search chose {key} {case.solver.settings[key]:g}, above the target gap."
        record |= {"reason": "; ".join(filter(None, (str(record["reason"]), chosen)))}
    record |= _timed(record, given, threads, evaluating)
    if solution.version:
        known = {case.solver.label or case.solver.name: solution.version}
        record |= {"versions": json.dumps(versions() | known)}
    record |= _quality(solution, data) | (described(solution) if case.described else {})
    diagnosis = {} if solution.diagnosis is None else solution.diagnosis._asdict()
    alpha = None if case.after is None else solution.alpha
    trace, model = _trace(case, evaluations), _model(solution)
    return Outcome(record, trace, model, diagnosis=diagnosis, answer=alpha)


def _solution(problem: Formulation, case: Case, answer: Answer, point: Point) -> Solution:
    """Return the answer with its claims: what is optimal to a loose accuracy claims no optimum."""
    unknown, loose, found = cast("Solver", None), _is_loose(case), answer.found[0]
    claims: list[Claim] = [
        "stopped" if loose and claim == "optimal" else claim
        for claim in (found.claimed, *answer.claims)
    ]
    return Solution(
        problem,
        unknown,
        point,
        **vars(replace(found, claimed=claims[0])),
        target_gap=case.target_gap,
        rigorous=case.proven,
        parts=tuple(
            Solution(problem, unknown, Point(), Status.FINISHED, claim) for claim in claims[1:]
        ),
    )


def _is_loose(case: Case) -> bool:
    """Whether a search chose an accuracy that nobody expects to reach the target."""
    key = case.solver.searched
    return key in ("tol", "gap") and case.solver.settings[key] > case.target_gap


def _timed(
    record: Mapping[str, Any], given: Returned, threads: int, excused: float
) -> dict[str, Any]:
    """Return a row's times and reason, with what its process took and its time does not show.

    What the solver claims neither as set-up nor as solving is added to its time, if it is `_UNCLAIMED`
    above what is excused or was waited for, and half of all.
    """
    setup, solve, cpu = (record[name] or 0.0 for name in ("time_setup", "time_solve", "cpu_time"))
    told, times = [record["reason"]], dict[str, float]()
    unclaimed = given.seconds - setup - solve
    if unclaimed > max(_UNCLAIMED + excused + given.delayed, given.seconds / 2):
        solve, cpu = solve + unclaimed, max(cpu, given.cpu_seconds - setup)
        times = {"time_solve": solve, "cpu_time": cpu}
        told += [
            f"took {unclaimed:.2g} s claimed neither as set-up nor as solving, which are added"
        ]
    if solve > _MEASURABLE and (busy := cpu / solve) > threads + 0.5:
        told += [f"used {busy:.1f} threads, {threads} were allowed"]
    if setup > max(_LONG, _MUCH * solve):
        told += [f"set-up took {setup:.1f} s, solving {solve:.2g} s"]
    elsewhere = given.cpu_seconds - setup - cpu
    if elsewhere > max(_LONG, _MUCH * solve):
        told += [f"its process computed for {elsewhere:.1f} s besides set-up and solving"]
    return times | {"reason": "; ".join(filter(None, told))}


def _trace(case: Case, evaluations: list[Evaluation]) -> list[dict[str, Any]]:
    """Return a row for each evaluation, or as many as take half the time of solving, and the last.

    Rates are fitted to all of them, where problems are described.
    """
    rows, due, spent = list[dict[str, Any]](), 0.0, 0.0
    for evaluation in evaluations:
        if evaluation.time < due and evaluation is not evaluations[-1]:
            continue
        begun, c, problem = perf_counter(), evaluation.certificate, evaluation.problem
        unknown = c.point.alpha is None or not problem.has_samples
        row: dict[str, Any] = {
            "run_id": case.run_id,
            "time": evaluation.time,
            "iteration": evaluation.iteration,
            "n_support": None if unknown else describe(problem, c).support.size,
            "objective": problem.objective(c.primal_objective, c.dual_objective),
        }
        rows.append(row | {name: getattr(c, name) for name in _TRACED.split()})
        cost = perf_counter() - begun
        spent += cost
        later = 0.0 if case.described else evaluation.time + 2.0 * cost
        due = later if spent < _TRACED_FOR else np.inf
    return rows


def _answer(solution: Solution, importing: float) -> dict[str, Any]:
    """Return the columns that come from the solver and from the certificate."""
    c = solution.certificate
    has_point = solution.point.alpha is not None or solution.point.w is not None
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
        "iterations": solution.iterations if has_point else None,
        "n_kernel_evals": solution.counters.get("kernel_evaluations"),
        **{
            own.name: solution.counters[own.name]
            for own in COUNTED
            if own.name in solution.counters
        },
    }


def _quality(solution: Solution, data: Loaded) -> dict[str, Any]:
    """Return what the answer means for the samples: support vectors, margin, accuracies."""
    if solution.alpha is None or not solution.problem.has_samples:
        return {}
    geometry, problem = solution.geometry, solution.problem
    kinds = geometry.kinds
    quality: dict[str, Any] = {
        "n_support": int((kinds != "zero").sum()),
        "n_free": int((kinds == "free").sum()),
        "n_bounded": int((kinds == "bounded").sum()),
        "margin": float(geometry.margin) if problem.has_margin else None,
        "train_accuracy": problem.task.score(geometry.decision, problem.expected),
    }
    if data.X_test is not None and data.y_test is not None:
        X = data.X_test  # in blocks of rows, whose kernel values fit in memory
        blocks = [X[i : i + _ROWS] for i in range(0, X.shape[0], _ROWS)]
        predicted = np.concatenate([geometry.decision_function(block) for block in blocks])
        quality["test_accuracy"] = problem.task.score(predicted, data.y_test)
    return quality


def _model(solution: Solution) -> dict[str, Any]:
    """Return the arrays that draw the decision function of samples in the plane."""
    problem, point = solution.problem, solution.certificate.point
    drawable = problem.d == 2 and problem.n <= _MOST_DRAWN and problem.outputs == len(problem.parts)
    drawable = (
        drawable and problem.has_samples and (problem.has_margin or problem.task is not LABELS)
    )
    if not drawable or isinstance(problem.kernel, Precomputed) or point.alpha is None:
        return {}
    arrays = vars(point) | {
        "X": problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray(),
        "y": problem.y,
        "offsets": solution.certificate.offsets,
    }
    return {name: np.asarray(own, np.float64) for name, own in arrays.items() if own is not None}
