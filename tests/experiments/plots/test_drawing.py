"""Kinds of figures are found by themselves, or loaded from a file."""

import pandas as pd
import pytest
from tests.experiments.rows import results_from, run, stored

from dualgap.experiments.analysis.profiles import compared_times, shifted_means
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.analysis.verify import Check
from dualgap.experiments.plots import plot_all
from dualgap.experiments.plots.drawing import FIGURES, drawings
from dualgap.experiments.plots.figures.profiles import ShiftedMeans
from dualgap.experiments.plots.runs import Runs
from dualgap.experiments.plots.style import style
from dualgap.experiments.records.columns import COUNTED, PATHS, RESULTS, TRACES
from dualgap.experiments.store.reading import load_results

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


def test_every_kind_is_listed_with_a_sentence_and_columns_of_results(command):
    listed = " ".join(command("list", "figures").output.split())
    tables = {"": {c.name for c in (*RESULTS, *COUNTED)}, "checks": {*Check.__annotations__}}
    tables |= {"traces": {c.name for c in TRACES} | {"relative_gap", "n_support"}}
    tables |= {"paths": {c.name for c in PATHS}}
    for name, kind in FIGURES.items():
        assert name in listed
        assert kind.columns
        for table, _, column in (each.rpartition(".") for each in kind.columns):
            assert column in tables[table], (name, column)


def test_a_named_figure_without_data_is_refused(command, folder):
    refused = command("plot", folder, "--figure", "performance_profile", code=2)
    assert "has no runs for performance_profile" in refused.output


def test_the_figures_of_times_have_the_numbers_of_reports(tmp_path):
    other = {"solver": "libsvm", "time_solve": 4.0}
    folder = stored(tmp_path / "runs", [run("p"), run("q"), run("p", **other), run("q", **other)])
    names = ["performance_profile", "shifted_means"]
    written = plot_all(folder, names, formats=["svg"])
    assert [path.name for path in written[::2]] == [f"{name}.svg" for name in names]
    (times, _) = compared_times(Results(load_results(folder)), pd.DataFrame({"run_id": []}))
    mean = shifted_means(times[times["target"] == times["target"].iloc[0]], 1.0)["mean"].max()
    assert f"{mean:.1f} s (2 of 2)" in written[2].read_text()


def test_texts_of_shifted_means_are_inside_their_panels_and_do_not_overlap():
    times = {"smo": 11.0, "libsvm": 11.01}
    rows = [
        run(f"{i}", solver, time_solve=t, target_gap=1e-9, relative_gap=1e-10)
        for solver, t in times.items()
        for i in range(100)
    ]
    results = results_from(*rows)
    runs = Runs(results.runs, pd.DataFrame({"run_id": []}), results=results)
    with style():
        (_, drawn), _ = ShiftedMeans().draw(runs)
        drawn.draw_without_rendering()
    for ax in drawn.axes:
        assert all(ax.bbox.x0 <= text.get_window_extent().x0 for text in ax.texts)
    labels = [ax.xaxis.label.get_window_extent() for ax in drawn.axes]
    assert len(labels) == 3
    assert not any(a.overlaps(b) for i, a in enumerate(labels) for b in labels[:i])
