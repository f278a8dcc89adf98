"""Measure a certified answer: the columns of its record, the rows of its trace, and its model."""

from time import perf_counter
from typing import Any

import numpy as np

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.files.specs import Loaded
from dualgap.experiments.records.columns import COUNTED
from dualgap.problems import Precomputed, SampleProblem, describe
from dualgap.problems.dataset import Names
from dualgap.problems.problem.task import LABELS
from dualgap.problems.quadratic.certificate import QPCertificate
from dualgap.problems.texts import one_line
from dualgap.solvers import Evaluation, Solution

_MEASURES = """
primal_objective dual_objective gap relative_gap kkt_violation violating_pair primal_residual
dual_residual complementarity projection_distance
"""
_TRACE_BUDGET_S = 300.0  # half of the time limit of certifying
_BATCH_ROWS = 1000  # test samples whose kernel values fit in memory
_MAX_DRAWN = 5000  # samples of a model that is recorded for a figure


def answer_columns(solution: Solution, importing: float) -> dict[str, Any]:
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


def quality_columns(solution: Solution, data: Loaded) -> dict[str, Any]:
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


def trace_rows(case: Case, evaluations: list[Evaluation]) -> list[dict[str, Any]]:
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


def model_and_diagnosis(solution: Solution) -> dict[str, Any]:
    """Return the fields `model`, `names` and `diagnosis` of an outcome."""
    model, diagnosis = _model_arrays(solution), solution.diagnosis
    return {
        "model": model,
        "names": solution.problem.names if model else Names(),
        "diagnosis": {} if diagnosis is None else diagnosis._asdict(),
    }


def _model_arrays(solution: Solution) -> dict[str, Any]:
    """Return the arrays that draw the decision function in the plane; {} if it is not drawn."""
    problem, point = solution.problem, solution.certificate.point
    if not isinstance(problem, SampleProblem):
        return {}
    drawable = problem.d == 2 and problem.n <= _MAX_DRAWN and problem.outputs == len(problem.parts)
    if not drawable or isinstance(problem.kernel, Precomputed) or point.alpha is None:
        return {}
    if problem.task is LABELS and not solution.geometry.rule.has_margin:
        return {}
    arrays = vars(point) | {
        "X": problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray(),
        "y": problem.y,
        "offsets": solution.certificate.offsets,
    }
    return {name: np.asarray(a, np.float64) for name, a in arrays.items() if a is not None}
