"""Differences of each solver to the QP optimum: one mark per problem, one row per solver.

Within a row, marks are spread by rank to show the distribution: the middle of a row is its median. Every
problem of the verification has a mark or is counted next to its row: answers of the better QP back end
are the optimum themselves, and unsupported or infeasible problems have no difference.
"""

from collections.abc import Iterator

import numpy as np

from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import BLUE, GREY, TEXT_WIDTH, VERMILION, figure, wrap


class Differences(Drawing):
    """Difference of each answer to the QP optimum, from `dualgap verify`."""

    columns = (
        "target_gap",
        "checks.difference",
        "checks.passed",
        "checks.status",
        "checks.verdict",
    )
    needs = ("checks",)

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure, with the target gap, which is the default tolerance."""
        checks, tolerance = runs.checks, float(runs.table["target_gap"].max())
        positive = checks["difference"][checks["difference"] > 0]
        smallest = min(float(positive.min()), tolerance) if len(positive) else 0.05 * tolerance
        zero = 0.2 * smallest
        rows = {str(solver): rows for solver, rows in checks.groupby("solver", sort=False)}
        new = figure(TEXT_WIDTH, 0.55 * len(rows) + 1.0)
        ax = new.add_subplot()
        for row, group in enumerate(rows.values()):
            ordered = group.dropna(subset=["difference"]).sort_values("difference")
            y = row + np.linspace(0.35, -0.35, len(ordered))
            colours = np.where(ordered["passed"].astype(bool), BLUE, VERMILION)
            ax.scatter(ordered["difference"].clip(lower=zero), y, s=7, c=colours, linewidths=0)
        ax.axvline(tolerance, color=VERMILION, linewidth=1)
        ax.text(tolerance, -0.55, "tolerance ", color=VERMILION, ha="right", va="bottom")
        ax.set_xscale("log")
        ax.set_xlim(0.5 * zero, max(3 * tolerance, 2 * float(positive.max())))
        ax.axvline(zero, color=GREY, linewidth=0.6)
        ax.text(zero, -0.55, " 0: the optimum itself", color=GREY, ha="left", va="bottom")
        names: list[str] = []  # with the number of problems without a mark, and why
        for solver, group in rows.items():
            missed = group[group["difference"].isna()]
            why = missed["status"].where(missed["status"] != "finished", missed["verdict"])
            missing = ", ".join(f"{count} {word}" for word, count in why.value_counts().items())
            names.append(
                f"{wrap(solver, 30)}\n{len(group)} problems"
                + f",\nof these {missing}" * bool(missing)
            )
        ax.set_yticks(range(len(rows)), names)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.grid(axis="y", visible=False)
        ax.set_xlabel(
            "relative difference between the worse bound and the QP optimum; one mark per problem"
        )
        yield self.name, new
