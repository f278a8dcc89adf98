"""Times, and the names of files."""

import string

import pytest

from experiments.output.text import duration, file_name, precise_duration, time_and_setup


def test_times_have_two_digits_and_a_unit():
    seconds = [float("nan"), 0.0, 2e-6, 0.9999, 9.96, 61.0, 900.0]
    assert [duration(s) for s in seconds] == [
        "",
        "<1 µs",
        "2.0 µs",
        "1.0 s",
        "10 s",
        "61 s",
        "15 min",
    ]


def test_precise_times_have_three_digits_in_seconds_or_milliseconds():
    assert [precise_duration(s) for s in (float("nan"), 0.0123, 1.0, 123.4)] == [
        "",
        "12.3 ms",
        "1 s",
        "123 s",
    ]


@pytest.mark.parametrize(
    "odd", ["../../etc/passwd", "a/b\\c:d*?", "C=1\n$x$", "ü" * 300, ".hidden", "x" * 999]
)
def test_file_names_are_safe(odd):
    assert len(file_name("gap", odd)) <= 120
    assert not set(file_name("gap", odd)) - set(string.ascii_letters + string.digits + "._=+-")


def test_the_time_of_setting_up_follows_that_of_solving_where_it_is_known():
    assert time_and_setup(2.0, 0.05) == "2.0 s + 50 ms"
    assert time_and_setup(2.0, float("nan")) == "2.0 s"
