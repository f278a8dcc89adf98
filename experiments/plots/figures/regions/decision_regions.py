"""Decision regions of two-dimensional problems, with margins and support vectors.

Answers that look the same share a panel, named by all of their solvers.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.drawing import Drawing, Named
from dualgap.experiments.plots.plane import (
    Answer,
    binary_answers,
    decision,
    draw_regions,
    grid,
    region_keys,
)
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import PANELS, label_outside, legend, panels, wrap
from dualgap.experiments.tables.formats import file_name

_POINTS = 40  # a side of the grid on which answers are compared
_SAME = (
    0.02  # difference of two decision functions that no reader would see; their margins are at ±1
)
_LINES = 6  # of a panel's title


class DecisionRegions(Drawing):
    """Decision regions of two-dimensional problems; a panel for each different answer."""

    pixels = True

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for each problem in the plane that left answers."""
        for problem, answers in binary_answers(runs):
            yield file_name(self.name, problem), decision_regions(answers)


def decision_regions(answers: Sequence[Answer]) -> Figure:
    """Draw the answers of all solvers to one problem, up to six different ones, a panel each."""
    groups = alike(answers)[:PANELS]
    titles: list[str] = []
    for group in groups:  # the solvers by verdict, `smo, cvxopt_qp: solved`
        solvers: dict[str, list[str]] = {}
        for run, _ in group:
            solvers.setdefault(str(run["verdict"]), []).append(str(run["series"]))
        titles.append("; ".join(f"{', '.join(own)}: {verdict}" for verdict, own in solvers.items()))
    new, axes = panels(titles, 2.1, share="both", lines=_LINES)
    new.suptitle(wrap(str(answers[0][0]["problem_id"]), 90), fontsize=8.5)
    for ax, group in zip(axes, groups, strict=True):
        draw_regions(ax, group[0][1])
    label_outside(axes, "$x_1$", "$x_2$")
    legend(new, region_keys(), columns=3)
    return new


def alike(answers: Sequence[Answer]) -> list[list[Answer]]:
    """Return the answers in groups that look the same: their regions, margins and support vectors."""
    _, _, points = grid(np.asarray(answers[0][1].problem.X), _POINTS)
    groups: list[list[Answer]] = []
    looks: list[tuple[np.ndarray, np.ndarray]] = []  # of each group's first
    for run, answer in answers:
        f, kinds = decision(answer, points), answer.kinds
        for group, (other, others) in zip(groups, looks, strict=True):
            if (np.abs(f - other) <= _SAME).all() and (kinds == others).all():
                group.append((run, answer))
                break
        else:
            groups.append([(run, answer)])
            looks.append((f, kinds))
    return groups
