"""Decision regions of two-dimensional problems, with margins and support vectors.

Answers that look the same share a panel, titled with all of their solvers.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.figure import Figure

from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.plane import (
    Answer,
    answer_keys,
    binary_answers,
    decision,
    draw_regions,
    grid,
    name_axes,
)
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import MAX_PANELS, legend, panels, wrap
from dualgap.experiments.tables.formats import file_name


class DecisionRegions(Drawing):
    """Decision regions of two-dimensional problems; one panel per different answer."""

    columns = ("d", "time_solve", "relative_gap", "verdict")
    png_only = True

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per two-dimensional problem with stored answers."""
        for problem, answers in binary_answers(runs):
            yield file_name(self.name, problem), decision_regions(answers)


def decision_regions(answers: Sequence[Answer]) -> Figure:
    """Draw the answers to one problem, one panel for each of up to six different ones."""
    groups = group_by_appearance(answers)[:MAX_PANELS]
    titles: list[str] = []
    for group in groups:  # the solvers by verdict, `smo, cvxopt_qp: solved`
        solvers: dict[str, list[str]] = {}
        for run, _ in group:
            solvers.setdefault(str(run["verdict"]), []).append(str(run["series"]))
        titles.append(
            "; ".join(f"{', '.join(names)}: {verdict}" for verdict, names in solvers.items())
        )
    new, axes = panels(titles, 2.1, shared_axes="both", lines=6)
    new.suptitle(wrap(str(answers[0][0]["problem_id"]), 90), fontsize=8.5)
    for ax, group in zip(axes, groups, strict=True):
        draw_regions(ax, group[0][1])
    name_axes(axes, answers[0][1])
    legend(new, answer_keys(answers[0][1]), columns=3)
    return new


def group_by_appearance(answers: Sequence[Answer]) -> list[list[Answer]]:
    """Return the answers grouped by appearance: regions, margins and support vectors.

    Decision functions look the same if they differ by at most 0.02 on a grid, where margins are at ±1.
    """
    _, _, points = grid(np.asarray(answers[0][1].problem.X), 40)
    groups: list[list[Answer]] = []
    references: list[tuple[np.ndarray, np.ndarray]] = []  # f and kinds of each group's first answer
    for run, answer in answers:
        f, kinds = decision(answer, points), answer.kinds
        for group, (reference_f, reference_kinds) in zip(groups, references, strict=True):
            if (np.abs(f - reference_f) <= 0.02).all() and (kinds == reference_kinds).all():
                group.append((run, answer))
                break
        else:
            groups.append([(run, answer)])
            references.append((f, kinds))
    return groups
