"""Folders that grow, are run again in part, and are put together."""

import json
import shutil

import numpy as np
import pytest
from tests.experiments.functions import change_session, log_of, posing, session_of

from dualgap.experiments import load_results
from dualgap.experiments.store.manifest import LOG, read_manifest
from dualgap.experiments.store.reading import RunFolder

TEXT = posing(C=[1, 2], solvers=["smo", "cvxopt_qp"])
pytestmark = pytest.mark.usefixtures("in_process")


def with_other_code(folder):
    """Let the manifest of a folder name other code of the solvers."""
    code = read_manifest(folder)["code"]
    change_session(folder, code=code | {"solvers": "0"})


def ids(folder):
    run_ids = load_results(folder)["run_id"].tolist()
    assert len(run_ids) == len(set(run_ids))
    return set(run_ids)


def test_resume_runs_new_cases_and_keeps_recorded_ones(command, finished):
    file = finished(TEXT)
    before = load_results("x")
    result = command("run", file, "--out", "x", "--set", "C=2,4", "--resume")
    assert "2/2" in result.output
    assert "x also keeps 2 runs that are not in this plan." in result.output
    after = load_results("x")
    assert after["C"].tolist() == [1, 1, 2, 2, 4, 4]
    times = after.set_index("run_id")["time_solve"]
    assert times[before["run_id"]].tolist() == before["time_solve"].tolist()
    command("run", file, "--out", "x", "--resume")
    assert load_results("x").equals(after)


@pytest.mark.exhaustive
def test_problems_keep_their_names_in_a_folder_that_grows(command, finished, write):
    finished(TEXT)
    command("run", write(TEXT), "--out", "x", "--set", "n=24,30", "--resume", code=2)
    sizes = ("--set", "problems.0.dataset.n=24,30", "--set", "solvers.0.tol=1e-4")
    command("run", write(TEXT), "--out", "x", *sizes, "--resume")
    results = load_results("x")
    assert len(results) == 4 + 6
    hashes = results.groupby("problem_id")["problem_hash"].nunique()
    assert hashes.tolist() == [1] * 4
    assert results.groupby("problem_hash")["problem_id"].nunique().tolist() == [1] * 4
    sized = results["problem"].map(lambda text: json.loads(text)["dataset"]["n"])
    assert sized.tolist() == results["n"].tolist()


def test_paths_of_new_cases_are_relative_to_the_original_folder(command, tmp_path):
    for location in ("a", "b"):
        (tmp_path / location).mkdir()
        (tmp_path / location / "mine.csv").write_text("a,label\n1,1\n2,1\n-1,-1\n-2,-1\n")
    for location, C in (("a", 1), ("b", 2), ("a", 4)):
        dataset = "{name: table_file, path: mine.csv, target: label}"
        (tmp_path / location / f"{C}.yaml").write_text(posing(dataset=dataset, C=C))
    command("run", "a/1.yaml", "--out", "x")
    refusal = command("run", "b/2.yaml", "--out", "x", "--resume", code=2).output
    assert "relative paths of its runs begin in" in refusal
    command("run", "a/4.yaml", "--out", "x", "--resume")


def test_other_code_is_not_extended(command, finished, write, tmp_path):
    finished(TEXT)
    with_other_code(tmp_path / "x")
    refused = command("run", write(TEXT), "--out", "x", "--set", "C=8", "--resume", code=2)
    assert "other code (solvers); new runs would not be comparable" in refused.output


def test_a_solver_of_a_new_file_extends_a_folder_and_one_of_a_changed_file_does_not(
    command, finished, write, strange
):
    name = strange("yield FormPoint(x)")
    finished(TEXT)
    command("run", write(posing(C=[1, 2], solvers=[f'"{name}"'])), "--out", "x", "--resume")
    assert len(ids("x")) == 6
    strange("yield FormPoint(x + 0.0)")
    file = write(posing(C=4, solvers=[f'"{name}"']))
    refused = command("run", file, "--out", "x", "--resume", code=2)
    assert "other code (strange.py); new runs would not be comparable" in refused.output


def test_a_solver_is_run_again_and_a_kill_leaves_its_runs_to_be_resumed(
    command, finished, tmp_path
):
    file = finished(TEXT)
    before = load_results("x").set_index("run_id")
    result = command("run", file, "--out", "x", "--rerun", "solver:smo")
    assert "2/2" in result.output
    log = log_of("x")
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    assert RunFolder("x").missing == 1
    command("run", file, "--out", "x", "--resume")
    after = load_results("x").set_index("run_id")
    same = after["time_solve"].eq(before["time_solve"].reindex(after.index))
    assert same[after["solver"] == "cvxopt_qp"].all()
    assert not same[after["solver"] == "smo"].any()
    unknown = command("run", file, "--out", "x", "--rerun", "solver:sma", code=2)
    assert "--rerun: 'sma' selects nothing; available, closest first: 'smo'" in unknown.output


def test_only_runs_of_a_solver_whose_file_has_changed_are_repeated(command, write, strange):
    name = strange("yield FormPoint(x)")
    file = write(posing(C=[1, 2], solvers=["smo", name]))
    command("run", file, "--out", "x")
    for term, options in (("0", ("--rerun", f"solver:{name}")), ("0.0", ("--resume", "--force"))):
        before = load_results("x").set_index("run_id")
        strange(f"yield FormPoint(x + {term})")
        refused = command("run", file, "--out", "x", "--resume", code=2)
        assert "other code (strange.py)" in refused.output
        assert "the 2 of 4 runs" in refused.output
        command("run", file, "--out", "x", *options)
        after = load_results("x").set_index("run_id")["time_solve"].reindex(before.index)
        assert ((after == before["time_solve"]) == (before["solver"] == "smo")).all()


PROGRAM = "{name: program, label: mine, command: 'cp {folder}/mine.npz {answer}', answer: npz}"


def test_a_program_whose_files_have_changed_is_run_again(command, write, tmp_path):
    np.savez(tmp_path / "mine.npz", alpha=np.zeros(24))
    file = write(posing(C=[1, 2], solvers=["smo", PROGRAM]))
    command("run", file, "--out", "x")
    np.savez(tmp_path / "mine.npz", alpha=np.full(24, 1e-3))
    refused = command("run", file, "--out", "x", "--resume", code=2).output
    assert "other content of " in refused
    again = ["run", file, "--out", "x", "--rerun", "solver:mine"]
    part = command(*again, "--problem", "C=1", code=2)
    assert part.output == refused  # the run with C=2 has used the file as well
    assert "other content of " in command(*again, "--set", "C=1,4", code=2).output
    assert "2/2" in command(*again).output
    assert "1/" not in command("run", file, "--out", "x", "--resume").output
    assert len(ids("x")) == 4


def test_a_rerun_on_selected_problems_keeps_the_plan_of_the_folder(command, finished):
    file = finished(TEXT)
    before = load_results("x").set_index("run_id")
    for experiment in (file, "x"):
        result = command(
            "run", experiment, "--out", "x", "--rerun", "solver:smo", "--problem", "C=2"
        )
        assert "1/1" in result.output
    after = load_results("x").set_index("run_id").reindex(before.index)
    again = after["time_solve"] != before["time_solve"]
    assert again.tolist() == ((after["solver"] == "smo") & (after["C"] == 2)).tolist()
    command("run", file, "--out", "x", "--resume")
    assert "runs 4" in " ".join(command("run", "x", "--dry-run").output.split())


def test_merged_folders_have_each_run_once_with_its_host(command, write, tmp_path):
    file = write(TEXT)
    command("run", file, "--out", "a", "--solver", "smo")
    command("run", file, "--out", "b", "--set", "problems.0.dataset.n=30")
    shutil.copytree("a", "c")
    result = command("merge", "a", "b", "c", "--out", "all")
    assert "all/summary.md" in result.output
    assert ids("all") == ids("a") | ids("b")
    assert load_results("all")["problem_id"].nunique() == 4
    assert RunFolder("all").missing == 0
    for folder in "ab":
        both = load_results("all").merge(load_results(folder), on="run_id")
        assert both["time_solve_x"].equals(both["time_solve_y"])
        assert both["problem_hash_x"].equals(both["problem_hash_y"])
    command("run", "all", "--out", "again")
    assert ids("again") == ids("all")
    assert [*(tmp_path / "all").glob("sessions/*/models")]


def test_conflicting_records_of_two_folders_are_refused_by_name(command, finished, write):
    finished(TEXT, "a")
    command("run", write(TEXT), "--out", "b")
    refused = command("merge", "a", "b", "--out", "all", code=2)
    assert "b: the run of " in refused.output
    assert "four_gaussians soft_margin_dual" in refused.output
    assert "differs from that in a" in refused.output
    assert not RunFolder("all").path.exists()


def test_folders_with_other_code_are_merged_when_forced(command, write, tmp_path):
    command("run", write(TEXT), "--out", "a", "--solver", "smo")
    command("run", write(TEXT), "--out", "b", "--solver", "cvxopt_qp")
    with_other_code(tmp_path / "b")
    refused = command("merge", "a", "b", "--out", "all", code=2)
    assert "b: was run with other code (solvers) than a" in refused.output
    command("merge", "a", "b", "--out", "all", "--force")
    assert read_manifest(tmp_path / "all")["earlier"][0]["differs"] == [
        "a plan without the last 2 of these runs",
        "other code (solvers)",
    ]
    command("merge", "a", "b", "--out", "all", "--force", code=2)


@pytest.mark.parametrize("location", ["manifest", "record"])
def test_a_run_id_that_is_a_path_is_not_followed(command, finished, tmp_path, location):
    finished(TEXT, "mine")
    finished(posing(C=8), "strange")
    victim = tmp_path / "victim.npz"
    victim.write_bytes(b"mine")
    session = session_of("strange")
    (run_id,) = read_manifest(tmp_path / "strange")["run_ids"]
    hostile = f"{run_id}-00/../../../victim"
    shutil.copy(session / f"models/{run_id}.npz", session / "victim.npz")
    line = json.loads((session / LOG).read_text())
    line["record"]["run_id"] = hostile
    (session / LOG).write_text(json.dumps(line) + "\n")
    change_session("strange", run_ids=[hostile if location == "manifest" else run_id])
    result = command(
        "merge", "mine", "strange", "--out", "all", code=2 if location == "manifest" else 0
    )
    if location == "manifest":
        refusal = f"run_ids.0: {hostile!r} is not one part of a path"
        assert refusal in result.output or "'..'" in result.output
    else:
        assert ids("all") == ids("mine")
    assert victim.read_bytes() == b"mine"
