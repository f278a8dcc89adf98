"""How far each solver is from the QP optimum: a mark a problem, a row a solver.

Within a row marks are spread by rank, so that the distribution can be read off: the middle of a row is
its median. The answers of the better QP back end, which are the optimum themselves, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from experiments.analysis.verify import TOLERANCE
from experiments.plots.drawing import Drawing, Named
from experiments.plots.runs import Runs
from experiments.plots.style import BLUE, TEXT_WIDTH, VERMILION, figure


class Differences(Drawing):
    """Distance of each answer to the QP optimum, as `dualgap verify` has found it."""

    needs = ("checks",)

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield one figure."""
        yield self.name, differences(runs.checks)


def differences(checks: pd.DataFrame) -> Figure:
    """Draw relative differences to the QP optimum, and the tolerance for them.

    Parameters
    ----------
    checks : columns solver, difference (NaN where there is none) and passed, a row a problem.
    """
    drawn = checks[checks["difference"] > 0]
    rows = {str(solver): rows for solver, rows in drawn.groupby("solver", sort=False)}
    new = figure(TEXT_WIDTH, 0.5 * len(rows) + 1.0)
    ax = new.add_subplot()
    for row, mine in enumerate(rows.values()):
        ordered = mine.sort_values("difference")
        place = row + np.linspace(0.35, -0.35, len(mine)) if len(mine) > 1 else [row]
        colours = np.where(ordered["passed"].astype(bool), BLUE, VERMILION)
        ax.scatter(ordered["difference"], place, s=7, c=colours, linewidths=0)
    ax.axvline(TOLERANCE, color=VERMILION, linewidth=1)
    ax.text(TOLERANCE, -0.55, "tolerance ", color=VERMILION, ha="right", va="bottom")
    ax.set_xscale("log")
    ax.set_xlim(right=max(3 * TOLERANCE, 2 * drawn["difference"].max()))
    ax.set_yticks(
        range(len(rows)), [f"{name}\n{len(mine)} problems" for name, mine in rows.items()]
    )
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(
        "relative difference between the worse bound and the QP optimum; one mark per problem"
    )
    return new
