"""An archive describes all that it holds, and is run again elsewhere from itself alone."""

import errno
import hashlib
import os
import shutil
from pathlib import Path
from zipfile import ZipFile

import pytest
from click.testing import CliRunner
from tests.experiments.functions import Failing, in_this_process, posing

from dualgap.experiments.cli import main
from dualgap.experiments.operations import archive
from dualgap.experiments.store import disk
from dualgap.experiments.store.reading import RunFolder

TABLE = "a,b,label\n1,2,1\n2,1.5,1\n0.3,1,1\n-1,-1,-1\n-2,-1.3,-1\n-0.3,-0.2,-1\n"


@pytest.fixture
def no_figures(monkeypatch):
    """Draw nothing, as that takes most of the time."""
    monkeypatch.setattr(archive, "plot_all", lambda *_: [])


@pytest.fixture(scope="module")
def archive_file(describer, tmp_path_factory):
    """An archive of a folder that has grown and reads a file."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "mine.csv").write_text(TABLE)
    dataset = "{name: table_file, path: ./mine.csv, target: label}"
    (folder / "small.yaml").write_text(posing(dataset=dataset, C=[1, 2]))
    jobs = folder / "x" / "jobs"  # of SLURM
    run = ["run", "small.yaml", "--out", "x"]
    with pytest.MonkeyPatch.context() as patch, in_this_process(describer=describer):
        patch.chdir(folder)
        patch.setattr(archive, "plot_all", lambda *_: [])
        for arguments in (run, [*run, "--set", "C=4", "--resume"], ["archive", "x"]):
            result = CliRunner().invoke(main, arguments)
            assert result.exit_code == 0, result.output
            jobs.mkdir(exist_ok=True)
            (jobs / "1_1.log").write_text("log")
    return folder / "x.zip"


@pytest.fixture
def archived(archive_file, in_process, no_figures, tmp_path):
    """That archive, where neither its folder nor the file is."""
    return Path(shutil.copy(archive_file, tmp_path))


def test_archive_has_a_checksum_of_each_file(archived):
    with ZipFile(archived) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    assert {"inputs/mine.csv", "experiment.yaml", "datapackage.json"} <= content.keys()
    assert sum(name.endswith("/runs.jsonl") for name in content) == 2
    assert b"numpy==" in content["environment.txt"]
    assert not any(name.startswith("jobs/") for name in content)
    lines = content["checksums.sha256"].decode().splitlines()
    checksums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    assert checksums.keys() == content.keys() - {"checksums.sha256"}
    assert all(hashlib.sha256(content[name]).hexdigest() == checksums[name] for name in checksums)


def test_an_archive_alone_suffices_to_repeat_its_runs(command, archived):
    printed = command("run", archived, "--check", "--out", "again")
    assert "nothing became wrong, unsolved or broken: 3 " in printed.output.replace("\n", " ")
    assert len(RunFolder("again").results) == 3


@pytest.mark.exhaustive
def test_an_unpacked_archive_may_be_archived_again(command, archived):
    shutil.unpack_archive(archived, "unpacked")
    command("archive", "unpacked", "--out", "second.zip")
    assert "nothing became wrong" in command("run", "second.zip", "--check").output


def test_damaged_and_foreign_archives_are_refused(command, archived, tmp_path):
    with ZipFile(archived) as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
    with ZipFile(tmp_path / "bad.zip", "w") as packed:
        for name, each in (content | {"inputs/mine.csv": b"a,b,label\n"}).items():
            packed.writestr(name, each)
    refused = command("run", "bad.zip", "--check", code=2).output
    assert "inputs/mine.csv in bad.zip differs from" in refused
    (tmp_path / "none.zip").write_text("none")
    assert "is not an archive" in command("run", "none.zip", "--check", code=2).output
    assert "Use --check with an archive" in command("run", archived, code=2).output


def test_a_full_disk_does_not_damage_an_existing_archive(command, archived, monkeypatch):
    shutil.unpack_archive(archived, "unpacked")
    before = archived.read_bytes()
    monkeypatch.setattr(disk, "os", Failing("write", errno.ENOSPC))
    assert "Cannot write" in command("archive", "unpacked", "--out", archived, code=1).output
    assert archived.read_bytes() == before


def test_an_archive_has_the_inputs_of_the_runs_and_lists_omissions(
    command, write, in_process, no_figures, tmp_path
):
    (tmp_path / "environment.txt").write_text(TABLE)
    dataset = "{name: table_file, path: ./environment.txt, target: label}"
    command("run", write(posing(dataset=dataset)), "--out", "x")
    (tmp_path / "x/.hidden").mkdir()
    (tmp_path / "x/.hidden/token").write_text("secret")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "x/linked").symlink_to(tmp_path / "secret")
    (tmp_path / "x/linked_folder").symlink_to(tmp_path)
    (tmp_path / "x/program").write_text("#!/bin/sh\n")
    (tmp_path / "x/program").chmod(0o755)
    for name in ("loss:1.txt", os.fsdecode(b"\xff.txt")):  # a solver may keep any
        (tmp_path / "x" / name).write_text("kept")
    printed = command("archive", "x").output
    left_out = "'.hidden/token', 'linked', 'linked_folder', 'loss:1.txt', '\\udcff.txt'"
    assert f"that no archive may have are left out: {left_out}" in printed
    with ZipFile("x.zip") as packed:
        content = {name: packed.read(name) for name in packed.namelist()}
        assert packed.getinfo("program").external_attr >> 16 & 0o777 == 0o755
    assert b"secret" not in content.values()
    assert content["inputs/environment.txt"] == TABLE.encode()
    assert b"numpy==" in content["environment.txt"]
    assert not any("hidden" in name or "linked" in name for name in content)
    (tmp_path / "environment.txt").unlink()
    command("run", "x.zip", "--check")


def test_files_that_changed_after_the_runs_are_not_archived(
    command, write, in_process, no_figures, strange, tmp_path
):
    (tmp_path / "mine.csv").write_text(TABLE)
    solver = strange()
    text = posing(
        dataset="{name: table_file, path: ./mine.csv, target: label}",
        solvers=["smo", solver.replace(str(tmp_path), ".")],
    )
    command("run", write(text), "--out", "x")
    command("archive", "x", "--out", "x.zip")
    before = (tmp_path / "x.zip").read_bytes()
    strange("yield FormPoint(x + 0)")
    refused = command("archive", "x", "--out", "x.zip", code=2).output
    assert "./strange.py:Strange has changed since the runs of" in refused
    strange()
    (tmp_path / "mine.csv").write_text(TABLE.replace("1.5", "1.6"))
    refused = command("archive", "x", "--out", "x.zip", code=2).output
    assert "./mine.csv has changed since the runs of" in refused
    assert (tmp_path / "x.zip").read_bytes() == before


def test_an_archive_has_complete_figures_after_a_kill(
    command, finished, in_process, monkeypatch, tmp_path
):
    def draw(folder, names, out):
        (out / "gap.svg").write_text("whole")
        return [out / "gap.svg"]

    monkeypatch.setattr(archive, "plot_all", draw)
    finished()
    (tmp_path / "x/figures").mkdir()
    (tmp_path / "x/figures/gap.svg").write_text("ha")
    command("archive", "x")
    with ZipFile("x.zip") as packed:
        assert packed.read("figures/gap.svg") == b"whole"
    assert (tmp_path / "x/figures/gap.svg").read_text() == "ha"


def test_a_program_of_an_archive_runs_in_its_check(
    command, write, in_process, no_figures, tmp_path
):
    (tmp_path / "mine").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "mine").chmod(0o755)
    entry = "{name: program, label: mine, command: '{folder}/mine', folder: ., answer: npz}"
    command("run", write(posing(solvers=[entry])), "--out", "x", code=1)
    command("archive", "x")
    (tmp_path / "mine").unlink()
    assert "nothing became wrong" in command("run", "x.zip", "--check").output
