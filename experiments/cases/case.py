"""One run, inside a worker: build the problem, solve it, measure the answer, record it.

`status` describes the process, `claimed` is what the solver claims, `verdict` what the certificate
shows. Nothing that a solver raises leaves this module: it becomes the row of that run.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

from experiments.cases.integrity import Functions
from experiments.cases.plan import Case
from experiments.cases.records import Outcome, blank_record, failed
from experiments.files.specs import absolute, build_problem, build_solver, build_source
from experiments.workers.machine import cores
from problems import (
    Certificate,
    Dataset,
    Formulation,
    Geometry,
    Matrix,
    Multiclass,
    Precomputed,
    Vector,
    describe,
)
from problems.dataset import content_hash
from solvers import Evaluation, Solution, Status, solve

_MEASURES = """
primal_objective dual_objective gap relative_gap kkt_violation violating_pair primal_residual
dual_residual complementarity projection_distance
"""
_MEASURABLE = 0.05  # seconds of solving, below which CPU time is no measure of threads
_ROWS = 1000  # predicted at a time
_LONGEST = 1000  # characters of a reason
_MOST_DRAWN = 5000  # samples of a model that is kept for a picture


class _DataChanged(Exception):
    """A solver wrote to the samples that others use too."""


class _Forged(Exception):
    """A solver replaced a function that measures or certifies it."""


def run_case(
    case: Case, report: Callable[[str], object] = lambda _: None, threads: int | None = None
) -> Outcome:
    """Run one case and return what is recorded of it, whatever happens.

    Parameters
    ----------
    case : what to run.
    report : called as each phase begins.
    threads : how many the solver may use; None for as many as there are cores.
    """
    try:
        with warnings.catch_warnings(), np.errstate():
            return _run(case, report, threads or cores())
    except BaseException as error:  # a solver may also call sys.exit
        lacking = isinstance(error, MemoryError)
        status = Status.OUT_OF_MEMORY if lacking else Status.CRASHED
        return replace(failed(case, status, _last_line(error)), output=_printable(_traceback()))


def _traceback() -> str:
    try:
        return traceback.format_exc()
    except BaseException as error:  # of an exception whose own methods fail
        return f"no traceback: {type(error).__name__}"


def _printable(text: str) -> str:
    """Return text with nothing that a file in UTF-8 cannot hold."""
    return text.encode(errors="backslashreplace").decode()


def _sentence(text: str) -> str:
    """Return text on one line, without control characters, of a length that a table can show."""
    plain = "".join(c if c.isprintable() else " " for c in _printable(text[: 2 * _LONGEST]))
    line = " ".join(plain.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _last_line(error: BaseException) -> str:
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    text = _sentence(next((line for line in reversed(lines) if line.strip()), ""))
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else text


def _run(case: Case, report: Callable[[str], object], threads: int) -> Outcome:
    report("loading")
    data = _load(json.dumps(case.problem.dataset), case.folder)
    checksum = content_hash(data.X, data.y)
    problem = build_problem(case.problem, data, case.folder)
    report("solving")
    found = Functions()
    _reset_peak()
    np.random.seed(case.repetition)  # noqa: NPY002 - for solvers from outside that draw from it
    trace = _Trace(case.run_id, problem)
    solver = build_solver(case.solver, case.folder, case.seed)
    solution = solve(
        problem,
        solver,
        target_gap=case.target_gap,
        time_limit=case.time_limit,
        callback=trace if case.trace else None,
    )
    report("certifying")
    if content_hash(data.X, data.y) != checksum:
        _load.cache_clear()
        raise _DataChanged("the solver changed X or y in place; it must work on a copy")
    if replaced := found.replaced():
        raise _Forged(f"the solver replaced {replaced}, which measures or certifies it")
    # anew from the file and the data: a solver may have changed the problem that it was given
    solution = replace(
        solution, problem=build_problem(case.problem, data, case.folder), rigorous=case.proven
    )
    problem = solution.problem
    record = blank_record(case) | {
        "problem_hash": problem.hash,
        "family_hash": problem.family_hash,
        "n": problem.n,
        "d": problem.d,
        "peak_rss": _peak(),
        "threads": max((int(pool["num_threads"]) for pool in threadpool_info()), default=None),
    }
    record |= _answer(solution, threads) | _quality(solution, data)
    return Outcome(record, trace.rows, _model(case, solution))


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
                "n_support": _support(self.problem, c),
                "objective": self.problem.objective(c.primal_objective, c.dual_objective),
            }
        )


def _support(problem: Formulation, certificate: Certificate) -> int | None:
    if certificate.point.alpha is None:
        return None
    return int(describe(problem, certificate).support.size)


def _answer(solution: Solution, threads: int) -> dict[str, Any]:
    """Return the columns that come from the solver and from the certificate."""
    c = solution.certificate
    has_point = solution.point.alpha is not None or solution.point.w is not None
    return {name: float(getattr(c, name)) for name in _MEASURES.split()} | {
        "status": str(solution.status),
        "claimed": str(solution.claimed),
        "verdict": solution.verdict,
        "reason": "; ".join(filter(None, (_sentence(solution.reason), _excess(solution, threads)))),
        "diagnosis": solution.diagnosis and solution.diagnosis._asdict(),
        "bound_source": c.bound_source,
        "objective": float(solution.objective),
        "time_setup": float(solution.time_setup),
        "time_solve": float(solution.time_solve),
        "cpu_time": float(solution.cpu_time),
        "iterations": int(solution.iterations) if has_point else None,
        "n_kernel_evals": _number(solution.counters.get("kernel_evaluations")),
    }


def _excess(solution: Solution, threads: int) -> str:
    """Return a sentence on a solver that kept more threads busy than it was allowed, else nothing."""
    if not solution.time_solve > _MEASURABLE:
        return ""
    busy = solution.cpu_time / solution.time_solve
    return f"used {busy:.1f} threads, {threads} were allowed" if busy > threads + 0.5 else ""


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


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
        predicted = _predict(geometry, data.X_test)
        quality["test_accuracy"] = problem.accuracy(predicted, data.y_test)
    return quality


def _predict(geometry: Geometry, X: Matrix) -> Vector:
    """Return the decision function in blocks of rows, whose kernel values fit in memory."""
    starts = range(0, X.shape[0], _ROWS)
    return np.concatenate([geometry.decision_function(X[i : i + _ROWS]) for i in starts])


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


def _reset_peak() -> None:
    """Let the system measure the peak of memory anew (Linux), as a worker runs many cases."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the largest resident memory of this process, in bytes."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
