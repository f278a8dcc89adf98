import pytest

from dualgap.experiments.analysis.profiles import PAR2, SGM10, par, shifted_geometric_mean

NAN, INF = float("nan"), float("inf")


def test_means_of_equal_times_are_that_time():
    assert shifted_geometric_mean([0.3] * 3, limit=60) == pytest.approx(0.3)
    assert par([0.3] * 3, limit=60) == pytest.approx(0.3)


def test_failures_are_charged_the_limit_or_a_multiple_of_it():
    expected = ((1 + 10) * (60 + 10)) ** 0.5 - 10
    for failed in (NAN, INF):
        assert shifted_geometric_mean([1, failed], limit=60) == pytest.approx(expected)
        assert par([1, failed], limit=60) == pytest.approx((1 + 120) / 2)


def test_a_smaller_shift_lets_short_times_count():
    assert shifted_geometric_mean([0.0, 3.0], 60, shift=1) == pytest.approx(1.0)


def test_each_score_is_defined_in_one_sentence():
    for text in (SGM10, PAR2):
        assert text.format(limit="60 s").count(". ") == 0
