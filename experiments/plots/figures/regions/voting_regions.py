"""What binary subproblems vote for in the plane: the class that wins, and where the vote is tied.

A panel for each strategy (one-vs-rest, one-vs-one) and voting rule. Lines are the subproblems' own
borders, f = 0; where the soccer score counts draws also f = ±1. Hatched is where votes alone name no
class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, cast, get_args

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.output.text import file_name
from experiments.plots.drawing import Drawing, Named
from experiments.plots.plane import Answer, contour, grid, in_blocks, planar
from experiments.plots.runs import Model, Runs
from experiments.plots.style import (
    BLACK,
    GREY,
    key,
    label_outside,
    legend,
    line_styles,
    panels,
    wrap,
)
from problems import FORMULATIONS, Geometry, Multiclass, Point
from problems.formulations.voting import Voting
from problems.kernels import Block

_GRID = 320  # points a side
_TINT = 0.3  # share of a class's colour, mixed with white
_HATCH = "/////"


def strategy(runs: Runs, problem: str) -> str | None:
    """Return the problem's formulation if it consists of binary subproblems, else None."""
    formulation = str(runs.of(problem)["formulation"].iloc[0])
    known = FORMULATIONS.get(formulation)
    return formulation if known is not None and issubclass(known, Multiclass) else None


def voted(runs: Runs) -> dict[str, list[Answer]]:
    """Return the best certified answer of each strategy, by problem without its strategy."""
    groups: dict[str, dict[str, Answer]] = {}
    for problem in runs.problems:
        formulation = strategy(runs, problem)
        if formulation is not None:
            # all rules are drawn, whichever one the runs were scored with
            shared = re.sub(rf" {formulation}\b| voting=\w+", "", problem)
            for answer in planar(runs, problem)[:1]:
                groups.setdefault(shared, {}).setdefault(formulation, answer)
    return {shared: list(answers.values()) for shared, answers in groups.items()}


class VotingRegions(Drawing):
    """What binary subproblems vote for in the plane; a panel a voting rule."""

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for each two-dimensional problem of several classes."""
        for title, answers in voted(runs).items():
            yield file_name(self.name, title), voting_regions(title, answers)


def voting_regions(title: str, answers: Sequence[Answer]) -> Figure:
    """Draw up to two strategies' answers to one problem, a panel for each of the three rules."""
    rules = cast("tuple[Voting, ...]", get_args(Voting))
    drawn = list(product([_Votes(run, model) for run, model in answers], rules))
    new, axes = panels([rule for _, rule in drawn], height=2.1, share="both")
    solvers, verdicts = (
        ", ".join(dict.fromkeys(str(run[column]) for run, _ in answers))
        for column in ("series", "verdict")
    )
    new.suptitle(wrap(f"{title}: {solvers}: {verdicts}", 100), fontsize=8.5)
    for ax, (votes, rule) in zip(axes, drawn, strict=True):
        ax.set_title(votes.title(rule))
        votes.draw(ax, rule)
    label_outside(axes, "$x_1$", "$x_2$")
    legend(new, _keys(max(votes.problem.classes for votes, _ in drawn)), columns=3)
    return new


class _Votes:
    """The outputs of all subproblems on a grid over the samples."""

    def __init__(self, run: pd.Series, model: Model) -> None:
        self.strategy = str(run["formulation"])
        make = cast("type[Any]", FORMULATIONS[self.strategy])
        self.problem: Multiclass = make(model["X"], model["y"], kernel=model["kernel"])
        self.x1, self.x2, points = grid(model["X"], _GRID)
        point = Point(model["alpha"], model["w"], model["b"])
        geometry = Geometry(self.problem, point, (np.nan, np.nan))
        self.f: Block = in_blocks(geometry.outputs, points).reshape(_GRID**2, -1)

    def ambiguous(self, rule: Voting) -> Block:
        """Return 1 where the vote is tied and 0 elsewhere, by x₂ and x₁."""
        return self.problem.ambiguous(self.f, rule).reshape(_GRID, _GRID).astype(np.float64)

    def title(self, rule: Voting) -> str:
        """Return the strategy, the rule, and how much of the panel is ambiguous, in two lines."""
        share = 100 * float(self.ambiguous(rule).mean())
        return f"{self.strategy.replace('_', '-')}, {rule}\nambiguous: {share:.1f} % of the area"

    def draw(self, ax: Axes, rule: Voting) -> None:
        """Draw the winners, the subproblems' borders, the ambiguous regions and the samples."""
        scores = self.problem.combine(self.f, rule)
        winner = scores.argmax(axis=1).reshape(_GRID, _GRID)
        extent = (self.x1[0], self.x1[-1], self.x2[0], self.x2[-1])
        ax.imshow(
            _tints(self.problem.classes)[winner], extent=extent, origin="lower", aspect="auto"
        )
        tied = self.ambiguous(rule)
        if tied.any():
            levels = [0.5, 1.5]
            filled = ax.contourf(self.x1, self.x2, tied, levels, colors="none", hatches=[_HATCH])
            filled.set(edgecolor="#444444", linewidth=0)
        for f in self.f.T.reshape(-1, _GRID, _GRID):
            contour(ax, self.x1, self.x2, f, 0.0, BLACK, 0.9)
            for level in (-1.0, 1.0) if rule == "soccer" else ():
                contour(ax, self.x1, self.x2, f, level, GREY, 0.6)
        for k, line in enumerate(_styles(self.problem.classes)):
            x1, x2 = self.problem.X[self.problem.y == k].T
            ax.scatter(x1, x2, s=9, c=line.colour, marker=line.marker, linewidths=0)
        ax.set(xlim=extent[:2], ylim=extent[2:])
        ax.grid(visible=False)


def _styles(classes: int) -> list[Any]:
    return list(line_styles(f"{k:04}" for k in range(classes)).values())


def _tints(classes: int) -> Block:
    """Return the colour of each class's region, shape (K, 3)."""
    colours = np.array([to_rgb(line.colour) for line in _styles(classes)])
    return 1.0 - _TINT * (1.0 - colours)


def _keys(classes: int) -> list[tuple[Any, str]]:
    samples = [
        (key(color=line.colour, marker=line.marker, linestyle="none"), f"class {k}")
        for k, line in enumerate(_styles(classes))
    ]
    tied = Patch(facecolor="none", edgecolor="#444444", hatch=_HATCH, linewidth=0.5)
    return [
        *samples,
        (tied, "ambiguous: the vote is tied"),
        (key(color=BLACK, linewidth=0.9), "f = 0 of a subproblem"),
        (key(color=GREY, linestyle="--", linewidth=0.8), "f = ±1, a draw between them"),
    ]
