"""Times by n, and the exponent that is fitted to them."""

from tests.experiments.plots.conftest import runs_of
from tests.experiments.rows import problem_spec, run

from dualgap.experiments.plots.figures.time_against_n import solved_sizes, time_against_n


def test_growth_needs_three_sizes_of_an_otherwise_equal_problem():
    drawn = ((1, 0), (2, 0), (3, 1), (9, 0))
    rows = [run(problem_spec(n=n, noise=x, params={"C": 1.0}), n=n) for n, x in drawn]
    two_sizes, all_sizes = runs_of(rows[:3]), runs_of(rows)
    assert not list(solved_sizes(two_sizes, two_sizes.table))
    sizes = solved_sizes(all_sizes, all_sizes.table)
    assert [title for title, _ in sizes] == ["moons(noise=0) soft_margin_dual C=1"]


def test_a_long_legend_is_inside_the_figure():
    rows = [
        run(problem_spec(n=n), f"solver_{i:02}", n=n) for n in (100, 200, 300) for i in range(40)
    ]
    runs = runs_of(rows)
    ((title, table),) = solved_sizes(runs, runs.table)
    figure = time_against_n(runs, title, table)
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
