"""Experiments run from Python: what the command does, says and refuses."""

from inspect import signature
from pathlib import Path

import pytest
from tests.experiments.functions import posing

from dualgap import experiments
from dualgap.experiments import from_python
from dualgap.experiments.cli import main
from dualgap.experiments.records import Refusal
from dualgap.experiments.store.manifest import read_manifest
from dualgap.experiments.store.reading import RunFolder

GRID = {
    "name": "small",
    "problems": [
        {
            "formulation": "soft_margin_dual",
            "dataset": {"name": "four_gaussians", "n": 24},
            "C": [1, 1e-6],
        }
    ],
    "solvers": ["smo", {"name": "cvxopt_qp", "label": "Reference"}],
}
pytestmark = pytest.mark.usefixtures("in_process")


def test_a_dict_a_file_and_a_folder_give_the_runs_of_the_command(command, write):
    file = write(posing(C=[1, 1e-6], solvers=["smo", "{name: cvxopt_qp, label: Reference}"]))
    command("run", file, "--out", "a")
    plan = read_manifest(experiments.RunFolder("a").path)["run_ids"]
    for source, out in ((GRID, "b"), (file, "c"), ("b", "d")):
        folder = experiments.run(source, out)
        assert folder.manifest["run_ids"] == plan
        assert folder.manifest["options"] == []
        assert len(folder.results) == 4
        assert (folder.path / "summary.md").is_file()
    command("run", "b", "--out", "b", "--resume")


def test_a_folder_grows_and_a_solver_is_run_again(command):
    first = experiments.run(GRID, "x").results.set_index("run_id")["time_solve"]
    more = GRID | {"solvers": ["smo", "pegasos"]}
    with pytest.raises(Refusal, match="is not empty"):
        experiments.run(more, "x")
    grown = experiments.run(more, "x", rerun=["solver:pegasos"])
    assert grown.results.set_index("run_id")["time_solve"][first.index].equals(first)
    assert len(grown.results) == 6


def test_the_options_of_the_command_are_parameters(command):
    experiment, *options = signature(experiments.run).parameters
    shared = {option.name for option in main.commands["run"].params} & {*options}
    assert experiment == "experiment"
    assert shared == {*options}
    with pytest.raises(TypeError, match="'extend'"):
        experiments.run(GRID, "x", extend=True)


def test_folders_are_merged_as_by_the_command(command):
    smo = experiments.run(GRID | {"solvers": ["smo"]}, "a")
    reference = experiments.run(GRID | {"solvers": ["cvxopt_qp"]}, "b")
    command("merge", "a", "b", "--out", "all")
    merged = RunFolder.merge([smo, reference.path, "b"], "both")
    assert merged.missing == 0
    assert len(merged.results) == 4
    for name in ("runs.csv", "runs.parquet", "datapackage.json", "manifest.json"):
        assert Path("both", name).read_bytes() == Path("all", name).read_bytes()
    with pytest.raises(Refusal, match="both: exists already"):
        RunFolder.merge([smo], "both")
    again = experiments.run(GRID | {"solvers": ["smo"]}, "again")
    with pytest.raises(Refusal, match=r"again: the run of smo .* differs from that in a"):
        RunFolder.merge([smo, again], "never")
    assert not Path("never").exists()


def test_a_notebook_shows_a_folder(command):
    page = experiments.run(GRID, "x")._repr_html_()
    for text in ("Experiment small", ">4 on 2 problems<", ">smo<", ">Reference<", "2 solved"):
        assert text in page
    assert ">missing<" not in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": 1}, "solver: unknown key 'solver'; did you mean 'solvers'?"),
        ({"solvers": ["smo", "smoo"]}, "solvers.1: unknown solver 'smoo'; did you mean 'smo'?"),
        ({"solvers": [{"name": "smo", "tol": [1, -1]}]}, "solvers.0.tol.1: smo: tol: must be"),
        ({"solvers": ["smo", "smo"]}, "solvers.1: repeats the case of solvers.0"),
        ({1: 2}, "experiment: the key 1 is a int"),
        ({"seed": range(3)}, "experiment: cannot represent an object: range"),
    ],
)
def test_a_fault_of_a_dict_is_reported_by_its_path(command, change, message):
    with pytest.raises(Refusal) as refused:
        experiments.run(GRID | change, "x")
    assert str(refused.value).startswith(message)
    assert not experiments.RunFolder("x").path.exists()


def test_incomplete_runs_and_interrupts_raise(command, monkeypatch):
    really = from_python.run_missing
    for why, error in (("stopped: no disk", RuntimeError), ("interrupted", KeyboardInterrupt)):
        monkeypatch.setattr(from_python, "run_missing", lambda *a, why=why: (really(*a)[0], why))
        with pytest.raises(error):
            experiments.run(GRID, "x", resume=True)


def test_a_name_of_several_experiments_is_refused(command):
    with pytest.raises(Refusal, match="notes is a folder of several experiments"):
        experiments.run("notes")
