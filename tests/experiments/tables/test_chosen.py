"""Tables for papers: what is chosen, and what is bold."""

import json

import numpy as np
import pytest
from tests.experiments.rows import problem_spec
from tests.experiments.tables.conftest import times

from dualgap.experiments.analysis.noise import MIN_REPETITIONS
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.store.reading import load_results
from dualgap.experiments.tables.chosen import paper_table
from dualgap.experiments.tables.summary import summarise, to_markdown

EASY, HARD = (
    problem_spec(name, params={"kernel": {"name": "linear"}, "C": 1.0})
    for name in ("moons", "rings")
)
FAST, NEAR, SLOW = [1.0, 1.1, 1.2], [1.05, 1.1, 1.3], [3.0, 3.1, 3.2]
OFF = [1.5, 1.6, 1.7]
MISSED = {"relative_gap": 1e-3}


def _names(table):
    """Return the names of the rows and of the columns."""
    return [row[0].text for row in table.rows], [column.head for column in table.columns[1:]]


def _bold(table):
    """Return the columns with winners."""
    return {
        column.head
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if cell.bold
    }


def test_the_caption_names_target_machine_and_repetitions(results):
    caption = paper_table(results(times("moons", "smo", [1.0, 1.1, 1.2]))).title
    for text in ("1e-06", "A & B_1, 2 cores, 16.00 GiB", "medians of 3 runs", "2026-01-02"):
        assert text in caption


@pytest.mark.parametrize(
    ("runs", "bold", "notes"),
    [
        ([("smo", FAST), ("libsvm", NEAR), ("sgd", SLOW)], {"smo", "libsvm"}, "Bold: the fastest"),
        ([("smo", SLOW), ("sgd", FAST, {"relative_gap": 2e-3})], {"smo"}, "≈: not solved"),
        (
            [("smo", FAST[:2]), ("sgd", SLOW[:2])],
            set(),
            f"(fewer than {MIN_REPETITIONS} runs): none is bold",
        ),
        ([("smo", FAST)], set(), "medians of 3 runs"),
        ([("smo", FAST), ("libsvm", OFF)], {"smo"}, "Bold"),
        ([("libsvm", SLOW), ("smo", FAST), ("smo", FAST[:1], MISSED)], {"libsvm"}, "≈: not solved"),
        (  # on a noisy machine
            [("smo", FAST), ("libsvm", OFF), ("smo", [2.0, 2.1, 2.2], {"aa_repeat": True})],
            {"smo", "libsvm"},
            "Bold",
        ),
    ],
)
def test_the_fastest_and_all_within_the_noise_of_it_are_bold_if_solved(runs, bold, notes, results):
    rows = [row for solver, t, *more in runs for row in times(EASY, solver, t, **dict(*more))]
    table = paper_table(results(rows))
    assert _names(table)[1] == list(dict.fromkeys(solver for solver, *_ in runs))
    assert _bold(table) == bold
    assert notes in table.title


def test_a_run_that_is_not_solved_shows_its_gap(results):
    folder = results([*times(EASY, "smo", SLOW), *times(EASY, "sgd", FAST, relative_gap=2e-3)])
    missed = paper_table(folder).rows[0][2]
    assert (missed.text, missed.bold) == ("≈ 2e-03", False)
    assert np.isnan(missed.value)


def test_seeds_that_solved_a_problem_are_counted(results):
    gaps = dict(zip((1, 2, 3), (1e-9, 1e-3, 1e-2), strict=True))
    seeds = [
        times(EASY, "pegasos", [2.0], params=json.dumps({"seed": seed}), relative_gap=gap)[0]
        for seed, gap in gaps.items()
    ]
    folder = results([*times(EASY, "smo", FAST[:1]), *seeds])
    table = paper_table(folder)
    assert _names(table)[1] == ["smo", "pegasos (3 seeds)"]
    assert table.rows[0][2].text == "≈ 1e-02 (1 of 3 solved)"
    assert "medians of 1 to 3 runs" in table.title
    assert "| inaccurate, 1 of 3 solved |" in to_markdown(
        summarise(Results(load_results(folder))), "x"
    )


def test_a_row_is_chosen_by_its_name_as_the_table_prints_it(results):
    folder = results([*times(EASY, "smo", FAST), *times("moons C=10", "smo", FAST)])
    assert _names(paper_table(folder, rows=["moons / C=1e1"]))[0] == ["moons C=10"]


def test_only_listed_solvers_compete(results):
    runs = [
        *times(EASY, "smo", FAST),
        *times(EASY, "libsvm", SLOW),
        *times(EASY, "sgd", [9] * 3),
    ]
    table = paper_table(results(runs), columns=["sgd", "libsvm"])
    assert _names(table)[1] == ["sgd", "libsvm"]
    assert _bold(table) == {"libsvm"}


def test_values_other_than_times_have_no_winners(results):
    runs = [*times(EASY, "smo", FAST), *times(EASY, "libsvm", SLOW, relative_gap=1e-2)]
    table = paper_table(results(runs), values=["gap", "objective:4"])
    assert [cell.text for cell in table.rows[0][1:]] == ["1.0e-09", "-245.0", "1.0e-02", "-245.0"]
    assert not any(cell.bold for cell in table.rows[0])
    assert "Bold" not in table.title


def test_rows_and_columns_are_ordered_and_may_be_transposed(results):
    runs = [run for p in (EASY, HARD) for s in ("smo", "sgd") for run in times(p, s, FAST)]
    folder = results(runs)
    table = paper_table(folder, rows=["rings", "moo*"], columns=["sgd", "smo"])
    assert _names(table) == (["rings", "moons"], ["sgd", "smo"])
    assert "All problems: soft_margin_dual linear C=1." in table.title
    turned = paper_table(folder, rows=["sgd", "smo"], columns=["rings", "moo*"], by="solver")
    assert _names(turned) == _names(table)[::-1]
    assert [row[1:] for row in turned.rows] == [
        [*column] for column in list(zip(*table.rows, strict=True))[1:]
    ]


def test_the_ratio_is_to_the_fastest_listed_solver(results):
    folder = results([*times(EASY, "smo", [2.0] * 3), *times(EASY, "sgd", [5.0] * 3)])
    assert [c.value for c in paper_table(folder, values=["ratio"]).rows[0][1:]] == [1.0, 2.5]


def test_a_folder_without_runs_is_refused_in_a_sentence(command, results):
    folder = results([])
    message = command("table", folder, code=2)
    assert message.output == f"Results folder {folder} has no runs of solvers to make a table of.\n"


def test_at_a_target_each_solver_has_its_cheapest_run_that_reaches_it(results):
    runs = [
        run
        for tol, time, gap in ((1e-2, 1.0, 1e-2), (1e-4, 2.0, 1e-4), (1e-6, 3.0, 1e-7))
        for run in times(EASY, "smo", [time] * 3, relative_gap=gap, params=json.dumps({"tol": tol}))
    ]
    folder = results([*runs, *times(EASY, "sgd", FAST, relative_gap=0.5)])
    table = paper_table(folder, target=1e-3)
    assert _names(table)[1] == ["smo", "sgd"]
    assert [cell.text for cell in table.rows[0][1:]] == ["2.00", "≈ 5e-01"]
    assert "at most 0.001" in table.title


def test_a_gap_just_above_the_target_is_not_rounded_to_it(results):
    folder = results([*times("p", "smo", (1.0,)), *times("p", "sgd", (1.0,), relative_gap=1.3e-6)])
    texts = [cell.text for row in paper_table(folder).rows for cell in row]
    assert "≈ 2e-06" in texts
