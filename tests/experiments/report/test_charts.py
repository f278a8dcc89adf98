"""What the charts show."""

from dualgap.experiments.report.charts import thinned


def test_thinning_keeps_both_ends():
    assert thinned(5, 9).tolist() == [0, 1, 2, 3, 4]
    kept = thinned(1000, 40)
    assert len(kept) == 40
    assert (kept[0], kept[-1]) == (0, 999)
