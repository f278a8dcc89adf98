"""Noise: intervals of ratios of times, and A/A pairs."""

import numpy as np
import pandas as pd
import pytest
from tests.experiments.rows import repeated, scattered
from tests.halves import quick_cases

from dualgap.experiments.analysis.noise import (
    Comparison,
    aa_pairs,
    compare,
    noise_of_means,
    noise_of_problems,
    noise_unknown,
    ranks,
    winners,
)


@pytest.mark.parametrize("problems", quick_cases([1, 5], [1]))
@pytest.mark.parametrize("reference", [0.05, 1e-5])  # scatter of the reference's times
@pytest.mark.parametrize("count", [3, 5, 10])
def test_95_percent_intervals_cover_the_true_ratio_in_95_percent_of_samples(
    count, reference, problems
):
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(samples := 600):
        pairs = [
            (scattered(rng, 1.2, count), scattered(rng, 1.0, count, reference))
            for _ in range(problems)
        ]
        comparison = compare(pairs)
        covered += comparison.low <= 1.2 <= comparison.high
    assert covered / samples >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / samples)
    assert covered < samples


def test_two_repetitions_determine_no_winner():
    table = pd.DataFrame(
        [
            {"problem": problem, "solver": solver, "time": time, "times": (time,) * count}
            for problem, count in (("two", 2), ("paired", 2), ("three", 3))
            for solver, time in (("a", 1.0), ("b", 9.0))
        ]
        + [{"problem": "alone", "solver": "a", "time": 1.0, "times": (1.0,)}]
    )
    wins = winners(table, "time", {"paired": 1.1})
    assert wins.tolist() == [False, False, True, False, True, False, True]
    unknown = noise_unknown(table, "time", {"paired": 1.1})
    assert table[unknown]["problem"].tolist() == ["two", "two"]


def test_intervals_of_a_geometric_mean_cover_it():
    rng = np.random.default_rng(8)
    factors = (0.5, 2.0, 8.0)
    intervals = [
        compare([(scattered(rng, f), scattered(rng, 1.0)) for f in factors]) for _ in range(150)
    ]
    assert 0.9 <= np.mean([c.low <= 2.0 <= c.high for c in intervals]) <= 1
    single = compare([(scattered(rng, 2.0), scattered(rng))])
    assert intervals[0].high / intervals[0].low < single.high / single.low  # scatter averages out


def test_a_solver_that_is_itself_the_reference_counts_as_a_ratio_of_1():
    mean = compare([([4.0] * 3, [1.0] * 3)], ones=1)
    assert (mean.ratio, mean.low, mean.high) == pytest.approx((2.0, 2.0, 2.0))
    assert compare([], ones=2) == Comparison(1.0)
    assert np.isnan(compare([]).ratio)


def test_identical_times_are_within_the_noise_and_a_clear_winner_is_not():
    same, slower = [1.0, 1.1, 0.9], [3.0, 3.1, 2.9]
    assert compare([(same, same)]).within_noise
    clear = compare([(slower, same)])
    assert clear.ratio == pytest.approx(3.0)
    assert clear.low > 2
    assert not clear.within_noise


def test_a_difference_within_that_of_identical_solvers_is_noise():
    pair = ([1.05, 1.051, 1.052], [1.0, 1.001, 1.002])
    assert not compare([pair]).within_noise
    assert compare([pair], noise=1.1).within_noise
    assert not compare([pair], noise=1.01).within_noise


@pytest.mark.parametrize("count", [1, 2])
def test_two_repetitions_have_no_interval(count):
    comparison = compare([([2.0] * count, [1.0] * count)])
    assert np.isnan([comparison.low, comparison.high]).all()
    assert (comparison.ratio, comparison.within_noise) == (2.0, False)
    assert (comparison.factor, comparison.interval_text) == ("2×", "")


@pytest.mark.parametrize("times", [[], [0.0, 1.0, 1.0]])
def test_times_that_cannot_be_compared_have_no_ratio(times):
    assert np.isnan(compare([(times, [1.0] * 3)]).ratio)


def test_ratios_are_printed_with_their_significant_digits():
    comparisons = [Comparison(1.041, 0.97, 1.114, within_noise=True), Comparison(123.4, 119.6, 130)]
    assert [c.factor + c.interval_text for c in comparisons] == [
        "1.04× [0.97, 1.11] ~",
        "123× [120, 130]",
    ]
    assert Comparison(0.0123, 0.01, 0.02).interval_text == " [0.01, 0.02]"
    assert [Comparison(r).factor for r in (0.5, 1.0, 9.94, 9.96)] == ["0.5×", "1×", "9.9×", "10×"]


def test_ranks_are_shared_within_the_noise_of_the_fastest_of_the_rank():
    scattered = [1.0, 1.1, 0.9, 1.2]
    times = [[f * t for t in scattered] for f in (1.0, 1.01, 5.0, 5.05, 50.0)]
    assert ranks(times) == [1, 1, 3, 3, 5]
    assert ranks([[1.0], [1.0], [1.1]]) == [1, 1, 3]
    assert ranks([[1.0], [1.1], [1.3]], noise=1.2) == [1, 1, 3]
    assert ranks([]) == []


def test_pairs_are_compared_to_repeated_the_same_settings_alone():
    rows = repeated("smo", [1.0] * 3) + repeated("smo", [1.5] * 3, aa_repeat=True)
    rows += repeated("smo", [9.0] * 3, tol=1e-9) + repeated("libsvm", [9.0] * 3)
    (pair,) = aa_pairs(pd.DataFrame(rows)).to_dict("records")
    assert (pair["problem"], pair["solver"], pair["ratio"]) == ("p", "smo", pytest.approx(1.5))


def test_a_pair_with_a_run_that_did_not_finish_measures_nothing():
    rows = repeated("smo", [1.0] * 3) + repeated(
        "smo", [1.0] * 3, aa_repeat=True, status="time_limit"
    )
    pairs = aa_pairs(pd.DataFrame(rows))
    assert pairs.empty
    assert noise_of_problems(pairs) == {}
    assert noise_of_means(pairs) == 1


def test_the_noise_is_the_largest_factor_of_a_pair_and_of_a_mean():
    rows = []
    for problem, factor in (("a", 0.5), ("b", 2.0)):
        rows += repeated("smo", [1.0] * 3, problem)
        rows += repeated("smo", [factor] * 3, problem, aa_repeat=True)
        rows += repeated("libsvm", [1.0] * 3, problem)
        rows += repeated("libsvm", [1.1] * 3, problem, aa_repeat=True)
    pairs = aa_pairs(pd.DataFrame(rows))
    assert noise_of_problems(pairs) == pytest.approx({"a": 2.0, "b": 2.0})
    assert noise_of_means(pairs) == pytest.approx(1.1)
