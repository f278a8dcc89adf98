"""Tables for papers as text: digits, and that LaTeX takes it."""

import csv
import io
import re
import shutil
import subprocess

import pytest

from experiments.paper import paper_table
from experiments.paper.text import Cell, PaperTable, latex, rounded

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
def test_latex_compiles(heads, tmp_path, results, times):
    runs = [
        *times(HOSTILE, "smo", [1.0, 1.1, 1.2]),
        *times("moons soft_margin_dual", "sgd_1", [3.0, 3.1, 3.2], relative_gap=1e-2),
    ]
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
