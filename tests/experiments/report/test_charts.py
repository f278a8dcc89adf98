"""What the charts show."""

from dualgap.experiments.report.charts import thin_indices


def test_thinning_keeps_both_ends():
    assert thin_indices(5, 9).tolist() == [0, 1, 2, 3, 4]
    indices = thin_indices(1000, 40)
    assert len(indices) == 40
    assert (indices[0], indices[-1]) == (0, 999)
