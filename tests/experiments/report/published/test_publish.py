"""Published results: what a folder of them holds, and the tables of the documents."""

import pandas as pd
import pytest
from tests.experiments.functions import log_of, posing
from tests.experiments.rows import run, stored

from dualgap.experiments.report import report
from dualgap.experiments.report.published.outdated import outdated
from dualgap.experiments.report.published.publish import publish

TINY = {"name": "tiny", "dataset": "{name: two_gaussians, n: 30}"}
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


@pytest.mark.exhaustive
def test_runs_are_published_alone_or_as_a_group_and_documents_quote_them(ran, tmp_path):
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
    assert {"overview.svg", "digests.json"} <= _names(target)
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
    assert outdated(tmp_path) == []


@pytest.mark.exhaustive
def test_answers_on_a_path_are_published_checked_and_reported(ran, tmp_path):
    folder = ran("run", path="{C: [1, 2], gap: 0.1}")
    (target,) = publish(folder, tmp_path)
    assert (target / "paths.csv").read_bytes() == (folder / "paths.csv").read_bytes()
    assert "certified_path" in " ".join(_names(target))
    page = report(target)
    assert 'id="paths"' in page
    assert "data:image/svg+xml" in page
    with (target / "paths.csv").open("a") as file:
        file.write("more\n")
    assert any("paths.csv changed" in fault for fault in outdated(tmp_path))


@pytest.mark.exhaustive
def test_a_verification_is_published_and_what_the_records_do_not_give_is_found(ran, tmp_path):
    (target,) = publish(ran("verify", solvers=REFERENCES, kind="verification"), tmp_path)
    assert {"verification.csv", "verification.md", "differences.svg"} <= _names(target)
    assert "passed; the worst difference is" in (target / "verification.md").read_text()
    assert outdated(tmp_path) == []
    table = target / "verification.csv"
    pd.read_csv(table).assign(difference=0.0).to_csv(table, index=False)
    assert outdated(tmp_path) == [
        "tiny: verification.csv changed after it was published",
        "tiny: verification.csv does not agree with runs.csv",
    ]


@pytest.mark.exhaustive
def test_a_published_folder_is_not_published_over_itself(ran, tmp_path):
    (target,) = publish(ran("run"), tmp_path)
    before = {path: path.read_bytes() for path in target.iterdir()}
    with pytest.raises(ValueError, match="is already published"):
        list(publish(target, tmp_path))
    assert {path: path.read_bytes() for path in target.iterdir()} == before


def test_an_unfinished_run_is_refused(tmp_path):
    folder = stored(tmp_path / "x", [run(), run("q")])
    log = log_of(folder)
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(ValueError, match="lacks 1 of its planned runs; resume it first"):
        list(publish(folder, tmp_path))
    assert not (tmp_path / "results").exists()
