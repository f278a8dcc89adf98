"""
Several classes by voting, and where the vote is tied
=====================================================

One binary problem for each class against all others, or for each pair of classes, and then a vote.
Voting leaves regions where no class, or several, win (hatched). Points as in a football league, where a
win inside the margin counts as a draw, move these regions; sums of margins leave none.

From M. Straka's NPFL129 notes (after Bishop 2006, figure 4.2) and P. Gori's notes (soccer scoring).
"""

from matplotlib.figure import Figure

from dualgap.experiments.plots.figures.regions.voting_regions import voting_regions
from dualgap.experiments.plots.solved import answer_of
from dualgap.problems import OneVsOne, OneVsRest, datasets
from dualgap.solvers import Solution, solve


def compute() -> list[Solution]:
    """Return the answers of both strategies to three clouds."""
    data = datasets.load("blobs", n=90, classes=3, radius=3.0, seed=1, multiclass=True)
    return [solve(strategy(data.X, data.y, C=1.0)) for strategy in (OneVsRest, OneVsOne)]


def draw(solutions: list[Solution]) -> Figure:
    """Draw one row per strategy, and one panel per voting rule."""
    return voting_regions("three clouds, linear machines", list(map(answer_of, solutions)))
