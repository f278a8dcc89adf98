"""Votes of binary subproblems in the plane: the winning class, and regions where the vote is tied.

One panel per strategy (one-vs-rest, one-vs-one) and voting rule. Lines are the subproblems' borders,
f = 0, and for the soccer score, which counts draws, also f = ±1. Regions with tied votes are hatched.
"""

from collections.abc import Iterator, Sequence
from typing import cast, get_args

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from dualgap.experiments.analysis.labels import words_of
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.plane import Answer, contour, decision, grid, name_axes, planar
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import (
    BLACK,
    GREY,
    LineStyle,
    key,
    legend,
    line_styles,
    panels,
    shortened,
    wrap,
)
from dualgap.experiments.tables.formats import file_name
from dualgap.problems import FORMULATIONS, Multiclass, Vector
from dualgap.problems.formulations.multiclass import Voting
from dualgap.problems.kernels import Block

_GRID = 320  # points per side
_HATCH = "/////"


def answers_by_problem(runs: Runs) -> dict[str, list[Answer]]:
    """Return the best certified answer of each strategy, by problem name without strategy."""
    groups: dict[str, dict[str, Answer]] = {}
    # all rules are drawn, not only the one that scored the runs
    words = words_of(runs.table, {"formulation", "voting"})
    for problem in runs.problems:
        strategy = str(runs.of(problem)["formulation"].iloc[0])
        if issubclass(FORMULATIONS.get(strategy, object), Multiclass):
            for answer in planar(runs, problem)[:1]:
                groups.setdefault(" ".join(words[problem]), {}).setdefault(strategy, answer)
    return {shared: list(answers.values()) for shared, answers in groups.items()}


class VotingRegions(Drawing):
    """Votes of binary subproblems in the plane; one panel per voting rule."""

    columns = ("d", "formulation", "time_solve", "relative_gap", "verdict")
    png_only = True

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per two-dimensional problem of several classes."""
        for title, answers in answers_by_problem(runs).items():
            yield file_name(self.name, title), voting_regions(title, answers)


def voting_regions(title: str, answers: Sequence[Answer]) -> Figure:
    """Draw up to two strategies' answers to one problem, one panel per voting rule."""
    rules = cast("tuple[Voting, ...]", get_args(Voting))
    new, axes = panels([*rules] * len(answers), height=2.1, shared_axes="both")
    solvers, verdicts = (
        ", ".join(dict.fromkeys(str(run[column]) for run, _ in answers))
        for column in ("series", "verdict")
    )
    new.suptitle(wrap(f"{title}: {solvers}: {verdicts}", 100), fontsize=8.5)
    n_classes = 0
    for i, (run, answer) in enumerate(answers):
        problem = cast("Multiclass", answer.problem)
        n_classes = max(n_classes, problem.classes)
        x1, x2, points = grid(np.asarray(problem.X), _GRID)
        f = decision(answer, points).reshape(_GRID**2, -1)
        for ax, rule in zip(axes[len(rules) * i :], rules, strict=False):
            _draw_votes(ax, problem, (x1, x2, f), rule)
            strategy = str(run["formulation"]).replace("_", "-")
            ax.set_title(f"{strategy}, {rule}\n{ax.get_title()}")
    name_axes(axes, answers[0][1])
    named = answers[0][1].problem.names.classes
    texts = named if len(named) == n_classes else [f"class {k}" for k in range(n_classes)]
    keys: list[tuple[Artist, str]] = [
        (key(color=line.colour, marker=line.marker, linestyle="none"), shortened(text, 30))
        for line, text in zip(_styles(n_classes), texts, strict=True)
    ]
    tied = Patch(facecolor="none", edgecolor="#444444", hatch=_HATCH, linewidth=0.5)
    keys.append((tied, "ambiguous: the vote is tied"))
    keys.append((key(color=BLACK, linewidth=0.9), "f = 0 of a subproblem"))
    dashed = key(color=GREY, linestyle="--", linewidth=0.8)
    legend(new, [*keys, (dashed, "f = ±1, a draw between them")], columns=3)
    return new


def _draw_votes(
    ax: Axes, problem: Multiclass, outputs: tuple[Vector, Vector, Block], rule: Voting
) -> None:
    """Draw the winners, the subproblems' borders, the ambiguous regions and the samples.

    Parameters
    ----------
    outputs : x₁ and x₂ of a grid, and the outputs of all subproblems at its points.
    """
    x1, x2, f = outputs
    ambiguous = problem.ambiguous(f, rule).reshape(_GRID, _GRID)
    ax.set_title(f"ambiguous: {100 * float(ambiguous.mean()):.1f} % of the area")
    winner = problem.combine(f, rule).argmax(axis=1).reshape(_GRID, _GRID)
    extent = (x1[0], x1[-1], x2[0], x2[-1])
    styles = _styles(problem.classes)
    # 30 % of a class's colour, mixed with white
    tints = 1.0 - 0.3 * (1.0 - np.array([to_rgb(line.colour) for line in styles]))
    ax.imshow(tints[winner], extent=extent, origin="lower", aspect="auto")
    if ambiguous.any():
        tied, levels = ambiguous.astype(np.float64), [0.5, 1.5]
        filled = ax.contourf(x1, x2, tied, levels, colors="none", hatches=[_HATCH])
        filled.set(edgecolor="#444444", linewidth=0)
    for values in f.T.reshape(-1, _GRID, _GRID):
        contour(ax, x1, x2, values, 0.0, BLACK, 0.9)
        for level in (-1.0, 1.0) if rule == "soccer" else ():
            contour(ax, x1, x2, values, level, GREY, 0.6)
    for k, line in enumerate(styles):
        members = problem.X[problem.y == k]
        ax.scatter(*members.T, s=9, c=line.colour, marker=line.marker, linewidths=0)
    ax.set(xlim=extent[:2], ylim=extent[2:])
    ax.grid(visible=False)


def _styles(classes: int) -> list[LineStyle]:
    return list(line_styles(f"{k:04}" for k in range(classes)).values())
