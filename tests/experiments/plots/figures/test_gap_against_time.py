"""Lines of gaps hold what the traces say."""

import numpy as np
from tests.experiments.plots.conftest import named, runs_of
from tests.experiments.rows import crashed, run

from dualgap.experiments.analysis.profiles import MIN_PLOTTED_GAP
from dualgap.experiments.plots.figures.gap_against_time import (
    GapAgainstRounds,
    gap_against_time,
    spread_out,
)

NAN = float("nan")


def test_each_problem_has_a_panel_with_the_trace_of_a_run_or_its_end():
    rows = [run("b"), run("b", "slow"), run("a", time_solve=3.0, relative_gap=1e-4), run("c")]
    runs = runs_of(rows, {0: [1.0, 1e-6, 1e-7], 1: [1.0, 0.5], 2: [1e-4], 3: [np.inf, NAN, 0.1]})
    axes = gap_against_time(runs, runs.problems).axes
    assert [ax.get_title() for ax in axes] == ["b", "a", "c"]
    (line,), (point,), (late,) = (named(ax, "smo") for ax in axes)
    np.testing.assert_allclose(line.get_xdata(), [1, 10, 100])
    np.testing.assert_allclose(line.get_ydata(), [1.0, 1e-6, 1e-7])
    reached = [mark for mark in named(axes[0], "_reached") if len(mark.get_xdata())]
    assert [list(mark.get_xdata()) for mark in reached] == [[10.0]]
    assert point.get_linestyle() == "None"
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (3.0, 1e-4)
    assert len(late.get_xdata()) == 1  # what has no bound is left out


def test_zero_gaps_are_drawn_at_the_smallest_plotted_gap_and_marked():
    runs = runs_of([run(), run(solver="qp", relative_gap=1e-19)], {0: [1.0, 0.0]})
    (ax,) = gap_against_time(runs, ["p"]).axes
    assert named(ax, "smo")[0].get_ydata()[-1] == MIN_PLOTTED_GAP
    assert named(ax, "qp")[0].get_ydata()[0] == MIN_PLOTTED_GAP
    assert len(named(ax, "_clipped")) == 2
    assert ax.get_ylim()[0] < MIN_PLOTTED_GAP


def test_more_solvers_than_fit_a_legend_are_labelled_next_to_their_lines():
    rows = [run(solver=f"s{i}", relative_gap=10.0**-i) for i in range(9)]
    loose = run(solver="s8", relative_gap=1.0, params='{"tol": 1}')
    runs = runs_of([*rows, loose, crashed("empty")])
    figure = gap_against_time(runs, ["p", "empty"])
    (ax, _), (legend,) = figure.axes, figure.legends
    assert [text.get_text() for text in ax.texts] == [f"s{i}" for i in range(8, -1, -1)]
    assert not any(text.get_text().startswith("s") for text in legend.get_texts())


def test_overlapping_labels_are_separated_minimally():
    np.testing.assert_allclose(
        spread_out(np.array([0.1, 0.5, 0.5, 0.9]), 0.1), [0.1, 0.45, 0.55, 0.9]
    )
    np.testing.assert_allclose(spread_out(np.array([0.0, 0.0, 1.0]), 0.2), [0.0, 0.2, 1.0])
    crowded = spread_out(np.full(4, 0.99), 0.25)
    assert np.diff(crowded).min() > 0.249
    assert crowded.max() <= 1


def test_only_runs_with_rounds_are_drawn_against_rounds():
    rows = [
        run("a"),
        run("b", rounds=4.0),
        run("b", "one", rounds=9.0, relative_gap=1e-4),
        run("b", "qp"),
    ]
    runs = runs_of(rows, {1: [1.0, 1e-3, 1e-7]})
    assert not GapAgainstRounds().applies_to(runs_of([run("a")]))
    assert not GapAgainstRounds().applies_to(runs_of(rows))
    assert GapAgainstRounds().applies_to(runs)
    [(name, figure)] = GapAgainstRounds().draw(runs)
    (ax,) = figure.axes
    assert name.startswith("gap_against_rounds")
    assert ax.get_title() == "b"
    trace = runs.trace(runs.table["run_id"].iloc[1])
    np.testing.assert_allclose(named(ax, "smo")[0].get_xdata(), trace["iteration"])
    assert (named(ax, "one")[0].get_xdata()[0], named(ax, "one")[0].get_ydata()[0]) == (9.0, 1e-4)
    assert not named(ax, "qp")
    assert ax.get_xlim()[0] == 0
