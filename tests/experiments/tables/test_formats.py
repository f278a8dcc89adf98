"""Times, numbers, precisions, and the names of files."""

import string
from typing import get_args

import pandas as pd
import pytest
from tests.experiments.rows import NAN, run, timed

from dualgap.experiments.analysis.labels import gap_text, missed_gap_text
from dualgap.experiments.tables.formats import (
    clock_note,
    duration,
    file_name,
    precise_duration,
    precision_text,
    rounded,
)
from dualgap.solvers.base import Precision


def test_times_have_two_or_three_digits_and_a_unit():
    seconds = [float("nan"), 0.0, 2e-6, 0.9999, 9.96, 61.0, 900.0]
    short = ["", "<1 µs", "2.0 µs", "1.0 s", "10 s", "61 s", "15 min"]
    assert list(map(duration, seconds)) == short
    seconds = [float("nan"), 0.0123, 1.0, 123.4]
    assert list(map(precise_duration, seconds)) == ["", "12.3 ms", "1 s", "123 s"]


def test_target_gaps_keep_their_digits():
    assert [*map(gap_text, (1e-3, 1e-9, 2.5e-4, 1.25e-7))] == [
        "1e-03",
        "1e-09",
        "2.5e-04",
        "1.25e-07",
    ]


@pytest.mark.parametrize(
    "odd", ["../../etc/passwd", "a/b\\c:d*?", "C=1\n$x$", "ü" * 300, ".hidden", "x" * 999]
)
def test_file_names_are_safe(odd):
    assert len(file_name("gap", odd)) <= 120
    assert not set(file_name("gap", odd)) - set(string.ascii_letters + string.digits + "._=+-")


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.012, 3, "0.0120"),
        (1234.5, 3, "1234"),
        (9.996, 3, "10.0"),
        (0, 3, "0"),
        (7.4, 0, "7"),
        (1.5e-5, 2, "1.5e-05"),
        (2e7, 3, "2.00e+07"),
        (2e7, 0, "2.00e+07"),
        (float("inf"), 2, "inf"),
    ],
)
def test_numbers_are_rounded_to_significant_digits(value, digits, text):
    assert rounded(value, digits) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9994, "999 ms"), (0.9996, "1 s"), (999.7, "1000 s"), (1234.0, "1234 s")],
)
def test_precise_times_have_no_exponent(seconds, text):
    assert precise_duration(seconds) == text


@pytest.mark.parametrize(
    ("gap", "text"),
    [(1.04e-6, "1.1e-06"), (1e-6, "1.0e-06"), (9.91e-7, "1.0e-06"), (2.0, "2.0e+00")],
)
def test_a_gap_that_misses_a_target_is_rounded_up(gap, text):
    assert missed_gap_text(gap) == text


def test_different_clocks_are_noted_where_runs_are_compared_on_one_problem_and_host():
    def note(*runs):
        rows = [
            run(problem, host=host, cpu_frequency=clock, cpu_throttled=count)
            for problem, host, clock, count in runs
        ]
        return clock_note(pd.DataFrame(rows))

    slow = [("p", "a", 2000.0, 0), ("q", "a", 3000.0, NAN)]
    assert clock_note(pd.DataFrame([run(), run("q")])) == note(*slow) == ""
    assert note(*slow, ("p", "a", 2190.0, 0), ("p", "b", 4000.0, 0), ("q", "a", NAN, 0)) == ""
    assert note(*slow, ("p", "a", 3000.0, 0), ("q", "a", 3600.0, 2), ("r", "a", NAN, 1)) == (
        "Warning: on 2 of 2 problems the processor's clock differed by more than 10% between the runs "
        "that are compared, by up to 50% on p; so may their times. "
        "Warning: the processor was throttled for heat during 2 runs."
    )


def test_a_page_of_several_benchmarks_states_the_precision_of_each():
    old, new = (
        pd.DataFrame([timed("one_dal", params=f'{{"dtype": "{name}"}}')])
        for name in get_args(Precision)
    )
    assert precision_text({"a": old, "b": old, "c": pd.concat([old, new])}) == (
        "Precision of the samples, for baselines with a choice: "
        "one_dal float64 and float32 (c), one_dal float64 only (a, b)."
    )
