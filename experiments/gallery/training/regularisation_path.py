"""
The whole regularisation path, certified
========================================

Between two answers their convex combinations are answers too, and bounds on their gap follow from the
two alone: finitely many answers cover all C within a relative gap of 0.001. On the left, some of them,
and the gaps in between: the bound, and what the certificate of the combination itself shows. On the
right, the errors of answers on held-out samples, and the band that contains the errors of all optima: no
C can do better than its lower edge.

From Giesen, Jaggi & Laue (2012) and Ndiaye et al. (2019), on paths with guarantees, and Shibagaki et al.
(2015), on the validation error along them.
"""

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.style import BLUE, GREY, VERMILION, decades, key, legend, panels
from dualgap.problems import RBF, SoftMarginDual, datasets
from dualgap.solvers import Selection, select, solve_path

N_SHOWN = 5  # answers


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
        [f"{N_SHOWN} of the {len(path.answers)} answers for all C", "error on held-out samples"]
    )
    first = len(path.answers) // 2
    plotted = path.answers[first:][:N_SHOWN]
    for segment in path.segments[first:][: N_SHOWN - 1]:
        values = np.linspace(*segment.values, segment.relative_gaps.size + 1)
        gaps.stairs(segment.relative_gaps, values, baseline=None, color=GREY)
        between = values[::4]
        gaps.plot(between, [path.at(C).certificate.relative_gap for C in between], color=BLUE)
    own_gaps = [answer.certificate.relative_gap for answer in plotted]
    gaps.plot([answer.value for answer in plotted], own_gaps, "o", color=BLUE, clip_on=False)
    gaps.axhline(path.gap, color=GREY, linestyle="--")
    gaps.set_ylabel("relative gap")
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
        "answers": key(color=BLUE, marker="o", linestyle="none"),
        "their combinations": key(color=BLUE),
        "bound on the gap": key(color=GREY),
        "errors of all optima": key(color=BLUE, alpha=0.2, linewidth=6),
        "bound for every C": key(color=GREY, linestyle="--"),
        f"the best: C = {selection.value:.3g}": key(color=VERMILION, marker="o", linestyle="none"),
    }
    legend(new, [(mark, name) for name, mark in entries.items()])
    return new
