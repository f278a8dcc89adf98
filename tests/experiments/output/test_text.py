"""Times, and the names of files."""

import io
import string

import pytest
from rich.console import Console

from experiments.output.text import (
    FittingTable,
    duration,
    file_name,
    precise_duration,
    time_and_setup,
)


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


HEADS = ("problem", "worst difference", "dual_coordinate_descent", "gap", "ratio", "outcome")
ROW = (
    "breast_cancer soft_margin_dual rbf(gamma=0.01) C=1 intercept=False",
    "1.2e-06 → 3.4e-05",
    "12.34 ms",
    "5.6e-07",
    "1.62× [1.38, 1.99]",
    "inaccurate, 1 of 3 solved",
)
NUMBERS = ("1.2e-06", "3.4e-05", "12.34 ms")


def _printed(width):
    table = FittingTable(
        HEADS, [ROW], (), "title", words=("problem", "outcome"), optional=("gap", "ratio")
    )
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


@pytest.mark.parametrize("width", range(60, 200, 5))
def test_a_table_that_has_little_room_breaks_words_and_never_numbers(width):
    text = _printed(width)
    assert max(map(len, text.splitlines())) <= width
    assert all(number in text for number in NUMBERS)
    assert ("[1.38, 1.99]" in text) == ("ratio" in text)
    assert "…" not in text


def test_words_are_broken_between_words_where_a_column_can_hold_the_longest():
    rows = [["projected_gradient (barzilai_borwein)", "1.27 ms", "time_limit, 1 of 3 solved"]]
    table = FittingTable(("solver", "time", "outcome"), rows, (), words=("solver", "outcome"))
    console = Console(width=46, file=io.StringIO())
    console.print(table)
    words = console.file.getvalue().split()
    assert {"projected_gradient", "(barzilai_borwein)", "time_limit,", "solved"} <= set(words)


def test_a_table_that_has_room_is_on_one_line():
    (line,) = (line for line in _printed(200).splitlines() if "ms" in line)
    assert line.split("  ")[0].strip() == ROW[0]
    assert "1.2e-06 → 3.4e-05" in line
    assert "gap" not in _printed(60)


@pytest.mark.parametrize("width", range(60, 200, 20))
def test_columns_for_which_there_is_no_room_are_in_further_tables(width):
    solvers = [f"{name}.py:StudentSMO" for name in ("anna", "ben", "carla", "dan", "emil", "finn")]
    row = ["two_moons rbf(gamma=1) C=1", *(f"inaccurate {i}.0e-01" for i in range(len(solvers)))]
    console = Console(width=width, file=io.StringIO())
    console.print(FittingTable(["problem", *solvers], [row], ("problem",)))
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert all(cell in text for cell in row[1:])
    assert (text.count(" problem ") > 1) == (width < 140)
    assert "…" not in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_long_names_go_on_in_the_next_line_and_break_no_number(width):
    solver = "away-steps-of-the-winter-term.py:AwayStepFrankWolfeWithExactLineSearch"
    problem = "measurements_of_the_second_campaign_without_outliers_v2.csv rbf(gamma=1e-05) C=0.1"
    row = [problem, "-6.5457334", "6.1e-11", "wrong 3.3e+00"]
    console = Console(width=width, file=io.StringIO())
    console.print(FittingTable(["problem", "optimum", "cvxopt_qp", solver], [row], ("problem",)))
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert (text.count("problem") == 1) == (width >= 80)
    assert all(part in text for part in (*row[1:], "rbf(gamma=1e-05)", "C=0.1", "Search"))
    assert "…" not in text
