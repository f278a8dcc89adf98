"""Kinds of figures are found by themselves, or loaded from a file."""

import pytest
from tests.experiments.rows import run, stored

from dualgap.experiments.plots import plot_all
from dualgap.experiments.plots.drawing import drawings

OUTSIDE = """\
from matplotlib.figure import Figure
from dualgap.experiments.plots.drawing import Drawing


class Counts(Drawing):
    def draw(self, runs):
        figure = Figure()
        figure.add_subplot().set_title(f"{len(runs.table)} runs")
        yield self.name, figure
"""


@pytest.fixture
def folder(tmp_path):
    return stored(tmp_path / "runs", [run()])


def test_every_kind_has_a_name_and_optional_ones_are_not_drawn_by_default():
    names = [kind.name for kind in drawings()]
    assert {"gap_against_time", "overview", "time_against_n"} <= set(names)
    assert "primal_against_dual" not in names
    assert [kind.name for kind in drawings(["primal_against_dual"])] == ["primal_against_dual"]


def test_a_plug_in_figure_is_drawn_by_the_command(command, folder, tmp_path):
    file = tmp_path / "counts.py"
    file.write_text(OUTSIDE)
    command("plot", folder, "--figure", f"{file}:Counts")
    assert "1 runs" in (folder / "figures" / "counts.svg").read_text()


def test_only_named_figures_are_drawn_and_an_unknown_one_is_refused(command, folder):
    written = plot_all(folder, ["overview"])
    assert [path.name for path in written] == ["overview.svg", "overview.png"]
    refused = command("plot", folder, "--figure", "overveiw", code=2)
    assert "overview" in refused.output
