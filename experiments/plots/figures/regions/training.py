"""Training of one solver on two-dimensional data, in four panels.

Decision regions with support vectors, the dual objective L_D by step, α by sample, and the number
of support vectors by step: the picture of Anderson's notes on support vector machines (2013).
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.plane import (
    CLASSES,
    answer_keys,
    binary_answers,
    draw_regions,
    name_axes,
)
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import BLACK, count_axis, figure, legend, note, wrap
from dualgap.experiments.tables.formats import file_name
from dualgap.problems import Geometry
from dualgap.problems.answers.geometry import upper_limits


class Training(Drawing):
    """Training of a solver on a two-dimensional problem; one figure per solver and problem."""

    columns = (
        "d",
        "time_solve",
        "relative_gap",
        "verdict",
        "traces.iteration",
        "traces.dual_objective",
        "traces.n_support",
    )
    needs = ("table", "traces")
    png_only = True

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per answer whose run has a trace."""
        for problem, answers in binary_answers(runs):
            for run, answer in answers:
                if len(runs.trace(run["run_id"])) > 1:
                    name = file_name(self.name, problem, str(run["series"]))
                    yield name, training(runs, run, answer)


def training(runs: Runs, run: pd.Series, answer: Geometry) -> Figure:
    """Draw the four panels of a run that has a trace."""
    new = figure(6.0, 5.2)
    regions, objective, multipliers, count = new.subplots(2, 2).ravel()
    title = f"{run['problem_id']}: {run['series']}, {run['verdict']}"
    new.suptitle(wrap(title, 80), fontsize=8.5)
    draw_regions(regions, answer)
    name_axes([regions], answer)
    evaluations = runs.trace(run["run_id"])
    _by_step(objective, evaluations, "dual_objective", "dual objective $L_D$")
    multipliers.set(xlabel="sample", ylabel=r"$\alpha$")
    y, alpha = answer.problem.y, answer.point.alpha
    assert alpha is not None
    samples = np.arange(1, len(alpha) + 1)
    for label, colour, marker in CLASSES:
        members = y == label
        mark: dict[str, Any] = {"s": 9, "c": colour, "marker": marker, "linewidths": 0}
        multipliers.scatter(samples[members], alpha[members], **mark)
    C, *other_bounds = np.unique(upper_limits(answer.problem))
    if np.isfinite(C) and not other_bounds:
        multipliers.axhline(C, color="#555555", linestyle="--", linewidth=0.8)
        offset: dict[str, Any] = {"xytext": (2, 0), "textcoords": "offset points", "va": "center"}
        offset |= {"xycoords": ("axes fraction", "data"), "annotation_clip": False}
        multipliers.annotate("C", (1, C), **offset)
    _by_step(count, evaluations, "n_support", f"support vectors (of {len(y)})")
    if count.lines:
        count.set_ylim(0, 1.1 * count.dataLim.y1 + 1)
    legend(new, answer_keys(answer), columns=3)
    return new


def _by_step(ax: Axes, evaluations: pd.DataFrame, column: str, label: str) -> None:
    recorded = evaluations[["iteration", column]].to_numpy(dtype=np.float64)
    steps, values = recorded[np.isfinite(recorded).all(axis=1)].T
    ax.set(xlabel="step", ylabel=label)
    if not len(values):
        note(ax, "not recorded")
        return
    ax.plot(steps, values, color=BLACK, marker="o", markersize=2.5, label=column)
    ax.ticklabel_format(axis="y", useOffset=False)
    count_axis(ax)
