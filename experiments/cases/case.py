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
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, cast

import numpy as np
from threadpoolctl import threadpool_info

from experiments.cases.failure import Failure, sentence
from experiments.cases.plan import Case, names_from_outside
from experiments.cases.records import Outcome, blank_record, failed
from experiments.files.specs import (
    absolute,
    build_problem,
    build_solver,
    build_source,
    outside_names,
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
_ANSWERED = (
    "point status claimed note target_gap time_solve time_setup cpu_time iterations counters"
)
_MEASURABLE = 0.05  # seconds of solving, below which CPU time is no measure of threads
_ROWS = 1000  # predicted at a time
_UNIT_OF_MEMORY = 1 if sys.platform == "darwin" else 1024  # bytes, of what the system measures
_MOST_DRAWN = 5000  # samples of a model that is kept for a picture


class _Answer(NamedTuple):
    """What a solver gave, taken apart: fields of its `Solution`, the trace, its memory, its threads."""

    fields: dict[str, Any]
    claims: list[Claim]  # of the answers to subproblems
    trace: list[dict[str, Any]]
    peak: int
    threads: int | None


def _here(function: Callable[..., bytes], *arguments: Any) -> bytes:
    return function(*arguments)


def run_case(
    case: Case,
    report: Callable[[str], object] = lambda _: None,
    threads: int | None = None,
    apart: Callable[..., bytes] = _here,
) -> Outcome:
    """Run one case and return what is recorded of it, whatever happens.

    Parameters
    ----------
    case : what to run.
    report : called as each phase begins.
    threads : how many the solver may use; None for as many as there are cores.
    apart : calls a function with arguments, and returns the bytes that it returns: first to solve, then
        to certify what solving gave. In copies of this process no solver reaches its certificate, or
        another's run.
    """
    report("loading")
    with suppress(Exception):  # it is met again, and recorded, where the problem is solved
        _load_shared(case)
    report("solving")
    answer = apart(_packed, _solved, case)
    report("certifying")
    outcome = pickle.loads(apart(_packed, _judged, case, answer, threads or cores()))
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
    if outside_names(case.problem.dataset):
        return
    data = _load(json.dumps(case.problem.dataset), case.folder)
    if names_from_outside(case):
        return
    solver = build_solver(case.solver, case.folder, case.seed)
    if not type(solver).__module__.startswith("solvers.external."):
        solver.prepare(reduce(build_problem(case.problem, data, case.folder), solver.form).form)


def _problem(case: Case) -> tuple[Formulation, Dataset]:
    data = _load(json.dumps(case.problem.dataset), case.folder)
    return build_problem(case.problem, data, case.folder), data


def _solved(case: Case) -> _Answer:
    problem, _ = _problem(case)
    np.random.seed(case.repetition)  # noqa: NPY002 - for solvers from outside that draw from it
    trace = _Trace(case.run_id, problem)
    solution = solve(
        problem,
        build_solver(case.solver, case.folder, case.seed),
        target_gap=case.target_gap,
        time_limit=case.time_limit,
        callback=trace if case.trace else None,
    )
    return _Answer(
        {name: getattr(solution, name) for name in _ANSWERED.split()},
        [each.claimed for each in solution.subsolutions],
        trace.rows,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT_OF_MEMORY,
        max((int(pool["num_threads"]) for pool in threadpool_info()), default=None),
    )


def _judged(case: Case, packed: bytes, threads: int) -> Outcome | Failure:
    """Return the outcome of what a solver gave; the problem is built anew from the file and the data."""
    answer: _Answer | Failure = pickle.loads(packed)
    if isinstance(answer, Failure):
        return answer
    (problem, data), unknown = _problem(case), cast("Solver", None)
    solved = partial(Solution, problem, unknown)
    subsolutions = tuple(solved(Point(), Status.FINISHED, claim) for claim in answer.claims)
    solution = solved(**answer.fields, subsolutions=subsolutions, rigorous=case.proven)
    record = blank_record(case) | {
        "problem_hash": problem.hash,
        "family_hash": problem.family_hash,
        "n": problem.n,
        "d": problem.d,
        "peak_rss": answer.peak,
        "threads": answer.threads,
    }
    record |= _answer(solution, threads) | _quality(solution, data)
    found = solution.diagnosis
    diagnosis = {} if found is None else found._asdict()
    return Outcome(record, answer.trace, _model(case, solution), diagnosis=diagnosis)


@lru_cache(maxsize=1)
def _load(dataset: str, folder: str) -> Dataset:
    """Return a data set; consecutive cases on the same data read it once."""
    return build_source(json.loads(dataset), folder).load()


class _Trace:
    """The callback of `solve`: keeps a row for each evaluation of the running solver."""

    def __init__(self, run_id: str, problem: Formulation) -> None:
        self.run_id, self.problem = run_id, problem
        self.rows: list[dict[str, Any]] = []

    def __call__(self, look: Evaluation) -> None:
        c = look.certificate
        self.rows.append(
            {
                "run_id": self.run_id,
                "time": look.time,
                "iteration": int(look.iteration),
                "primal_objective": c.primal_objective,
                "dual_objective": c.dual_objective,
                "gap": c.gap,
                "kkt_violation": c.kkt_violation,
                "n_support": None
                if c.point.alpha is None
                else describe(self.problem, c).support.size,
                "objective": self.problem.objective(c.primal_objective, c.dual_objective),
            }
        )


def _answer(solution: Solution, threads: int) -> dict[str, Any]:
    """Return the columns that come from the solver and from the certificate."""
    c = solution.certificate
    has_point = solution.point.alpha is not None or solution.point.w is not None
    return {name: float(getattr(c, name)) for name in _MEASURES.split()} | {
        "status": str(solution.status),
        "claimed": str(solution.claimed),
        "verdict": solution.verdict,
        "reason": "; ".join(filter(None, (sentence(solution.reason), _excess(solution, threads)))),
        "bound_source": c.bound_source,
        "objective": float(solution.objective),
        "time_setup": float(solution.time_setup),
        "time_solve": float(solution.time_solve),
        "cpu_time": float(solution.cpu_time),
        "iterations": int(solution.iterations) if has_point else None,
        "n_kernel_evals": solution.counters.get("kernel_evaluations"),
    }


def _excess(solution: Solution, threads: int) -> str:
    """Return a sentence on a solver that kept more threads busy than it was allowed, else nothing."""
    if not solution.time_solve > _MEASURABLE:
        return ""
    busy = solution.cpu_time / solution.time_solve
    return f"used {busy:.1f} threads, {threads} were allowed" if busy > threads + 0.5 else ""


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
        "train_accuracy": problem.accuracy(geometry.decision, data.y),
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
        "kernel": np.str_(json.dumps(kernel)),
    }
