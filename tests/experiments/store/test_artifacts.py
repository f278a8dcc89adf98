"""Files that a solver keeps: they belong to its run, wherever the run goes, and end with it."""

import os
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.experiments.functions import posing

from dualgap.experiments.commands import archive  # noqa: F401 - loaded before it is patched
from dualgap.experiments.operations import archive as archiving
from dualgap.experiments.store.reading import RunFolder

KEEPING = """
from pathlib import Path

text = os.environ.get("TEXT", "first")
if (folder := os.environ.get("DUALGAP_ARTIFACTS")) and text:
    Path(folder, "notes").mkdir()
    Path(folder, "notes", "pair.txt").write_text(text)
    os.symlink("/etc/hostname", Path(folder, "link"))
yield FormPoint(x, claim="stopped")
"""


@pytest.fixture
def kept(strange, write, command):
    """Run two problems with a solver that keeps files, and with one that does not."""
    solver = strange(KEEPING)
    file = write(posing(C=[1, 2], solvers=[solver, "smo"]))
    command("run", file, "--out", "x", "--problem", "C=1")
    return file


def texts(folder):
    """Return the text that each run of a folder has kept, by solver and C."""
    runs = RunFolder(folder)
    files = {run: path / "notes/pair.txt" for run in runs.lines if (path := runs.artifacts(run))}
    rows = runs.results.set_index("run_id")
    assert {Path(folder, "artifacts", run) for run in files} == {*Path(folder).glob("artifacts/*")}
    return {(rows["label"][k], rows["C"][k]): path.read_text() for k, path in files.items()}


@pytest.mark.usefixtures("in_process")
def test_artifacts_survive_resume_merge_and_archive_and_go_with_a_rerun(kept, command, monkeypatch):
    label = "strange.py:Strange"
    assert texts("x") == {(label, 1): "first"}
    monkeypatch.setenv("TEXT", "second")
    command("run", kept, "--out", "x", "--resume")
    both = {(label, 1): "first", (label, 2): "second"}
    assert texts("x") == both
    command("run", kept, "--out", "y", "--solver", "smo", "--set", "C=4")
    assert not Path("y/artifacts").exists()
    command("merge", "x", "y", "--out", "all")
    assert texts("all") == both
    monkeypatch.setattr(archiving, "plot_all", lambda *_: [])
    command("archive", "all")
    with ZipFile("all.zip") as packed:
        packed.extractall("unpacked")
    assert texts("unpacked") == both
    assert not [*Path("unpacked").rglob("link"), *Path("all").rglob("link")]
    monkeypatch.setenv("TEXT", "third")
    command("run", kept, "--out", "x", "--rerun", f"solver:{label}", "--problem", "C=1")
    assert texts("x") == {(label, 1): "third", (label, 2): "second"}
    monkeypatch.setenv("TEXT", "")
    command("run", kept, "--out", "x", "--rerun", f"solver:{label}")
    assert texts("x") == {}
    assert "DUALGAP_ARTIFACTS" not in os.environ


@pytest.mark.usefixtures("short_grace")
def test_a_killed_run_and_a_program_keep_their_files(strange, write, command, tmp_path):
    script = tmp_path / "program.sh"
    script.write_text('#!/bin/sh\nls > "$DUALGAP_ARTIFACTS/files.txt"\nexit 3\n')
    script.chmod(0o755)
    endless = KEEPING.replace("yield", "while True: time.sleep(0.1)\nyield")
    program = f'{{name: program, command: "{script} {{samples}} {{answer}}"}}'
    memory = {"time_limit": 0.1, "memory_limit": "2GiB"}
    text = posing(solvers=[strange(endless), program], **memory)
    command("run", write(text), "--out", "x", code=1)
    runs = RunFolder("x")
    ends = runs.results.set_index("solver")[["run_id", "stop_reason"]].T
    (killed, reason), (ended, failure) = (ends[ends.columns[k]] for k in (0, 1))
    assert {reason, failure} == {"time_limit", "error"}
    kept = {path.name for run in (killed, ended) for path in runs.artifacts(run).iterdir()}
    assert kept == {"notes", "link", "files.txt"}
    assert not [*Path("x").glob("sessions/*/.artifacts")]


@pytest.mark.usefixtures("in_process")
def test_a_link_in_the_place_of_the_folder_is_removed_not_followed(kept, command, tmp_path):
    runs = RunFolder("x")
    folder = next(path for run in runs.lines if (path := runs.artifacts(run)))
    mine = tmp_path / "mine"
    shutil.move(folder, mine)
    folder.symlink_to(mine)
    command("run", kept, "--out", "x", "--rerun", "solver:strange.py:Strange", "--problem", "C=1")
    assert not folder.is_symlink()
    assert (mine / "notes/pair.txt").is_file()
