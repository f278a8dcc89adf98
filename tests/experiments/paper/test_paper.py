"""Tables for papers: what is chosen, what is bold, and that LaTeX takes the text."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments.analysis.noise import FEWEST
from experiments.cases.plan import AA_REPEAT
from experiments.cases.records import COLUMNS
from experiments.cli import main
from experiments.output.tables import summarise, to_markdown
from experiments.paper import VALUES, paper_table
from experiments.paper.text import Cell, PaperTable, latex, rounded
from experiments.store.manifest import SCHEMA
from experiments.store.published import read_records

EASY, HARD = "moons soft_margin_dual linear C=1", "rings soft_margin_dual linear C=1"
TARGET = 1e-6


def _run(problem, solver, repetition, time, **more):
    gap = more.pop("relative_gap", 1e-9)
    verdict = "solved" if gap <= TARGET else "inaccurate"
    known = {
        "run_id": f"{problem} {solver} {repetition} {more.get('params')}",
        "problem_id": problem,
        "family_hash": problem,
        "formulation": "soft_margin_dual",
        "solver": solver,
        "params": json.dumps({"tol": 1e-3}),
        "repetition": repetition,
        "target_gap": TARGET,
        "status": "finished",
        "claimed": "optimal",
        "verdict": verdict,
        "bound_source": "alpha",
        "primal_objective": 10.0,
        "dual_objective": 10.0 * (1 - gap),
        "objective": -10.0,
        "relative_gap": gap,
        "suboptimality": 0.0,
        "time_solve": time,
        "time_setup": 0.0,
        "threads": 2,
        "n": 100,
        "d": 2,
        "host": "here",
    }
    return dict.fromkeys(COLUMNS) | known | more


def _times(problem, solver, times, **more):
    return [_run(problem, solver, i, time, **more) for i, time in enumerate(times)]


@pytest.fixture
def results(tmp_path):
    """Write runs as a published folder has them; return the folder."""

    def write(runs, name="study"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        pd.DataFrame(runs, columns=COLUMNS).to_csv(folder / "runs.csv", index=False)
        manifest = {
            "schema": SCHEMA,
            "run_ids": [],
            "experiment": "name: study",
            "versions": {"python": "3.12"},
            "host": "here",
            "platform": "Linux",
            "machine": {"processor": "A & B_1", "cores": 2, "memory": 2**34},
            "date": "2026-01-02T03:04",
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return folder

    return write


def _bold(table):
    return {
        (row, group)
        for row, cells in zip(table.rows, table.cells, strict=True)
        for group, cell in zip(table.groups, cells, strict=True)
        if cell.bold
    }


FAST, NEAR, SLOW = [1.0, 1.1, 1.2], [1.05, 1.1, 1.3], [3.0, 3.1, 3.2]


def test_all_within_the_noise_of_the_fastest_are_bold(results):
    folder = results(
        [*_times(EASY, "smo", FAST), *_times(EASY, "libsvm", NEAR), *_times(EASY, "sgd", SLOW)]
    )
    table = paper_table(folder)
    assert table.groups == ("smo", "libsvm", "sgd")
    assert [cell.bold for cell in table.cells[0]] == [True, True, False]
    assert "Bold: the fastest" in table.caption


def test_a_run_that_is_not_solved_is_never_bold_and_shows_the_gap(results):
    folder = results([*_times(EASY, "smo", SLOW), *_times(EASY, "sgd", FAST, relative_gap=2e-3)])
    table = paper_table(folder)
    solved, missed = table.cells[0]
    assert solved.bold
    assert (missed.text, missed.bold) == ("≈ 2e-03", False)
    assert np.isnan(missed.value)
    assert "≈: not solved" in table.caption


def test_one_repetition_that_failed_takes_the_bold_away(results):
    runs = [*_times(EASY, "smo", FAST), *_times(EASY, "libsvm", SLOW)]
    runs[1] |= {"verdict": "inaccurate", "relative_gap": 1e-3}
    table = paper_table(results(runs))
    assert _bold(table) == {(table.rows[0], "libsvm")}


def test_some_of_several_seeds_that_solved_it_are_counted(results):
    gaps = dict(zip((1, 2, 3), (1e-9, 1e-3, 1e-2), strict=True))
    seeds = [
        _run(EASY, "pegasos", 0, 2.0, params=json.dumps({"seed": seed}), relative_gap=gap)
        for seed, gap in gaps.items()
    ]
    folder = results([*_times(EASY, "smo", FAST[:1]), *seeds])
    table = paper_table(folder)
    assert table.groups == ("smo", "pegasos (3 seeds)")
    assert table.cells[0][1].text == "≈ 1e-02 (1 of 3 solved)"
    assert "medians of 1 to 3 runs" in table.caption
    assert "| inaccurate, 1 of 3 solved |" in to_markdown(summarise(read_records(folder)), "x")


def test_where_the_noise_is_not_known_nothing_is_bold(results):
    runs = [*_times(EASY, "smo", FAST[:2]), *_times(EASY, "libsvm", SLOW[:2])]
    table = paper_table(results(runs))
    assert _bold(table) == set()
    assert f"not known (fewer than {FEWEST} runs): none is bold" in table.caption


def test_a_noisy_machine_makes_more_of_them_bold(results):
    twin = {"params": json.dumps({"tol": 1e-3, AA_REPEAT: True})}
    runs = [*_times(EASY, "smo", FAST), *_times(EASY, "libsvm", [1.5, 1.6, 1.7])]
    calm = paper_table(results(runs, "calm"))
    noisy = paper_table(results([*runs, *_times(EASY, "smo", [2.0, 2.1, 2.2], **twin)], "noisy"))
    assert {group for _, group in _bold(calm)} == {"smo"}
    assert {group for _, group in _bold(noisy)} == {"smo", "libsvm"}
    assert noisy.groups == calm.groups


def test_only_solvers_that_are_shown_compete(results):
    runs = [
        *_times(EASY, "smo", FAST),
        *_times(EASY, "libsvm", SLOW),
        *_times(EASY, "sgd", [9] * 3),
    ]
    table = paper_table(results(runs), columns=["sgd", "libsvm"])
    assert table.groups == ("sgd", "libsvm")
    assert {group for _, group in _bold(table)} == {"libsvm"}


def test_a_table_of_one_solver_has_no_winners(results):
    table = paper_table(results(_times(EASY, "smo", FAST)))
    assert _bold(table) == set()
    assert "old" not in table.caption


def test_values_that_are_no_times_have_no_winners(results):
    runs = [*_times(EASY, "smo", FAST), *_times(EASY, "libsvm", SLOW, relative_gap=1e-2)]
    table = paper_table(results(runs), values=["gap", "objective:4"])
    assert [cell.text for cell in table.cells[0]] == ["1.0e-09", "-10.00", "1.0e-02", "-10.00"]
    assert not any(cell.bold for cell in table.cells[0])
    assert "Bold" not in table.caption


def test_rows_and_columns_are_chosen_in_order_and_may_change_places(results):
    runs = [run for p in (EASY, HARD) for s in ("smo", "sgd") for run in _times(p, s, FAST)]
    folder = results(runs)
    table = paper_table(folder, rows=["rings", "moo*"], columns=["sgd", "smo"])
    assert (table.rows, table.groups) == (("rings", "moons"), ("sgd", "smo"))
    assert "All problems: soft_margin_dual linear C=1." in table.caption
    turned = paper_table(folder, rows=["sgd", "smo"], columns=["rings", "moo*"], by="solver")
    assert (turned.rows, turned.groups) == (table.groups, table.rows)
    assert turned.cells == tuple(zip(*table.cells, strict=True))


def test_the_ratio_is_to_the_fastest_that_is_shown(results):
    folder = results([*_times(EASY, "smo", [2.0] * 3), *_times(EASY, "sgd", [5.0] * 3)])
    assert [c.value for c in paper_table(folder, values=["ratio"]).cells[0]] == [1.0, 2.5]


def test_at_a_target_each_solver_has_its_cheapest_run_that_reaches_it(results):
    runs = [
        run
        for tol, time, gap in ((1e-2, 1.0, 1e-2), (1e-4, 2.0, 1e-4), (1e-6, 3.0, 1e-7))
        for run in _times(
            EASY, "smo", [time] * 3, relative_gap=gap, params=json.dumps({"tol": tol})
        )
    ]
    folder = results([*runs, *_times(EASY, "sgd", FAST, relative_gap=0.5)])
    table = paper_table(folder, target=1e-3)
    assert table.groups == ("smo", "sgd")
    assert [cell.text for cell in table.cells[0]] == ["2.00", "≈ 5e-01"]
    assert "at most 0.001" in table.caption


def test_the_caption_names_target_machine_and_repetitions(results):
    caption = paper_table(results(_times(EASY, "smo", FAST))).caption
    for shown in ("1e-06", "A & B_1, 2 cores, 16.00 GiB", "medians of 3 runs", "2026-01-02"):
        assert shown in caption


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
def test_numbers_have_so_many_significant_digits(value, digits, text):
    assert rounded(value, digits) == text


# -- formats ---------------------------------------------------------------------------------------

HOSTILE = r"a_b & 50% of $x^2$ {#1} ~ \input{secret} <|> α 中 é"
TABLE = PaperTable(
    "my study/1",
    "problem",
    (HOSTILE, "plain"),
    ("smo_1", "li|b"),
    ("time", "gap"),
    ((Cell(1.5, "1.50", True), Cell(1e-7, "1.0e-07"), Cell(float("nan"), "≈ 2e-03"), Cell(2, "–")),)
    * 2,
    f"Times. {HOSTILE}",
)


def test_names_are_escaped_for_latex():
    assert latex("a_b & 50%") == r"a\_b \& 50\%"
    assert latex("\\input{x}") == r"\textbackslash{}input\{x\}"
    assert latex("tol=4e-07, 1e+10") == r"tol=$4 \cdot 10^{-7}$, $1 \cdot 10^{10}$"
    assert latex("deadbeef1e5, v1e-5x") == "deadbeef1e5, v1e-5x"
    assert latex("α\n中") == "[U+03B1] [U+4E2D]"


def test_latex_has_as_many_cells_in_each_row_as_columns():
    text = TABLE.to_latex()
    assert r"\begin{tabular}{lrrrr}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    spans = [len(re.findall(r"(?<!\\)&", row)) + row.count(r"\multicolumn{2}") for row in rows]
    assert spans == [4] * 4


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("heads", [("time",), ("time", "gap")])
def test_latex_compiles(heads, tmp_path, results):
    runs = [*_times(HOSTILE, "smo", FAST), *_times(EASY, "sgd_1", SLOW, relative_gap=1e-2)]
    made = paper_table(results(runs), values=heads)
    begin, end = r"\documentclass{article}\usepackage{booktabs}\begin{document}", r"\end{document}"
    (tmp_path / "x.tex").write_text(f"{begin}\n{made.to_latex()}\n{TABLE.to_latex()}\n{end}\n")
    call = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "x.pdf").is_file()


def test_markdown_has_bold_winners_and_escaped_bars():
    text = TABLE.to_markdown()
    assert "**1.50**" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}


def test_csv_has_every_digit_and_leaves_out_what_is_no_number():
    heads, first, _ = csv.reader(io.StringIO(TABLE.to_csv()))
    assert heads == ["problem", "smo_1 time", "smo_1 gap", "li|b time", "li|b gap"]
    assert first == [HOSTILE, "1.5", "1e-07", "", "2"]


def test_a_notebook_shows_the_table_escaped():
    page = TABLE._repr_html_()
    assert "&lt;|&gt;" in page
    (bold,) = re.findall(r"(#T_\S+, #T_\S+) \{\s+font-weight: bold", page)
    assert [cell.rpartition("_row")[2] for cell in bold.split(", ")] == ["0_col0", "1_col0"]


# -- the command -----------------------------------------------------------------------------------


def _table(*arguments):
    return CliRunner().invoke(main, ["table", *map(str, arguments)])


def test_the_command_prints_or_writes_each_format(results, tmp_path):
    folder = results([*_times(EASY, "smo", FAST), *_times(EASY, "sgd", SLOW)])
    assert "| problem" in _table(folder).stdout
    for kind, begin in (("latex", "% needs"), ("csv", "problem,smo,sgd")):
        out = tmp_path / kind
        done = _table(folder, "--format", kind, "--out", out)
        assert done.exit_code == 0, done.output
        assert out.read_text().startswith(begin)
    every = _table(folder, "--values", ",".join(VALUES), "--digits", 2)
    assert every.exit_code == 0, every.output


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--columns", "nosuch"], "no solver fits 'nosuch'; there are: smo"),
        (["--values", "speed"], "values: must be of time, ratio"),
        (["--values", "time:x"], "digits in 'time:x'"),
        (["--values", "margin", "--target", "1e-3"], "must be of time, ratio, gap, memory"),
    ],
)
def test_what_cannot_be_shown_is_refused(results, arguments, shown):
    refused = _table(results(_times(EASY, "smo", FAST)), *arguments)
    assert refused.exit_code == 2
    assert shown in refused.output


def test_a_folder_without_results_is_refused(tmp_path):
    assert _table(tmp_path).exit_code == 2
