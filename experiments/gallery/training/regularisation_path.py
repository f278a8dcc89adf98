"""
The whole regularisation path, certified
========================================

Every answer bounds the optimum at every C, by a quadratic and a linear function of C. Where the bounds
of an answer are too far apart, the next one begins: finitely many answers cover all C, each within a
relative gap of 0.001 (on the left, some of them). On the right, the error of each answer on held-out
samples, and the band that contains the errors of all optima: no C can do better than its lower edge.

From Giesen, Jaggi & Laue (2012) and Ndiaye et al. (2019), on paths with guarantees, and Shibagaki et al.
(2015), on the validation error along them.
"""

from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLUE, GREY, VERMILION, decades, key, legend, panels
from dualgap.problems import RBF, SoftMarginDual, datasets
from dualgap.solvers import Selection, select, solve_path

N_SHOWN = 6  # answers


def compute() -> Selection:
    """Return the selection of C for a Gaussian kernel by held-out samples of breast_cancer."""
    data = datasets.load("breast_cancer", standardize=True)
    order = np.random.default_rng(0).permutation(data.n)
    train, held_out = order[:400], order[400:]
    problem = SoftMarginDual(data.X[train], data.y[train], kernel=RBF(0.02))
    return select(solve_path(problem, C=(0.01, 100)), data.X[held_out], data.y[held_out])


def draw(selection: Selection) -> Figure:
    """Draw the relative gap of the bounds, and the errors, against C."""
    path, table = selection.path, selection.table
    new, (gaps, errors) = panels(
        [f"{N_SHOWN} of the {len(path.segments)} answers for all C", "error on held-out samples"]
    )
    middle = len(path.segments) // 2
    intervals = [*zip(path.segments, pairwise(path.breakpoints), strict=True)]
    for answer, ends in intervals[middle:][:N_SHOWN]:
        values = np.linspace(*ends, 20)
        gaps.plot(values, [answer.along.relative_gap(v) for v in values], color=BLUE)
    gaps.axhline(path.gap, color=GREY, linestyle="--")
    gaps.set_ylabel("relative gap of the bounds")
    x = np.append(table["from"], path.high)
    errors.stairs(table["most"], x, baseline=table["least"], fill=True, color=BLUE, alpha=0.2)
    errors.stairs(table["error"], x, baseline=None, color=BLUE)
    errors.axhline(selection.lower_bound, color=GREY, linestyle="--")
    errors.plot(selection.value, selection.error, "o", color=VERMILION)
    errors.set_ylabel("fraction of wrong predictions")
    for ax in (gaps, errors):
        ax.set_xlabel("C")
        ax.set_ylim(bottom=0)
    errors.set_xscale("log")
    decades(errors)
    entries = {
        "answers on the path": key(color=BLUE),
        "errors of all optima": key(color=BLUE, alpha=0.2, linewidth=6),
        "bound for every C": key(color=GREY, linestyle="--"),
        f"the best: C = {selection.value:.3g}": key(color=VERMILION, marker="o", linestyle="none"),
    }
    legend(new, [(mark, name) for name, mark in entries.items()])
    return new
