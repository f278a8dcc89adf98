"""Times by n, and the exponent that is fitted to them."""

from tests.experiments.plots.conftest import runs_of
from tests.experiments.rows import problem_spec, run

from dualgap.experiments.plots.figures.time_against_n import solved_sizes


def test_growth_needs_three_sizes_of_an_otherwise_equal_problem():
    drawn = ((1, 0), (2, 0), (3, 1), (9, 0))
    rows = [run(problem_spec(n=n, noise=x, params={"C": 1.0}), n=n) for n, x in drawn]
    two_sizes, all_sizes = runs_of(rows[:3]), runs_of(rows)
    assert not list(solved_sizes(two_sizes, two_sizes.table))
    sizes = solved_sizes(all_sizes, all_sizes.table)
    assert [title for title, _ in sizes] == ["moons(noise=0) soft_margin_dual C=1"]
