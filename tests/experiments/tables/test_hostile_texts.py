"""Every command that shows text from outside shows it as it is: labels, notes, names and paths."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from tests.experiments.functions import posing
from tests.experiments.rows import crashed, run
from tests.problems.test_texts import HOSTILE, Texts, kinds_of

from dualgap.experiments.operations import terminal
from dualgap.experiments.plots import plot_all
from dualgap.experiments.tables.verification import CHECKS

EVERYTHING = " ".join(HOSTILE).replace("\ud800", "")
MARKUP = {"html_inline", "html_block", "link_open", "image", "code_inline", "em_open", "s_open"}
pytestmark = pytest.mark.usefixtures("in_process")


def hostile_runs(text):
    """Return runs whose problems, solvers, labels, reasons, settings, host and signal are hostile."""
    columns = {
        "host": text,
        "params": json.dumps({"tol": 1e-3, "mode": text}),
        "bound_source": text,
    }
    solvers = ["smo", f"{text}.py:X"]
    return [
        row(f"{text} {C}", solver, run_id=f"r{C}{i}", label=label, reason=text, **columns)
        for C in (1, 2)
        for i, solver in enumerate(solvers)
        for row, label in ((run, ""), (crashed, f"{text} {i}"))
    ]


def check_terminal(output):
    assert "".join(output.split("\n")).isprintable()


def check_markdown(page):
    check_terminal(page)
    kinds, _ = kinds_of(page)
    assert not kinds & MARKUP
    assert "<" not in re.sub(r"\\<", "", page)


@pytest.fixture
def folder(results):
    return results(hostile_runs(EVERYTHING), "st<u>dy\x1b[31m_|x")


def test_tables_and_comparisons_escape_hostile_names(command, folder):
    for kind in ("markdown", "latex", "csv"):
        output = command("table", folder, "--format", kind, "--values", "time,gap").output
        check_terminal(output)
        if kind == "markdown":
            check_markdown(output)
    for options in ([], ["--json"]):
        output = command("compare", folder, folder, *options).output
        check_terminal(output)
    assert json.loads(output)["changes"] is not None


def test_a_report_escapes_hostile_names(command, folder):
    output = command("report", folder).output
    check_terminal(output)
    page = Texts((folder / "report.html").read_text())
    assert not {*page.tags} & {"u", "iframe", "comment"}
    assert page.tags.count("script") == 3
    body = page.text.partition("All runs")[2]
    assert "<script>alert(1)</script>" in body
    assert "".join(re.split(r"[\n\t]", page.text)).isprintable()


def test_figures_escape_hostile_names(folder):
    check = {"solver": rf"$\frac$ {EVERYTHING}", "difference": 1e-8, "passed": True}
    checks = pd.DataFrame([check | {"status": "finished", "verdict": "solved"}])
    checks.to_csv(folder / CHECKS, index=False)
    for path in plot_all(folder):
        if path.suffix == ".svg":
            root = ElementTree.parse(path).getroot()
            assert not [each for each in root.iter() if each.tag.endswith("script")]
            assert "".join("".join(root.itertext()).split()).isprintable()


def test_answers_from_a_folder_with_a_hostile_name_are_certified_in_one_row(
    command, write, tmp_path
):
    command("export", write(posing(C=1)), "--all", "there")
    folder = tmp_path / "answers" / "\x1b[31m<b>a|b\n[x](y) \u202e"
    folder.mkdir(parents=True)
    np.savez(folder / "p001.npz", alpha=np.zeros(24))
    output = command("certify", "there", "--answers", "answers", "--out", "out", code=1).output
    check_terminal(output)
    check_markdown(Path("out/summary.md").read_text().rpartition("`time`")[0])
    assert r"\<b>a\|b \[x\](y)" in Path("out/summary.md").read_text()


def test_notes_of_solvers_and_labels_reach_no_page_as_markup(command, write, strange):
    before = "TEXT = '<script>alert(1)</script> [a](b) `c` \\x1b[31m | \\u202e'"
    name = strange("raise ValueError(TEXT)\nyield FormPoint(x)", before=before)
    label = '"<img src=x> | **a** [b](c)"'
    text = posing(solvers=[f'{{name: "{name}", label: {label}}}', "smo"])
    check_terminal(command("run", write(text), "--out", "out", code=1).output)
    check_markdown(Path("out/summary.md").read_text().rpartition("`time`")[0])


@pytest.mark.parametrize("text", ["\x1b[31m", "a\nb", "\u202e", "\x9b2J"])
def test_a_refused_path_prints_no_control_characters(command, text):
    for words in (["run", f"{text}.yaml"], ["verify", f"{text}.yaml"]):
        output = command(*words, code=2).output
        assert output.count("\n") == 1
        check_terminal(output)
    Path(f"{text}.yaml").write_text("name: x\nsolvers: [smo]")
    output = command("run", f"{text}.yaml", code=2).output
    check_terminal(output)


def test_only_one_module_prints():
    printing_module = Path(terminal.__file__).resolve()
    for file in (Path(__file__).parents[3] / "experiments").rglob("*.py"):
        if file != printing_module and "docs" not in file.parts:
            calls = re.findall(r"click\.s?echo\(|(?<![\w.])print\(", file.read_text())
            assert not calls, file
