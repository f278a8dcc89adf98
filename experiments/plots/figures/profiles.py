"""Solvers compared over all problems, as in reports: performance profiles, shifted geometric means."""

from abc import abstractmethod
from collections.abc import Iterator
from math import sqrt
from typing import ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from dualgap.experiments.analysis.labels import gap_text
from dualgap.experiments.analysis.profiles import (
    PAIRWISE,
    SHIFT_S,
    compared_times,
    partial_coverage_text,
    penalty_of,
    performance_profile,
    shifted_means,
)
from dualgap.experiments.analysis.times import TIME_DEFINITIONS, requested_rows
from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import (
    decades,
    label_outside,
    legend,
    panels,
    solver_keys,
    wrap,
)
from dualgap.experiments.tables.formats import duration


class _OfTimes(Drawing):
    """Base of the figures of several solvers' times to each target gap."""

    columns = ("family_hash", "time_solve", "relative_gap", "target_gap", "verdict", "traces.time")
    on_request = True
    caption: ClassVar[str]

    def applies_to(self, runs: Runs) -> bool:
        """Whether several solvers were run."""
        return runs.results is not None and len(runs.styles) > 1

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure and its caption, if the answers have times."""
        assert runs.results is not None
        times, definition = compared_times(runs.results, runs.traces)
        reached = requested_rows(times)
        if not reached.empty:
            penalty, penalty_text = penalty_of(runs.time_limit, runs.table)
            yield self.name, self.figure_of(runs, reached, penalty)
            caption = [
                self.caption.format(penalty=penalty_text),
                TIME_DEFINITIONS[definition],
                partial_coverage_text(reached),
            ]
            yield f"{self.name}_caption", "\n".join(filter(None, caption)) + "\n"

    @abstractmethod
    def figure_of(self, runs: Runs, reached: pd.DataFrame, penalty: float) -> Figure:
        """Return the figure of the times; a missed target counts as `penalty` seconds in means."""


class PerformanceProfile(_OfTimes):
    """Share of problems solved within a multiple of the fastest time; one panel per target gap."""

    caption = PAIRWISE

    def figure_of(self, runs: Runs, reached: pd.DataFrame, penalty: float) -> Figure:
        """Draw a step function per solver."""
        return profile_figure(runs, reached)


class ShiftedMeans(_OfTimes):
    """Shifted geometric mean of each solver's times on all problems; one panel per target gap."""

    caption = (
        f"Shifted geometric means with a shift of {SHIFT_S:g} s, and the number of problems solved; a "
        "problem that was not solved counts as {penalty}."
    )

    def figure_of(self, runs: Runs, reached: pd.DataFrame, penalty: float) -> Figure:
        """Draw a point per solver, with the numbers of problems solved."""
        new, targets = _panels_of_targets(reached, 0.2 * reached["solver"].nunique() + 0.6)
        means = [shifted_means(rows, penalty) for _, rows in targets]
        order = [str(name) for name in means[0]["solver"]]  # the largest gap has all solvers
        for (ax, _), table in zip(targets, means, strict=True):
            ax.set(xscale="log", xlim=(table["mean"].min() / 2, table["mean"].max() * 2))
            decades(ax)
            low, high = ax.get_xlim()
            for mean in table.to_dict("records"):
                solver, x, y = str(mean["solver"]), mean["mean"], order.index(mean["solver"])
                ax.plot([x], [y], label=solver, **runs.styles[solver].arguments())
                side = 1 if x < sqrt(low * high) else -1  # of the point with more space
                ax.annotate(
                    f"{duration(x)} ({mean['solved']} of {mean['asked']})",
                    (x, y),
                    (6 * side, 0),
                    textcoords="offset points",
                    ha="left" if side > 0 else "right",
                    va="center",
                    fontsize=6.5,
                )
            ax.set_ylim(len(order) - 0.5, -0.5)
            ax.set_yticks(range(len(order)), [wrap(name, 24) for name in order])
            ax.grid(visible=False, axis="y")  # it would strike out the texts
        label_outside(new.axes, "shifted geometric mean (s)", "")
        return new


def profile_figure(runs: Runs, reached: pd.DataFrame) -> Figure:
    """Return the performance profiles of solvers in the styles of `runs`, from their times."""
    new, targets = _panels_of_targets(reached)
    for ax, rows in targets:
        for solver, (ratios, shares) in performance_profile(rows).items():
            line = runs.styles[solver].arguments(markersize=3)
            ax.step(ratios, shares, where="post", label=solver, **line)
        ax.set(xscale="log", ylim=(-0.02, 1.04))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        decades(ax)
    label_outside(new.axes, "time relative to the fastest", "share of problems solved")
    legend(new, solver_keys(runs.styles, set(reached["solver"])))
    return new


def _panels_of_targets(
    reached: pd.DataFrame, height: float = 2.0
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Return a figure with a panel for each target of `times`, and its rows."""
    targets = {
        f"gap ≤ {gap_text(gap)}": rows for gap, rows in reached.groupby("target", sort=False)
    }
    new, axes = panels([*targets], height, shared_axes="y", lines=1)
    return new, list(zip(axes, targets.values(), strict=True))
