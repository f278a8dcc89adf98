"""Outcomes of all runs: one cell per problem and solver, with the verdict and the time.

Colour and sign both show the verdict. Several repetitions show their worst outcome and median time.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from dualgap.experiments.plots.drawing import Drawing, NamedFigure, numbered
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import chunks, figure, legend, wrap
from dualgap.experiments.records.outcomes import OUTCOMES, OutcomeKind, outcome_of, worst
from dualgap.experiments.tables.formats import duration

_NAME_LENGTH = 64  # characters of a problem's name


class Overview(Drawing):
    """Verdict and time of every solver on every problem."""

    columns = ("status", "verdict", "time_solve")

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield as many figures as the problems and solvers need, of similar size."""
        solvers = sorted(runs.table["configuration"].unique())
        # at most 40 rows and 8 columns per figure
        pages = list(product(chunks(runs.problems, 40), chunks(solvers, 8)))
        for i, page in enumerate(pages, 1):
            yield numbered(self.name, i, pages), overview(runs, *page)


def overview(runs: Runs, problems: Sequence[str], solvers: Sequence[str]) -> Figure:
    """Draw the table of verdicts and times, one row per problem and one column per solver."""
    names = max(len(line) for p in problems for line in wrap(p, _NAME_LENGTH, 1).splitlines())
    new = figure(0.065 * names + 0.56 * len(solvers) + 0.5, 0.2 * len(problems) + 1.8)
    ax = new.add_subplot()
    occurring: set[str] = set()
    for i, problem in enumerate(problems):
        problem_runs = runs.of(problem)
        for j, solver in enumerate(solvers):
            cell_runs = problem_runs[problem_runs["configuration"] == solver]
            if cell_runs.empty:
                continue
            ends = map(outcome_of, cell_runs["status"], cell_runs["verdict"])
            outcome = OUTCOMES[worst(ends)]
            occurring.add(outcome.name)
            ax.add_patch(_patch(j, i, outcome))
            time = duration(float(cell_runs["time_solve"].median()))
            if time and (cell_runs["status"] == "time_limit").any():
                time = f"> {time}"
            ax.text(j + 0.08, i + 0.5, outcome.sign, ha="left", va="center", fontweight="bold")
            ax.text(j + 0.94, i + 0.5, time, ha="right", va="center", fontsize=7)
    ax.set(xlim=(0, len(solvers)), ylim=(len(problems), 0))
    ax.set_xticks(np.arange(len(solvers)) + 0.5, [wrap(name, 22) for name in solvers])
    ax.set_yticks(
        np.arange(len(problems)) + 0.5, [wrap(name, _NAME_LENGTH, 1) for name in problems]
    )
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for label in ax.get_xticklabels():
        label.set(rotation=35, ha="left", rotation_mode="anchor")
    ax.spines[:].set_visible(False)
    ax.grid(visible=False)
    entries = [
        (_patch(0, 0, outcome), f"{outcome.sign}  {outcome.text}")
        for name, outcome in OUTCOMES.items()
        if name in occurring
    ]
    legend(new, entries, columns=5)
    return new


def _patch(x: int, y: int, outcome: OutcomeKind) -> Rectangle:
    line: dict[str, Any] = {"edgecolor": "#9A9A9A", "linewidth": 0.5, "clip_on": False}
    hatch = "////" if outcome.name == "wrong" else ".." if outcome.fails else ""
    return Rectangle((x, y), 1, 1, facecolor=outcome.colour, hatch=hatch, **line)
