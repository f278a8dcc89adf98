"""
The 2×2 picture of a training run
=================================

Decision regions with the support vectors, the dual objective L_D by step, α by sample, and the number
of support vectors by step: α starts at 0; soon many samples have a positive multiplier, and in the end
only those near the border do.

From C. Anderson's notebook on dual gradient ascent, whose loop draws it while it runs.
"""

from matplotlib.figure import Figure

from dualgap.experiments.plots.figures.regions.training import training
from dualgap.experiments.plots.solved import answer_of, runs_of
from dualgap.problems import RBF, SoftMarginDual, datasets
from dualgap.solvers import ProjectedGradient, Solution, solve


def compute() -> Solution:
    """Solve a soft margin on the notebook's four Gaussians, with a trace."""
    data = datasets.load("four_gaussians", n=200)
    problem = SoftMarginDual(data.X, data.y, 10.0, RBF(1 / 20))
    solver = ProjectedGradient("accelerated", tol=1e-7)
    return solve(problem, solver, callback=lambda _: None)  # with it, a trace is kept


def draw(solution: Solution) -> Figure:
    """Draw the four panels."""
    answer = answer_of(solution, "four Gaussians, Gaussian kernel, C = 10")
    return training(runs_of(solution), *answer)
