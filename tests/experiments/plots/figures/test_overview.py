"""A cell for each problem and solver, with its worst outcome."""

from tests.experiments.plots.conftest import runs_of
from tests.experiments.rows import crashed, run

from dualgap.experiments.plots.figures.overview import Overview, overview


def test_the_overview_has_a_cell_for_each_problem_and_solver_that_was_run():
    runs = runs_of([run("a"), run("a", "qp"), crashed("b"), run("b", "qp", verdict="wrong")])
    ((_, figure),) = Overview().draw(runs)
    ax = figure.axes[0]
    cells = {(t.get_position()[0] // 1, t.get_position()[1] // 1): t for t in ax.texts[::2]}
    assert {k: t.get_text() for k, t in cells.items()} == {
        (0, 0): "✓", (1, 0): "✓", (0, 1): "✗", (1, 1): "†",
    }  # fmt: skip
    assert len(ax.patches) == 4


def test_the_worst_verdict_of_the_repetitions_is_drawn():
    runs = runs_of([run(), run(verdict="wrong", repetition=1.0), run(repetition=2.0)])
    ax = overview(runs, ["p"], ["smo"]).axes[0]
    assert [text.get_text() for text in ax.texts] == ["✗", "500 ms"]
