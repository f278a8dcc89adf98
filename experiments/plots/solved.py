"""Answers that were computed just now, as the figures of a results folder take them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.plots.plane import draw_regions
from experiments.plots.runs import Model, Runs
from problems import Vector
from solvers import Solution


def draw_solution(ax: Axes, solution: Solution) -> None:
    """Draw regions, margins, samples and support vectors of an answer in the plane."""
    draw_regions(ax, run_of(solution), model_of(solution))


def line_of(solution: Solution) -> tuple[Vector, float]:
    """Return w and b of a linear answer to one binary problem."""
    w, b = solution.w, solution.b
    assert w is not None
    assert isinstance(b, float)
    return w, b


def run_of(solution: Solution, problem_id: str = "") -> pd.Series:
    """Return the columns of a solution's row that figures read."""
    problem = solution.problem
    return pd.Series(
        {
            "run_id": "0",
            "problem_id": problem_id,
            "formulation": problem.name,
            "solver": solution.solver.name,
            "series": solution.solver.name,
            "verdict": solution.verdict,
            "C": getattr(problem, "C", np.nan),
            "lam": getattr(problem, "lam", np.nan),
            "n": problem.n,
        }
    )


def model_of(solution: Solution) -> Model:
    """Return the samples, the kernel and the certified answer, by name."""
    problem = solution.problem
    answer = {"alpha": solution.alpha, "w": solution.w, "b": solution.b}
    level = problem.decision_scale(solution.certificate.offsets)
    return {"X": problem.X, "y": problem.y, "kernel": problem.kernel, "level": level, **answer}


def runs_of(solution: Solution) -> Runs:
    """Return a folder of one run, with its trace."""
    run = run_of(solution)
    taken: list[dict[str, Any]] = []
    for seen in solution.trace:
        alpha, dual = seen.certificate.point.alpha, seen.certificate.dual_objective
        count = 0 if alpha is None else int(np.count_nonzero(alpha))
        row = {"run_id": "0", "time": seen.time, "iteration": seen.iteration}
        taken.append(row | {"dual_objective": dual, "n_support": count})
    return Runs(pd.DataFrame([run]), pd.DataFrame(taken))
