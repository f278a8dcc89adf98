"""Times by n, and the exponent that is fitted to them."""

import numpy as np
from tests.experiments.plots.conftest import runs_of
from tests.experiments.rows import crashed, problem_spec, run

from dualgap.experiments.plots.figures.time_against_n import solved_sizes, time_against_n


def test_growth_needs_three_sizes_of_an_otherwise_equal_problem():
    drawn = ((1, 0), (2, 0), (3, 1), (9, 0))
    rows = [run(problem_spec(n=n, noise=x, params={"C": 1.0}), n=n) for n, x in drawn]
    two_sizes, all_sizes = runs_of(rows[:3]), runs_of(rows)
    assert not list(solved_sizes(two_sizes, two_sizes.table))
    sizes = solved_sizes(all_sizes, all_sizes.table)
    assert [title for title, _ in sizes] == ["moons(noise=0) soft_margin_dual C=1"]


def test_time_lines_are_medians_of_solved_runs_with_hollow_markers_for_others():
    rows = [
        run(problem_spec(n=n), n=n, time_solve=t * n**2) for n in (10, 20, 40) for t in (1, 2, 9)
    ]
    rows += [
        run(problem_spec(n=80), n=80, time_solve=7.0, verdict="inaccurate"),
        crashed(problem_spec(n=90)),
    ]
    runs = runs_of(rows)
    ((title, table),) = solved_sizes(runs, runs.table)
    figure = time_against_n(runs, title, table)
    solved, unsolved = figure.axes[0].lines
    np.testing.assert_allclose(solved.get_ydata(), 2 * np.array([10, 20, 40]) ** 2)
    assert (list(unsolved.get_xdata()), list(unsolved.get_ydata())) == ([80.0], [7.0])
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["smo: $n^{2.0}$", "hollow: not solved"]
