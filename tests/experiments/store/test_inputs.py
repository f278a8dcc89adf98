"""No row of a file that an experiment names, and that changed, stands beside those of the new one."""

import gzip
import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from tests.experiments.functions import in_this_process, log_of, posing

from dualgap.experiments import load_results
from dualgap.experiments.cli import main
from dualgap.experiments.files.specs import SolverSpec
from dualgap.experiments.store.inputs import input_files

TEXT = """\
name: files
repetitions: 2
problems:
  - formulation: soft_margin_dual
    dataset:
      - {name: table_file, path: mine.csv, target: label}
      - {name: four_gaussians, n: 24}
solvers: [smo]
"""


def write_table(folder, factor=1.0, end=""):
    rng = np.random.default_rng(0)
    rows = [
        f"{factor * a:.6f},{b:.6f},{(-1) ** i}" for i, (a, b) in enumerate(rng.normal(size=(20, 2)))
    ]
    (folder / "mine.csv").write_text("a,b,label\n" + "\n".join(rows) + "\n" + end)


@pytest.fixture(scope="module")
def killed_run(tmp_path_factory):
    """A folder with an experiment and its results, of which one run is missing, as after a kill."""
    folder = tmp_path_factory.mktemp("killed")
    write_table(folder)
    (folder / "small.yaml").write_text(TEXT)
    arguments = ["run", str(folder / "small.yaml"), "--out", str(folder / "out")]
    with in_this_process():
        assert CliRunner().invoke(main, arguments).exit_code == 0
    log = log_of(folder / "out")
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    return folder


@pytest.fixture
def killed(killed_run, tmp_path, in_process):
    """The experiment's file in a copy of that folder."""
    shutil.copytree(killed_run, tmp_path, dirs_exist_ok=True)
    return tmp_path / "small.yaml"


def test_a_folder_is_resumed_from_its_sessions_alone(command, killed, tmp_path):
    """As a command leaves it that was killed as it began; relative paths begin where they did."""
    for name in ("experiment.yaml", "manifest.json"):
        (tmp_path / "out" / name).unlink()
    command("run", "out", "--out", "out", "--resume")
    assert len(load_results(tmp_path / "out")) == 4


def test_changed_data_are_refused_and_forced_to_start_again(command, killed, tmp_path):
    before = load_results(tmp_path / "out")
    write_table(tmp_path, factor=2.0)
    manifest = (tmp_path / "out" / "manifest.json").read_bytes()
    refused = command("run", killed, "--out", "out", "--resume", code=2)
    assert "other content of mine.csv" in refused.output
    assert "add --force" in refused.output
    assert "restart the 2 of 4 runs that use it" in refused.output
    assert (tmp_path / "out" / "manifest.json").read_bytes() == manifest
    command("run", killed, "--out", "out", "--resume", "--force")
    after = load_results(tmp_path / "out")
    assert len(after) == 4
    hashes = after.groupby("problem_id")["problem_hash"]
    assert (hashes.nunique() == 1).all()
    old = set(before["problem_hash"][before["dataset"] == "mine.csv"])
    assert old.isdisjoint(after["problem_hash"])
    rows_stay = before["dataset"] == "four_gaussians"  # does not use the file: its rows stay
    times = after.set_index("run_id")["time_solve"]
    assert (
        times[before["run_id"][rows_stay]].to_numpy() == before["time_solve"][rows_stay].to_numpy()
    ).all()
    command("run", killed, "--out", "out", "--resume")


def test_runs_of_changed_data_are_missing_until_they_ran_again(
    command, killed, tmp_path, monkeypatch
):
    write_table(tmp_path, factor=2.0)
    monkeypatch.setattr("dualgap.experiments.operations.run._run", lambda *_: "interrupted")
    command("run", killed, "--out", "out", "--resume", "--force", code=130)
    assert set(load_results(tmp_path / "out")["dataset"]) == {"four_gaussians"}


@pytest.mark.parametrize(
    "write_anew", [lambda f: write_table(f, end="\n\n"), lambda f: os.utime(f / "mine.csv")]
)
def test_a_file_that_is_parsed_equally_has_not_changed(command, killed, tmp_path, write_anew):
    write_anew(tmp_path)
    command("run", killed, "--out", "out", "--resume")


def test_recompressed_data_have_not_changed(tmp_path, planned):
    text = TEXT.replace("mine.csv", "mine.csv.gz")
    checksums = []
    for level in (1, 9):
        write_table(tmp_path)
        content = (tmp_path / "mine.csv").read_bytes()
        (tmp_path / "mine.csv.gz").write_bytes(gzip.compress(content, level))
        (file,) = input_files(planned(text)).values()
        checksums.append(file.checksums())
    assert checksums[0]["bytes"] != checksums[1]["bytes"]
    assert checksums[0]["content"] == checksums[1]["content"]
    assert file.checksums(checksums[0]) == checksums[0]


def test_every_file_that_a_case_names_counts(write, case_of, tmp_path):
    """Those of options of data sets and settings too, at any depth, but no other text."""
    (tmp_path / "test.txt").write_text("1 1:2\n")
    (tmp_path / "rbf").write_text("no kernel")
    (tmp_path / "ours.py").write_text("a = 1")
    case = case_of()
    case.problem.dataset.update(path_test="test.txt", positive="spam")
    case.solver.settings["kernel"] = {"name": "ours.py:Kernel", "files": ["test.txt"]}
    files = input_files([case])
    assert {name: (file.is_code, file.run_ids) for name, file in files.items()} == {
        "ours.py:Kernel": (True, [case.run_id]),
        "test.txt": (False, [case.run_id]),
    }


def test_every_file_of_samples_in_blocks_counts(planned, tmp_path):
    """By a pattern or a folder, with the labels and weights that lie beside the arrays of samples."""
    (tmp_path / "parts").mkdir()
    names = ["X_0.npy", "y_0.npy", "X_1.npy", "y_1.npy", "weight_1.npy"]
    for name in names:
        np.save(tmp_path / "parts" / name, np.ones((2, 1) if name[0] == "X" else 2))
    for path in ("parts", "parts/X_*.npy"):
        dataset = f"{{name: blocks, path: '{path}'}}"
        text = posing(formulation="soft_margin_primal", dataset=dataset, C=1, solvers=["near_rows"])
        files = input_files(planned(text))
        assert sorted(files) == sorted(f"parts/{name}" for name in names)
        assert all(file.checksums()["bytes"] for file in files.values())


def test_the_scripts_of_a_program_count(case_of, tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/a.sh").write_text("exit 1\n")
    (tmp_path / "b.sh").write_text("exit 2\n")
    case = case_of()
    settings = {"command": "sh {folder}/a.sh b.sh {answer}", "folder": "scripts"}
    case = replace(case, solver=SolverSpec("program", settings))
    assert list(input_files([case])) == ["scripts/a.sh"]


def test_the_manifest_keeps_checksums_and_no_absolute_path(command, killed, tmp_path):
    data = json.loads((tmp_path / "out" / "manifest.json").read_text())["data"]
    assert set(data) == {"mine.csv"}
    assert set(map(len, data["mine.csv"].values())) == {64}
