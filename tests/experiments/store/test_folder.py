import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.experiments.functions import (
    Failing,
    change_session,
    in_this_process,
    log_of,
    posing,
    run_case,
    session_of,
)
from tests.experiments.rows import recorded

from dualgap.experiments import load_results, load_traces
from dualgap.experiments.analysis.results import Results
from dualgap.experiments.cases.plan import plan
from dualgap.experiments.cases.records import failed
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import StoreError, code_version
from dualgap.experiments.store.plan import ResumePolicy
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.store.session import Session
from dualgap.experiments.tables.summary import summarise, to_markdown
from dualgap.problems import RBF

CONTRACT = (  # what scripts outside of the repository read: never change it without them
    "run_id, problem_id, problem_hash, family_hash, formulation, dataset, n, d, kernel, C, epsilon, "
    "lam, solver, params, seed, repetition, target_gap, status, claimed, verdict, reason, objective, "
    "primal_objective, dual_objective, gap, relative_gap, suboptimality, kkt_violation, "
    "violating_pair, primal_residual, dual_residual, complementarity, projection_distance, "
    "bound_source, time_setup, time_solve, cpu_time, peak_rss, iterations, n_kernel_evals, "
    "n_support, n_free, n_bounded, margin, train_accuracy, test_accuracy, threads, signal, host, "
    "versions"
)
NEWER = ["label", "problem", "aa_repeat", "search", "step", "path", "n_answers", "warm_start"]
NEWER += ["tol", "series", "search_setting", "stop_reason", "cpu_frequency", "cpu_throttled"]
TRACE_CONTRACT = "run_id, time, iteration, primal_objective, dual_objective, gap, kkt_violation"
VIEWS = "[soft_margin_dual, soft_margin_primal]"
TEXT = posing(formulation=VIEWS, solvers="[{name: smo, tol: [1e-1, 1e-8]}]")


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "small.yaml"
    path.write_text(TEXT)
    return plan(read_experiment(path))


@pytest.fixture(scope="module")
def ids(cases):
    return [case.run_id for case in cases]


@pytest.fixture(scope="module")
def outcomes(cases):
    """The outcomes of all runs of the plan, of which the last was killed."""
    death = "the process was killed by SIGSEGV"
    return [*map(run_case, cases[:-1]), failed(cases[-1], "crashed", death, signal="SIGSEGV")]


@pytest.fixture(scope="module")
def recorded_folder(outcomes, tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("kept") / "out", outcomes, TEXT)


@pytest.fixture
def folder(recorded_folder, tmp_path):
    """A folder with those runs."""
    return shutil.copytree(recorded_folder, tmp_path / "out")


def resumed(folder, ids, *outcomes):
    """Resume a folder, and record more outcomes."""
    session = Session.begin(folder, TEXT, ids, resume=True)
    for outcome in outcomes:
        session.append(outcome)
    session.close()


def test_an_answer_needed_by_warm_starts_is_stored(outcomes, tmp_path):
    (run_id, other), alpha = (outcome.run_id for outcome in outcomes[:2]), np.arange(3.0)
    folder = recorded(tmp_path / "out", [replace(outcomes[0], answer=alpha)])
    np.testing.assert_array_equal(RunFolder(folder).answer(run_id), alpha)
    path = session_of(folder) / "answers" / f"{run_id}.npy"
    for damaged in (b"damaged", b"", path.read_bytes().replace(b"}", b" ")):
        path.write_bytes(damaged)
        assert RunFolder(folder).answer(run_id) is None
    assert RunFolder(folder).answer(other) is None


def test_results_have_the_columns_of_the_contract_and_newer_ones(folder):
    assert list(load_results(folder).columns) == CONTRACT.split(", ") + NEWER
    assert list(load_traces(folder).columns) == TRACE_CONTRACT.split(", ")
    more = ["n_support", "objective", "relative_gap"]
    assert list(RunFolder(folder).traces.columns) == TRACE_CONTRACT.split(", ") + more


def test_a_killed_run_is_a_row_of_nan(folder):
    row = load_results(folder).iloc[-1]
    assert (row["status"], row["signal"], row["claimed"]) == ("crashed", "SIGSEGV", "none")
    measured = ["objective", "gap", "time_solve", "time_setup", "n_support", "peak_rss"]
    assert row[measured].isna().all()
    assert (row["n"], row["d"]) == (24, 2)  # as the other runs on the same problem say


def test_suboptimality_is_measured_from_the_best_bound_of_all_views(folder):
    results = load_results(folder)
    assert results["family_hash"].nunique() == 1
    best = results["dual_objective"].max()
    expected = results["primal_objective"] - best
    pd.testing.assert_series_equal(results["suboptimality"], expected, check_names=False)
    assert (results["suboptimality"].dropna() >= -1e-12 * abs(best)).all()


def test_rows_are_in_the_order_of_the_plan(tmp_path, cases, ids):
    Session.begin(tmp_path / "out", TEXT, ids).close()
    resumed(tmp_path / "out", ids, *(failed(case, "crashed", "x") for case in reversed(cases)))
    assert load_results(tmp_path / "out")["run_id"].tolist() == ids


def test_planned_runs_that_never_ran_are_not_invented(tmp_path, ids):
    Session.begin(tmp_path / "out", TEXT, ids).close()
    results = load_results(tmp_path / "out")
    assert len(results) == 0
    assert list(results.columns) == CONTRACT.split(", ") + NEWER
    assert len(load_traces(tmp_path / "out")) == 0
    summary = to_markdown(summarise(Results(results)), "x")
    assert RunFolder(tmp_path / "out").write_tables({"summary.md": summary})


def test_a_torn_last_line_loses_only_itself(folder, cases, ids):
    path = log_of(folder)
    path.write_bytes(path.read_bytes()[:-20])
    assert load_results(folder)["run_id"].tolist() == ids[:-1]
    assert set(RunFolder(folder).lines) == set(ids[:-1])
    resumed(folder, ids, run_case(cases[-1]))
    assert load_results(folder)["run_id"].tolist() == ids


def test_a_duplicate_record_counts_once(folder, ids):
    path = log_of(folder)
    path.write_bytes(path.read_bytes() * 2)
    assert load_results(folder)["run_id"].tolist() == ids
    assert load_traces(folder)["run_id"].nunique() == 3


def test_a_folder_in_use_is_refused_without_resume(folder, ids):
    with pytest.raises(StoreError, match="--resume"):
        Session.begin(folder, TEXT, ids)


def test_a_folder_without_results_is_refused(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(StoreError, match="holds no results"):
        Session.begin(tmp_path, TEXT, [], resume=True)
    with pytest.raises(StoreError, match="holds no results"):
        load_results(tmp_path / "nowhere")


def test_resume_starts_in_a_missing_or_empty_folder(tmp_path, ids):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing"):
        session = Session.begin(tmp_path / name, TEXT, ids, resume=True)
        session.close()
        assert json.loads((tmp_path / name / "manifest.json").read_text())["run_ids"] == ids


def test_two_commands_record_runs_in_a_folder_at_once(tmp_path, cases, ids):
    first = Session.begin(tmp_path / "out", TEXT, ids)
    second = Session.begin(tmp_path / "out", TEXT, ids, resume=True)
    for session, case, reason in ((first, 0, "early"), (second, 1, "x"), (first, 1, "y")):
        session.append(failed(cases[case], "crashed", reason))
    assert load_results(tmp_path / "out")["reason"].tolist() == ["early", "x"]
    second.close()
    first.close()
    assert load_results(tmp_path / "out")["reason"].tolist() == ["early", "x"]
    assert len(RunFolder(tmp_path / "out").sessions) == 2


def test_a_session_is_the_last_although_one_before_it_left_no_trace(tmp_path, ids):
    """Else the order of two of the same number is that of random names."""
    out, plan = tmp_path / "out", {"plans": [], "options": [], "folder": ""}
    sessions = [Session.begin(out, TEXT, ids, resume=i > 0, command_info=plan) for i in range(3)]
    sessions[1].close()
    policy = ResumePolicy(force=True)
    sessions[1] = Session.begin(out, TEXT, ids[:1], True, policy, command_info=plan)
    assert max(path for path, _ in RunFolder(out).sessions) == sessions[1].path
    assert RunFolder(out).manifest["run_ids"] == ids[:1]
    names = [path.name[:5] for path, _ in RunFolder(out).sessions]
    assert names == ["00001", "00003", "00004"]
    for session in sessions:
        session.close()


def test_a_session_that_ends_without_a_trace_disturbs_no_reader(folder, monkeypatch):
    """It is removed after its folder was listed."""
    listed = Path.glob

    def glob(path, pattern):
        return [*listed(path, pattern), path / pattern.replace("*", "00002-gone-00000000")]

    before = RunFolder(folder).records()
    monkeypatch.setattr(Path, "glob", glob)
    assert RunFolder(folder).records() == before


def test_a_session_that_recorded_and_planned_nothing_leaves_no_trace(folder, ids):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    resumed(folder, ids)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_sessions_copied_to_another_folder_count_there(folder, cases, tmp_path):
    other = tmp_path / "other"
    session = Session.begin(other, TEXT, [cases[0].run_id])
    session.append(failed(cases[0], "crashed", "x"))
    session.close()
    shutil.rmtree(session_of(folder) / "models", ignore_errors=True)
    (copy,) = (folder / "sessions").iterdir()
    shutil.copytree(copy, other / "sessions" / copy.name)
    assert set(load_results(other)["run_id"]) == set(load_results(folder)["run_id"])
    assert RunFolder(other).missing == 0


def test_lines_changed_by_another_process_are_reported(folder, caplog, ids):
    log = log_of(folder)
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[1:]))
    recorded_now = RunFolder(folder)
    assert set(recorded_now.lines) == set(ids[1:])
    (message,) = caplog.messages
    assert "runs.jsonl: is not as its session left it" in message


def test_a_solver_that_empties_the_log_fails_the_command(command, write):
    def run(case):
        log_of("out").write_bytes(b"")
        return run_case(case)

    with in_this_process(run):
        result = command("run", write(posing(C=[1, 2, 3])), "--out", "out", code=1)
    assert "another process removed 2 runs from" in " ".join(result.output.split())
    assert "--resume" in result.output


def test_a_session_keeps_its_runs_if_a_full_disk_prevents_its_end(
    tmp_path, cases, ids, monkeypatch
):
    session = Session.begin(tmp_path / "out", TEXT, ids)
    session.append(failed(cases[0], "crashed", "x"))
    monkeypatch.setattr(disk, "os", Failing("write", errno.ENOSPC))
    session.close()
    monkeypatch.undo()
    assert set(RunFolder(tmp_path / "out").lines) == {ids[0]}


def test_only_starts_of_killed_sessions_count(tmp_path, cases, ids):
    for number in range(2):
        session = Session.begin(tmp_path / "out", TEXT, ids, resume=True)
        session.log_start(cases[number])
        session.log_start(cases[0])
        session.append(failed(cases[number], "crashed", "x"))
        os.close(session.file)
    session = Session.begin(tmp_path / "out", TEXT, ids, resume=True)
    session.log_start(cases[2])
    session.close()
    assert RunFolder(tmp_path / "out").killed_starts == {ids[0]: 2}


def test_the_later_of_two_runs_of_a_case_counts_and_both_stay_in_the_log(folder, cases, ids):
    log = log_of(folder)
    before = log.read_bytes()
    assert set(RunFolder(folder).lines) == set(ids)
    resumed(folder, ids, run_case(cases[-1]), failed(cases[0], "crashed", "x"))
    results = load_results(folder)
    assert results["run_id"].tolist() == ids
    assert results["status"].tolist() == ["crashed", *["finished"] * 3]
    assert log.read_bytes() == before
    assert RunFolder(folder).model(ids[0]) is None  # it is of the answer that no longer counts
    assert ids[0] not in set(load_traces(folder)["run_id"])


def test_the_output_of_a_run_is_stored(folder, cases, ids):
    resumed(folder, ids, replace(failed(cases[0], "crashed", "x"), output="last\nwords"))
    last = log_of(folder).read_text().splitlines()[-1]
    assert json.loads(last)["output"] == "last\nwords"


CHANGES = {
    "code": ("code", lambda code: code | {"solvers": "0"}, r"other code \(solvers\)"),
    "version": ("versions", lambda v: v | {"numpy": "1.0"}, r"numpy 1.0, now "),
    "package": ("versions", lambda v: v | {"ghost": "1.0"}, r"ghost 1.0, now missing"),
    "no code": ("code", lambda code: {}, r"other code \(problems, solvers, experiments\)"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_resuming_another_plan_is_refused_unless_forced(folder, ids, kind):
    key, change, message = CHANGES[kind]
    path = session_of(folder) / "session.json"
    manifest = json.loads(path.read_text())
    change_session(folder, **{key: change(manifest[key])})
    changed = path.read_bytes()
    with pytest.raises(StoreError, match=message) as refusal:
        Session.begin(folder, TEXT, ids, resume=True)
    assert "--force" in str(refusal.value)
    assert path.read_bytes() == changed
    Session.begin(folder, TEXT, ids, resume=True, policy=ResumePolicy(force=True)).close()
    told_now = json.loads((folder / "manifest.json").read_text())
    assert told_now[key] == manifest[key]
    assert re.search(message, told_now["earlier"][0]["differs"][0])
    Session.begin(folder, TEXT, ids, resume=True).close()  # from now on it is the same


def test_tables_omit_runs_no_longer_planned(folder, ids):
    Session.begin(folder, TEXT, ids[2:], resume=True, policy=ResumePolicy(force=True)).close()
    assert load_results(folder)["run_id"].tolist() == ids[2:]
    assert set(load_traces(folder)["run_id"]) <= set(ids[2:])


@pytest.mark.parametrize("operation", ["write", "fsync"])
def test_a_full_disk_loses_only_the_current_run(folder, cases, ids, monkeypatch, operation):
    session = Session.begin(folder, TEXT, ids, resume=True)
    monkeypatch.setattr(disk, "os", Failing(operation, errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        session.append(failed(cases[0], "crashed", "later"))
    with pytest.raises(OSError, match="No space left"):
        RunFolder(folder).write_tables()
    monkeypatch.undo()
    session.close()
    assert not list(folder.glob(".*"))
    assert not (folder / "runs.csv").exists()
    resumed(folder, ids, failed(cases[1], "crashed", "after"))
    assert load_results(folder)["run_id"].tolist() == ids
    assert load_results(folder)["reason"].iloc[1] == "after"


def test_a_folder_that_is_read_only_is_refused(tmp_path, folder, ids, monkeypatch):
    monkeypatch.setattr(disk, "os", Failing("open", errno.EROFS))
    for out, resume in ((tmp_path / "new", False), (folder, True)):
        with pytest.raises(StoreError, match="cannot be written to: Read-only file system"):
            Session.begin(out, TEXT, ids, resume)


def test_a_clock_set_back_does_not_change_the_order(tmp_path, cases, ids, monkeypatch):
    session = Session.begin(tmp_path / "out", TEXT, ids)
    real = time.time
    for i, reason in enumerate(("first", "second")):
        monkeypatch.setattr(time, "time", lambda i=i: real() - 1e6 * i)
        session.append(failed(cases[0], "crashed", reason))
    session.close()
    assert load_results(tmp_path / "out")["reason"].tolist() == ["second"]


def test_each_package_has_a_hash_of_its_own_source():
    assert {*code_version()} == {"problems", "solvers", "experiments"}
    assert len({*code_version().values()}) == 3


def test_workers_do_not_inherit_the_log(tmp_path, ids):
    session = Session.begin(tmp_path / "out", TEXT, ids)
    assert not os.get_inheritable(session.file)
    session.close()


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_a_death_at_any_operation_on_the_folder_changes_no_table(write, step):
    """At any of them where the step is 1, else at every fortieth, and one of every kind."""
    text = write(posing(solvers="[{name: smo, tol: [1e-1, 1e-8]}]"))
    command = [sys.executable, Path(__file__).parents[1] / "kill_points.py", text, str(step)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    figures = json.loads(process.stdout)
    assert figures["operations"] > 40
    assert figures["deaths"] >= figures["points"] > figures["operations"] / step
    assert set(figures["kinds"]) == {"open", "write", "fsync", "replace", "unlink"}
    assert figures["differing"] == []


def test_a_disk_full_at_the_start_is_not_bad_input(tmp_path, ids, monkeypatch):
    monkeypatch.setattr(disk, "os", Failing("write", errno.ENOSPC))
    with pytest.raises(OSError, match=r"No space left on device"):
        Session.begin(tmp_path / "out", TEXT, ids)


def test_the_answer_of_a_planar_problem_is_read_back(tmp_path, outcomes, case_of):
    other = run_case(case_of())
    folder = recorded(tmp_path / "out", [outcomes[0], other])
    linear, rbf = (RunFolder(folder).model(outcome.run_id) for outcome in (outcomes[0], other))
    assert linear.kinds.shape == rbf.kinds.shape == (24,)
    assert linear.point.w.shape == (2,)
    assert (rbf.point.w, rbf.problem.kernel) == (None, RBF(0.05))
    assert RunFolder(folder).model("nothing") is None


def test_tables_agree_with_the_runs(folder):
    results = load_results(folder)
    RunFolder(folder).write_tables()
    parquet = pd.read_parquet(folder / "runs.parquet")
    pd.testing.assert_frame_equal(parquet, results, check_dtype=False)
    csv = pd.read_csv(folder / "runs.csv")
    assert np.allclose(csv["gap"], results["gap"], equal_nan=True)
    assert list(csv.columns) == list(results.columns.drop("versions"))
    assert not list(folder.glob(".*"))


DAMAGED_LINES = {
    "zeros": b"\0\0\0\0",
    "another encoding": '{"record": {}}'.encode("utf-16"),
    "an id that is a list": b'{"record": {"run_id": [1]}, "trace": []}',
    "text for a record": b'{"record": "run_id", "trace": []}',
    "a number for a trace": b'{"record": {"run_id": "x"}, "trace": 3}',
    "text for a number": b'{"record": {"run_id": "x", "time_solve": "fast"}, "trace": []}',
    "text in a trace": b'{"record": {"run_id": "x"}, "trace": [{"run_id": "x", "time": "t"}]}',
    "numbers for a trace's rows": b'{"record": {"run_id": "x"}, "trace": [1, 2]}',
    "brackets without end": b"[" * 100_000,
}


@pytest.mark.parametrize("line", DAMAGED_LINES.values(), ids=DAMAGED_LINES)
def test_a_damaged_line_is_skipped(folder, ids, line):
    before, traces = load_results(folder), load_traces(folder)
    log = log_of(folder)
    log.write_bytes(log.read_bytes() + line.replace(b'"x"', f'"{ids[0]}"'.encode()) + b"\n")
    assert set(RunFolder(folder).lines) == set(ids)
    pd.testing.assert_frame_equal(load_results(folder), before)
    pd.testing.assert_frame_equal(load_traces(folder), traces)


DAMAGES = [("run_ids", None), ("run_ids", [[1]]), ("run_ids", {"a": 1}), ("code", [])]
DAMAGES += [("versions", 3), ("problems", None), ("name", 3)]


@pytest.mark.parametrize(("name", "value"), DAMAGES)
def test_a_damaged_manifest_is_refused(folder, ids, name, value):
    change_session(folder, **{name: value})
    with pytest.raises(StoreError, match=f"session.json: cannot be read: .*{name}"):
        load_results(folder)
    with pytest.raises(StoreError, match="cannot be read"):
        Session.begin(folder, TEXT, ids, resume=True)


def test_a_damaged_model_is_ignored(folder, ids):
    models = session_of(folder) / "models"
    models.mkdir(exist_ok=True)
    for content in (b"", b"junk", b"PK\3\4junk"):
        (models / f"{ids[0]}.npz").write_bytes(content)
        assert RunFolder(folder).model(ids[0]) is None
