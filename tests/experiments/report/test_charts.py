"""What the charts show, and in which styles."""

from experiments.plots.style import line_styles
from experiments.report.charts import swatches, thinned


def test_thinning_keeps_both_ends():
    assert thinned(5, 9).tolist() == [0, 1, 2, 3, 4]
    kept = thinned(1000, 40)
    assert len(kept) == 40
    assert (kept[0], kept[-1]) == (0, 999)


def test_more_than_eight_solvers_differ_by_more_than_colour():
    drawn = swatches(line_styles([f"solver {i}" for i in range(30)]))
    assert len({(s["colour"], s["dash"], s["marker"]) for s in drawn}) == 30
    assert len({s["marker"] for s in drawn}) == 11
