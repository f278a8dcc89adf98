"""A cell for each problem and solver, with its worst outcome."""

import pytest

from experiments.plots.figures.overview import outcome_of, overview, pages
from experiments.plots.style import style

NAN = float("nan")


def test_the_overview_has_a_cell_for_each_problem_and_solver_that_was_run(run, crashed, runs_of):
    runs = runs_of([run("a"), run("a", "qp"), crashed("b"), run("b", "qp", verdict="wrong")])
    ((problems, solvers),) = pages(runs)
    with style():
        ax = overview(runs, problems, solvers).axes[0]
    cells = {(t.get_position()[0] // 1, t.get_position()[1] // 1): t for t in ax.texts[::2]}
    assert {k: t.get_text() for k, t in cells.items()} == {
        (0, 0): "✓", (1, 0): "✓", (0, 1): "✗", (1, 1): "†",
    }  # fmt: skip
    assert len(ax.patches) == 4


def test_of_repetitions_the_worst_verdict_is_shown(run, runs_of):
    runs = runs_of([run(), run(verdict="wrong", repetition=1.0), run(repetition=2.0)])
    with style():
        ax = overview(runs, ["p"], ["smo"]).axes[0]
    assert [text.get_text() for text in ax.texts] == ["✗", "500 ms"]


@pytest.mark.parametrize(
    ("status", "verdict", "shown"),
    [
        ("finished", "solved", "solved"),
        ("time_limit", "inaccurate", "inaccurate"),
        ("unsupported", "uncertified", "unsupported"),
        ("crashed", NAN, "crashed"),
        ("out_of_memory", "uncertified", "out_of_memory"),
        ("max_iter", NAN, "uncertified"),
    ],
)
def test_a_run_is_shown_by_its_verdict_or_by_the_end_that_left_none(status, verdict, shown):
    assert outcome_of(status, verdict) == shown
