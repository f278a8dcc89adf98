"""Paths: cumulative time of each solver's answers up to a value of C, and their support vectors.

Between two answers their convex combinations are answers too; the largest relative gap at any value of C
(or lam, epsilon) is in the title.
"""

from collections.abc import Iterator

import pandas as pd
from matplotlib.figure import Figure

from dualgap.experiments.plots.drawing import Drawing, NamedFigure
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import decades, key, legend, panels, wrap
from dualgap.experiments.tables.formats import file_name


class CertifiedPath(Drawing):
    """Seconds up to each value of a path's parameter, and support vectors; one figure per path."""

    columns = (
        "time_solve",
        "paths.value",
        "paths.time_solve",
        "paths.n_support",
        "paths.worst_gap",
    )
    needs = ("paths",)

    def draw(self, runs: Runs) -> Iterator[NamedFigure]:
        """Yield one figure per problem with a path."""
        for problem in runs.problems:
            followed = [
                (run, answers)
                for run in runs.typical(problem)
                if len(answers := runs.paths[runs.paths["run_id"] == run["run_id"]])
            ]
            if followed:
                yield file_name(self.name, problem), certified_path(runs, problem, followed)


def certified_path(
    runs: Runs, problem: str, followed: list[tuple[pd.Series, pd.DataFrame]]
) -> Figure:
    """Draw the paths of one problem, given the run and the table of answers of each solver."""
    worst = max(answers["worst_gap"].max() for _, answers in followed)
    new, (times, support) = panels(
        [f"time, within a relative gap of {worst:.2g}", "support vectors"]
    )
    new.suptitle(wrap(problem, 95, lines=1))
    entries = []
    for run, answers in followed:
        line = runs.styles[str(run["series"])].arguments(markersize=2.5)
        times.plot(answers["value"], answers["time_solve"].cumsum(), **line)
        support.plot(answers["value"], answers["n_support"], **line)
        entries.append((key(**line), f"{run['configuration']}: {len(answers)} answers"))
    parameter = str(followed[0][1]["parameter"].iloc[0])
    for ax in (times, support):
        ax.set(xlabel=parameter, ylim=(0, None))
        if parameter != "epsilon":
            ax.set_xscale("log")
            decades(ax)
    times.set_ylabel(f"seconds from the lowest {parameter} on")
    support.set_ylabel("samples with α ≠ 0")
    legend(new, entries)
    return new
