"""Answers that were computed just now, as the figures of a results folder take them."""

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
    """Return the columns of a solution's row that figures of the plane read, and its geometry."""
    known = {"run_id": "0", "problem_id": problem_id, "formulation": solution.problem.name}
    known |= {"series": solution.solver.name, "verdict": solution.verdict}
    return pd.Series(known), solution.geometry


def runs_of(solution: Solution) -> Runs:
    """Return a folder of one run, with its trace."""
    run, _ = answer_of(solution)
    taken: list[dict[str, Any]] = []
    for seen in solution.trace:
        alpha, dual = seen.certificate.point.alpha, seen.certificate.dual_objective
        count = 0 if alpha is None else int(np.count_nonzero(alpha))
        row = {"run_id": "0", "time": seen.time, "iteration": seen.iteration}
        taken.append(row | {"dual_objective": dual, "n_support": count})
    return Runs(pd.DataFrame([run]), pd.DataFrame(taken))
