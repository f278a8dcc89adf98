"""One run, inside a worker: build the problem, solve it, measure the answer, record it.

`status` describes the process, `claimed` is what the solver claims, `verdict` what the certificate
shows. Nothing that a solver raises leaves this module: it becomes the row of that run.
"""

from __future__ import annotations

import json
import pickle
import resource
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from time import perf_counter, process_time
from typing import Any, NamedTuple, cast

import numpy as np
from scipy.linalg.blas import dgemm
from threadpoolctl import threadpool_info

from experiments.cases import paths
from experiments.cases.description import described
from experiments.cases.failure import Failure, sentence
from experiments.cases.plan import Case, data_need_outside, needs_outside
from experiments.cases.records import Outcome, blank_record, failed
from experiments.files.specs import (
    absolute,
    build_problem,
    build_solver,
    build_source,
)
from experiments.workers.machine import cores
from problems import (
    Dataset,
    Formulation,
    Multiclass,
    Point,
    Precomputed,
    describe,
    reduce,
)
from problems.forms import Claim
from solvers import Evaluation, Solution, Solver, Status, solve

_MEASURES = """
primal_objective dual_objective gap relative_gap kkt_violation violating_pair primal_residual
dual_residual complementarity projection_distance
"""
_TRACED = "primal_objective dual_objective gap kkt_violation"
_TRACED_FOR = 300.0  # seconds, half of what certifying may take
_LONG = 3.0  # seconds: importing and compiling take less
_MUCH = 10.0  # times as long as solving is what changes a comparison
_MEASURABLE = 0.05  # seconds of solving, below which CPU time is no measure of threads
_ROWS = 1000  # predicted at a time
_UNIT_OF_MEMORY = 1 if sys.platform == "darwin" else 1024  # bytes, of what the system measures
_MOST_DRAWN = 5000  # samples of a model that is kept for a picture


class _Answer(NamedTuple):
    """What a solver gave, taken apart: fields of its `Solution`, the trace, its memory, its threads."""

    fields: dict[str, Any]
    claims: list[Claim]  # of the answers to subproblems
    trace: list[tuple[Any, ...]]
    peak: int
    threads: int | None
    path: paths.Traced | None = None


def _here(function: Callable[..., bytes], *arguments: Any) -> tuple[bytes, float]:
    begun = process_time()
    return function(*arguments), process_time() - begun


def run_case(
    case: Case,
    report: Callable[[str], object] = lambda _: None,
    threads: int | None = None,
    apart: Callable[..., tuple[bytes, float]] = _here,
) -> Outcome:
    """Run one case and return what is recorded of it, whatever happens.

    Parameters
    ----------
    case : what to run.
    report : called as each phase begins.
    threads : how many the solver may use; None for as many as there are cores.
    apart : calls a function with arguments, and returns the bytes that it returns and the CPU time that
        it took: first to solve, then to certify what solving gave. In copies of this process no solver
        reaches its certificate, or another's run.
    """
    report("loading")
    with suppress(Exception):  # it is met again, and recorded, where the problem is solved
        _load_shared(case)
    report("solving")
    answer, used = apart(_packed, _solved, case)
    report("certifying")
    judged, _ = apart(_packed, _judged, case, answer, used, threads or cores())
    outcome = pickle.loads(judged)
    if isinstance(outcome, Failure):
        return replace(failed(case, outcome.status, outcome.reason), output=outcome.output)
    return outcome


def _packed(function: Callable[..., object], *arguments: Any) -> bytes:
    """Return what a call returns, or how it failed, as bytes."""
    try:
        with warnings.catch_warnings(), np.errstate():
            return pickle.dumps(function(*arguments))
    except BaseException as error:  # a solver may also call sys.exit
        return pickle.dumps(Failure.of(error))


def _load_shared(case: Case) -> None:
    """Load samples and compiled code that later cases use too, but nothing from outside."""
    if data_need_outside(case):
        return
    data = _load(json.dumps(case.problem.dataset), case.folder)
    if needs_outside(case):
        return
    solver = build_solver(case.solver, case.folder, case.seed)
    if not type(solver).__module__.startswith("solvers.external."):
        solver.prepare(reduce(build_problem(case.problem, data, case.folder), solver.form).form)


def _problem(case: Case) -> tuple[Formulation, Dataset]:
    data = _load(json.dumps(case.problem.dataset), case.folder)
    return build_problem(case.problem, data, case.folder), data


def _solved(case: Case) -> _Answer:
    clock, (problem, _) = perf_counter, _problem(case)
    np.random.seed(case.repetition)  # noqa: NPY002 - for solvers from outside that draw from it
    _wake_threads()
    begun = clock()
    solver = build_solver(case.solver, case.folder, case.seed)
    importing = clock() - begun
    if case.problem.path:
        found = paths.traced(problem, solver, case, importing)
        return _Answer({}, [], [], *_used(), found)
    solution = solve(
        problem,
        solver,
        target_gap=case.target_gap,
        time_limit=case.time_limit,
        initial=_initial(case, solver),
        callback=_keep if case.trace else None,
    )
    return _Answer(
        paths.fields_of(solution) | {"time_setup": solution.time_setup + importing},
        [each.claimed for each in solution.subsolutions],
        [(e.time, e.iteration, e.point, e.known) for e in solution.trace],
        *_used(),
    )


def _initial(case: Case, solver: Solver) -> Solution | None:
    """Return the answer to another problem on the same samples at which a case begins."""
    if case.initial is None or case.before is None:
        return None
    problem, _ = _problem(replace(case, problem=case.before))
    return Solution(problem, solver, Point(alpha=case.initial), Status.FINISHED)


def _used() -> tuple[int, int | None]:
    """Return the memory that this process used at most, in bytes, and its threads."""
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT_OF_MEMORY,
        max((int(pool["num_threads"]) for pool in threadpool_info()), default=None),
    )


def _wake_threads() -> None:
    """Let linear algebra start the threads that a copy of a process begins without."""
    square = np.ones((256, 256))
    dgemm(1.0, square, square @ square)


def _keep(_: Evaluation) -> None:
    """Ask for evaluations, which are certified later on."""


def _judged(case: Case, packed: bytes, used: float, threads: int) -> Outcome | Failure:
    """Return the outcome of what a solver gave; the problem is built anew from the file and the data."""
    answer: _Answer | Failure = pickle.loads(packed)
    if isinstance(answer, Failure):
        return answer
    (problem, data), unknown = _problem(case), cast("Solver", None)
    record = blank_record(case) | {
        "problem_hash": problem.hash,
        "family_hash": problem.family_hash,
        "n": problem.n,
        "d": problem.d,
        "peak_rss": answer.peak,
        "threads": answer.threads,
    }
    if answer.path is not None:
        columns, rows = paths.judged(problem, case, answer.path)
        return Outcome(record | columns, path=rows)
    solved = partial(Solution, problem, unknown)
    subsolutions = tuple(solved(Point(), Status.FINISHED, claim) for claim in answer.claims)
    solution = solved(**answer.fields, subsolutions=subsolutions, rigorous=case.proven)
    record |= _answer(solution, threads, used) | _quality(solution, data)
    record |= described(solution) if case.described else {}
    evaluations = [Evaluation(t, k, problem, *rest) for t, k, *rest in answer.trace]
    found = solution.diagnosis
    diagnosis = {} if found is None else found._asdict()
    trace, model = _trace(case, evaluations), _model(case, solution)
    alpha = None if case.after is None else solution.alpha
    return Outcome(record, trace, model, diagnosis=diagnosis, answer=alpha)


@lru_cache(maxsize=1)
def _load(dataset: str, folder: str) -> Dataset:
    """Return a data set; consecutive cases on the same data read it once."""
    return build_source(json.loads(dataset), folder).load()


def _trace(case: Case, evaluations: list[Evaluation]) -> list[dict[str, Any]]:
    """Return a row for each evaluation, or as many as take half the time of solving, and the last.

    Rates are fitted to all of them, where problems are described.
    """
    rows, due, spent = list[dict[str, Any]](), 0.0, 0.0
    for evaluation in evaluations:
        if evaluation.time < due and evaluation is not evaluations[-1]:
            continue
        begun, c, problem = perf_counter(), evaluation.certificate, evaluation.problem
        bounds = {name: getattr(c, name) for name in _TRACED.split()}
        rows.append(
            {"run_id": case.run_id, "time": evaluation.time, "iteration": evaluation.iteration}
            | bounds
            | {
                "n_support": None if c.point.alpha is None else describe(problem, c).support.size,
                "objective": problem.objective(c.primal_objective, c.dual_objective),
            }
        )
        cost = perf_counter() - begun
        spent += cost
        later = 0.0 if case.described else evaluation.time + 2.0 * cost
        due = later if spent < _TRACED_FOR else np.inf
    return rows


def _answer(solution: Solution, threads: int, used: float) -> dict[str, Any]:
    """Return the columns that come from the solver and from the certificate."""
    c, remarks = solution.certificate, _remarks(solution, threads, used)
    has_point = solution.point.alpha is not None or solution.point.w is not None
    return {name: float(getattr(c, name)) for name in _MEASURES.split()} | {
        "status": str(solution.status),
        "claimed": str(solution.claimed),
        "verdict": solution.verdict,
        "reason": "; ".join(filter(None, [sentence(solution.reason), *remarks])),
        "bound_source": c.bound_source,
        "objective": float(solution.objective),
        "time_setup": float(solution.time_setup),
        "time_solve": float(solution.time_solve),
        "cpu_time": float(solution.cpu_time),
        "iterations": int(solution.iterations) if has_point else None,
        "n_kernel_evals": solution.counters.get("kernel_evaluations"),
    }


def _remarks(solution: Solution, threads: int, used: float) -> Iterator[str]:
    """Yield a sentence on each way in which a solver took more than its time shows.

    `used` is the CPU time of all that its process did, as the system measured it.
    """
    setup, solve = solution.time_setup, solution.time_solve
    if solve > _MEASURABLE and (busy := solution.cpu_time / solve) > threads + 0.5:
        yield f"used {busy:.1f} threads, {threads} were allowed"
    if setup > max(_LONG, _MUCH * solve):
        yield f"set-up took {setup:.1f} s, solving {solve:.2g} s"
    elsewhere = used - setup - solution.cpu_time
    if elsewhere > max(_LONG, _MUCH * solve):
        yield f"its process computed for {elsewhere:.1f} s besides set-up and solving"


def _quality(solution: Solution, data: Dataset) -> dict[str, Any]:
    """Return what the answer means for the samples: support vectors, margin, accuracies."""
    if solution.alpha is None:
        return {}
    geometry, problem = solution.geometry, solution.problem
    kinds = geometry.kinds
    quality: dict[str, Any] = {
        "n_support": int((kinds != "zero").sum()),
        "n_free": int((kinds == "free").sum()),
        "n_bounded": int((kinds == "bounded").sum()),
        "margin": float(geometry.margin) if problem.has_margin else None,
        "train_accuracy": problem.accuracy(geometry.decision, problem.expected),
    }
    if data.X_test is not None and data.y_test is not None:
        X = data.X_test  # in blocks of rows, whose kernel values fit in memory
        blocks = [X[i : i + _ROWS] for i in range(0, X.shape[0], _ROWS)]
        predicted = np.concatenate([geometry.decision_function(block) for block in blocks])
        quality["test_accuracy"] = problem.accuracy(predicted, data.y_test)
    return quality


def _model(case: Case, solution: Solution) -> dict[str, Any]:
    """Return what draws the decision function of samples in the plane."""
    problem, point = solution.problem, solution.certificate.point
    drawable = problem.d == 2 and problem.n <= _MOST_DRAWN
    drawable = drawable and (problem.outputs == 1 or isinstance(problem, Multiclass))
    drawable = drawable and (problem.has_margin or problem.takes_targets or problem.outputs > 1)
    if not drawable or isinstance(problem.kernel, Precomputed) or point.alpha is None:
        return {}
    w = np.full(2, np.nan) if point.w is None else point.w
    b = 0.0 if point.b is None else point.b
    kernel = absolute(case.problem.parameters.get("kernel", {"name": "linear"}), case.folder)
    return {
        "X": problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray(),
        "y": problem.y,
        "alpha": point.alpha,
        "w": w,
        "b": np.asarray(b, dtype=np.float64),
        "level": problem.margin_at(solution.certificate.offsets) if problem.has_margin else 1.0,
        "kernel": np.str_(json.dumps(kernel)),
    }
