"""Solutions in memory, in the form of the figures of a results folder."""

from typing import Any

import numpy as np
import pandas as pd

from dualgap.experiments.plots.plane import Answer
from dualgap.experiments.plots.runs import Runs
from dualgap.problems import Vector
from dualgap.solvers import Solution


def line_of(solution: Solution) -> tuple[Vector, float]:
    """Return w and b of a linear answer to one binary problem."""
    w, b = solution.w, solution.b
    assert w is not None
    assert isinstance(b, float)
    return w, b


def answer_of(solution: Solution, problem_id: str = "") -> Answer:
    """Return the columns that figures of the plane read, and the geometry, of a solution."""
    row = {"run_id": "0", "problem_id": problem_id, "formulation": solution.problem.name}
    row |= {"series": solution.solver.name, "verdict": solution.verdict}
    return pd.Series(row), solution.geometry


def runs_of(solution: Solution) -> Runs:
    """Return a solution and its trace as the runs of a folder."""
    run, _ = answer_of(solution)
    trace_rows: list[dict[str, Any]] = []
    for evaluation in solution.trace:
        alpha, dual = evaluation.certificate.point.alpha, evaluation.certificate.dual_objective
        count = 0 if alpha is None else int(np.count_nonzero(alpha))
        row = {"run_id": "0", "time": evaluation.time, "iteration": evaluation.iteration}
        trace_rows.append(row | {"dual_objective": dual, "n_support": count})
    return Runs(pd.DataFrame([run]), pd.DataFrame(trace_rows))
