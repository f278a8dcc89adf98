"""Answers that were computed just now, as the figures of a results folder take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from experiments.plots.plane import draw_regions
from experiments.plots.runs import Model, Runs
from problems import FORMULATIONS, Vector
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
    names = {cls: name for name, cls in FORMULATIONS.items()}
    return pd.Series(
        {
            "run_id": "0",
            "problem_id": problem_id,
            "formulation": names[type(problem)],
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
    taken = [
        {
            "run_id": "0",
            "time": evaluation.time,
            "iteration": evaluation.iteration,
            "primal_objective": evaluation.certificate.primal_objective,
            "dual_objective": evaluation.certificate.dual_objective,
            "gap": evaluation.certificate.gap,
            "n_support": 0 if alpha is None else int(np.count_nonzero(alpha)),
        }
        for evaluation in solution.trace
        for alpha in (evaluation.certificate.point.alpha,)
    ]
    return Runs(pd.DataFrame([run]), pd.DataFrame(taken))
