"""Decision regions of two-dimensional problems, with margins and support vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from matplotlib.figure import Figure

from experiments.output.text import file_name
from experiments.plots.drawing import Drawing, Named
from experiments.plots.plane import Answer, binary_answers, draw_regions, region_keys
from experiments.plots.runs import Runs
from experiments.plots.style import PANELS, label_outside, legend, panels, wrap


class DecisionRegions(Drawing):
    """Decision regions of two-dimensional problems; a panel a solver."""

    def draw(self, runs: Runs) -> Iterator[Named]:
        """Yield a figure for each problem in the plane that left answers."""
        for problem, answers in binary_answers(runs):
            yield file_name(self.name, problem), decision_regions(answers[:PANELS])


def decision_regions(models: Sequence[Answer]) -> Figure:
    """Draw the answers of up to six solvers to one problem, one panel a solver."""
    titles = [f"{run['series']}: {run['verdict']}" for run, _ in models]
    new, axes = panels(titles, height=2.1, share="both")
    new.suptitle(wrap(str(models[0][0]["problem_id"]), 90), fontsize=8.5)
    for ax, (run, model) in zip(axes, models, strict=True):
        draw_regions(ax, run, model)
    label_outside(axes, "$x_1$", "$x_2$")
    legend(new, region_keys(), columns=3)
    return new
