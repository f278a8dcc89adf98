"""Published results: what a folder of them holds, and the tables of the documents."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from tests.experiments.functions import log_of, posing
from tests.experiments.rows import results_from, run, stored, timed

from dualgap.experiments.analysis.means import compared
from dualgap.experiments.report import report
from dualgap.experiments.report.published.documents import performance_table
from dualgap.experiments.report.published.publish import publish

TINY = {"name": "tiny", "dataset": "{name: two_gaussians, n: 30}"}
ROOT = Path(__file__).parents[4]
REFERENCES = ["cvxopt_qp", "cvxpy_qp", "{name: smo, tol: 1e-8}"]


@pytest.fixture
def ran(command, write, in_process, tmp_path):
    """Return the folder of a run that a command has made of an experiment."""

    def _ran(name, **keys):
        text = "# What a tiny run is for. This is not told.\n" + posing(**TINY, **keys)
        command(name, write(text), "--out", "run")
        return tmp_path / "run"

    return _ran


def _names(folder):
    return {path.name for path in folder.iterdir()}


def _contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_pages_are_generated_from_the_records_and_edits_are_overwritten(tmp_path):
    """As `make check` finds it for all of them by `git diff`."""
    for name in ("quickstart", "bench_first_order"):
        shutil.copytree(ROOT / "results" / name, tmp_path / "results" / name)
    text = (ROOT / "README.md").read_text()
    start = text.index("<!-- quickstart table")
    end = text.index("<!-- end of table -->", start)
    (tmp_path / "README.md").write_text(text[start:end] + "<!-- end of table -->\n")
    before = _contents(tmp_path)
    pages = [file for file in before if file.suffix == ".md"]
    assert len(pages) == 3
    for page in pages:
        page.write_text(page.read_text().replace("ms ", "s ", 1))
    assert _contents(tmp_path) != before
    assert len(list(publish(None, tmp_path))) == 2
    assert _contents(tmp_path) == before
    runs = tmp_path / "results/quickstart/runs.csv"
    runs.write_text(runs.read_text().replace("solved", "wrong"))
    list(publish(None, tmp_path))
    after = _contents(tmp_path)
    assert {path.name for path in before if after[path] != before[path]} == {
        "README.md",
        "runs.csv",
        "summary.md",
    }


@pytest.mark.exhaustive
def test_runs_are_published_singly_or_as_a_group_and_quoted_in_documents(ran, tmp_path):
    (tmp_path / "README.md").write_text("a\n<!-- tiny table -->\nold\n<!-- end of table -->\nb\n")
    index = tmp_path / "results" / "README.md"
    index.parent.mkdir()
    index.write_text("<!-- index table -->\n<!-- end of table -->\n")
    folder = tmp_path / "notes" / "run"
    folder.parent.mkdir()
    ran("run", solvers=REFERENCES).rename(folder)
    (target,) = publish(folder, tmp_path)
    assert target == tmp_path / "results" / "tiny"
    assert {"manifest.json", "runs.csv", "traces.csv", "summary.md"} <= _names(target)
    assert "overview.svg" in _names(target)
    pictures = [name for name in _names(target) if name.endswith(".png")]
    assert pictures == ["decision_regions-two_gaussians-soft_margin_dual-linear-C=1.png"]
    text = (tmp_path / "README.md").read_text()
    assert "two_gaussians<br>soft_margin_dual" in text
    assert (text[:2], text[-2:], "old" in text) == ("a\n", "b\n", False)
    assert list(publish(folder.parent, tmp_path)) == [tmp_path / "results" / "notes" / "tiny"]
    rows = [line.split("|")[1:4] for line in index.read_text().splitlines()[4:-2]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        [f"[{name}]({name}/summary.md)", "What a tiny run is for.", "3"]
        for name in ("notes/tiny", "tiny")
    ]


@pytest.mark.exhaustive
def test_answers_on_a_path_are_published_and_reported(ran, tmp_path):
    folder = ran("run", path="{C: [1, 2], gap: 0.1}")
    (target,) = publish(folder, tmp_path)
    assert (target / "paths.csv").read_bytes() == (folder / "paths.csv").read_bytes()
    assert "certified_path" in " ".join(_names(target))
    page = report(target)
    assert 'id="paths"' in page
    assert "data:image/svg+xml" in page


@pytest.mark.exhaustive
def test_a_verification_is_published_and_follows_from_its_records(ran, tmp_path):
    (target,) = publish(ran("verify", solvers=REFERENCES, kind="verification"), tmp_path)
    assert {"verification.csv", "verification.md", "differences.svg"} <= _names(target)
    assert "passed; the worst difference is" in (target / "verification.md").read_text()
    before = _contents(target)
    for name in ("verification.csv", "verification.md"):
        (target / name).write_text("edited")
    assert list(publish(None, tmp_path)) == [target]
    assert _contents(target) == before


@pytest.mark.exhaustive
def test_publishing_a_folder_onto_itself_is_refused(ran, tmp_path):
    (target,) = publish(ran("run"), tmp_path)
    before = _contents(target)
    with pytest.raises(ValueError, match="is already published"):
        list(publish(target, tmp_path))
    assert _contents(target) == before


def test_an_unfinished_run_is_refused(tmp_path):
    folder = stored(tmp_path / "x", [run(), run("q")])
    log = log_of(folder)
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ValueError, match="lacks 1 of its planned runs; resume it first"):
        list(publish(folder, tmp_path))
    assert not (tmp_path / "results").exists()


def test_a_library_that_failed_on_every_problem_is_in_the_performance_table():
    rows = [timed("smo", 1e-8, gap=1e-9), timed("libsvm", 1e-8, status="time_limit")]
    table = compared(results_from(*rows))
    names = re.findall(r"results/(\w+)/", (ROOT / "README.md").read_text())
    table = pd.concat(table.assign(benchmark=name) for name in dict.fromkeys(names))
    row = next(line for line in performance_table(table).splitlines() if "bench_svr" in line)
    assert "| libsvm **1×** " in row
    assert "| libsvm (failed 1 of 1) " in row
