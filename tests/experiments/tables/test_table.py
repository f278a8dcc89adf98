"""A table as text: for the terminal, LaTeX, Markdown and CSV, whatever its names are."""

import csv
import io
import re
import shutil
import subprocess

import pytest
from rich.console import Console
from tests.experiments.tables.conftest import times

from dualgap.experiments.tables.chosen import paper_table
from dualgap.experiments.tables.table import Cell, Column, Table
from dualgap.problems.texts import latex

HOSTILE = r"a_b & 50% of $x^2$ {#1} ~ \input{secret} <|> α 中 é"
NUMBERS = (Cell("1.50", 1.5, bold=True), Cell("1.0e-07", 1e-7), Cell("≈ 2e-03"), Cell("–", 2))
TABLE = Table(
    [
        Column("problem"),
        *(Column(head, group=group) for group in ("smo_1", "li|b") for head in ("time", "gap")),
    ],
    [[Cell(HOSTILE), *NUMBERS], [Cell("plain"), *NUMBERS]],
    f"Times. {HOSTILE}",
)


def test_values_are_formatted_by_their_column_and_nan_as_missing():
    columns = {"time": Column("s", "{:.1f}".format, missing="–"), "name": Column("name")}
    rows = [{"time": 0.25, "name": "[b]a|b"}, {"time": float("nan"), "name": ""}]
    (first, name), (second, _) = Table.of(rows, columns).rows
    assert (first.text, first.key, name.text, name.key) == ("0.2", "0.25", "[b]a|b", "")
    assert (second.text, second.key) == ("–", "")
    assert Table.of([], columns).markdown() == ""


def test_names_are_escaped_for_latex():
    assert latex("a_b & 50%") == r"a\_b \& 50\%"
    assert latex("\\input{x}") == r"\textbackslash{}input\{x\}"
    assert latex("tol=4e-07, 1e+10") == r"tol=$4 \cdot 10^{-7}$, $1 \cdot 10^{10}$"
    assert latex("deadbeef1e5, v1e-5x") == "deadbeef1e5, v1e-5x"
    assert latex("ж\n中") == "{[}U+0436] [U+4E2D]"
    assert latex("α ≤ 1") == r"$\alpha$ $\leq$ 1"


def test_latex_has_one_cell_per_column_in_each_row():
    text = TABLE.latex("my study/1")
    assert r"\begin{tabular}{lrrrr}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    spans = [len(re.findall(r"(?<!\\)&", row)) + row.count(r"\multicolumn{2}") for row in rows]
    assert spans == [4] * 4


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("heads", [("time",), ("time", "gap")])
def test_latex_compiles(heads, tmp_path, results):
    runs = [
        *times(HOSTILE, "smo", [1.0, 1.1, 1.2]),
        *times("moons soft_margin_dual", "sgd_1", [3.0, 3.1, 3.2], relative_gap=1e-2),
    ]
    table = paper_table(results(runs), values=heads)
    head, tail = r"\documentclass{article}\usepackage{booktabs}\begin{document}", r"\end{document}"
    (tmp_path / "x.tex").write_text(
        f"{head}\n{table.latex('x')}\n{TABLE.latex('my study/1')}\n{tail}\n"
    )
    call = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    process = subprocess.run(call, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert process.returncode == 0, process.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "x.pdf").is_file()


def test_markdown_has_bold_winners_and_escaped_bars():
    text = TABLE.to("markdown", "x")
    assert "**1.50**" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {6}


def test_csv_has_all_digits_and_leaves_missing_numbers_empty():
    heads, first, _ = csv.reader(io.StringIO(TABLE.csv()))
    assert heads == ["problem", "smo_1 time", "smo_1 gap", "li|b time", "li|b gap"]
    assert first == [HOSTILE, "1.5", "1e-07", "", "2"]


COLUMNS = {
    "problem": Column("problem", align="words"),
    "difference": Column("worst difference"),
    "time": Column("time"),
    "gap": Column("gap", drop_priority=1),
    "ratio": Column("ratio", align="left", drop_priority=2),
    "outcome": Column("outcome", align="words"),
}
ROW = {
    "problem": "breast_cancer soft_margin_dual rbf(gamma=0.01) C=1 intercept=False [/x]",
    "difference": "1.2e-06 → 3.4e-05",
    "time": "12.34 ms",
    "gap": "5.6e-07",
    "ratio": "1.62× [1.38, 1.99]",
    "outcome": "inaccurate, 1 of 3 solved",
}


def printed(table, width):
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def test_a_narrow_terminal_wraps_words_and_drops_columns_but_never_breaks_numbers():
    for width in range(50, 200, 5):
        text = printed(Table.of([ROW], COLUMNS, "title"), width)
        assert max(map(len, text.splitlines())) <= width
        assert ROW["difference"] in text, width
        assert ROW["time"] in text, width
        assert (ROW["ratio"] in text) == ("ratio" in text), width
        assert (ROW["gap"] in text) == ("gap" in text) == (width >= 90), width
        assert "…" not in text, width


def test_text_wraps_at_spaces_if_a_column_fits_its_longest_word():
    cells = ["projected_gradient (barzilai_borwein)", "1.27 ms", "time_limit, 1 of 3 solved"]
    row = dict(zip(("problem", "time", "outcome"), cells, strict=True))
    words = printed(Table.of([row], {name: COLUMNS[name] for name in row}), 46).split()
    assert {"projected_gradient", "(barzilai_borwein)", "time_limit,", "solved"} <= set(words)


def test_a_row_that_fits_is_on_one_line():
    (line,) = (line for line in printed(Table.of([ROW], COLUMNS), 200).splitlines() if "ms" in line)
    assert [cell.strip() for cell in line.split("  ") if cell] == list(ROW.values())
