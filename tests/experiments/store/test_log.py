"""Lines of the log count if a command wrote them, whatever a solver does to the file in the meantime."""

import json
import os
import signal
from dataclasses import replace

import pytest
from tests.experiments.functions import in_this_process, posing, run_case

from dualgap.experiments import load_results
from dualgap.experiments.cases.records import failed
from dualgap.experiments.store.folder import Store
from dualgap.experiments.store.reading import RunFolder

TEXT = posing(C=[1, 2, 3])
FORGED = "x"


@pytest.fixture
def cases(planned):
    return planned(TEXT)


@pytest.fixture
def store(tmp_path, cases):
    """An open folder with two of three runs."""
    opened = opened_by(tmp_path, cases)
    for case in cases[:2]:
        opened.append(failed(case, "crashed", "own"))
    return opened


def opened_by(tmp_path, cases, **options):
    return Store.open(tmp_path / "out", TEXT, [case.run_id for case in cases], **options)


def forged(log, number, case):
    """Return a line of a log with the record of another run, and whatever seal it had."""
    content = json.loads(log.splitlines()[number])
    content["record"] |= {"run_id": case.run_id, "reason": FORGED, "status": "finished"}
    return json.dumps(content).encode() + b"\n"


APPENDED = {  # what becomes of a log
    "for another": lambda log, cases: log + forged(log, 0, cases[2]),
    "for itself": lambda log, cases: log + forged(log, 1, cases[1]),
    "without an end": lambda log, cases: log + forged(log, 1, cases[2])[:-1],
}
ATTACKS = APPENDED | {
    "altered": lambda log, _: log.replace(b'"own"', b'"%s"' % FORGED.encode(), 1),
    "repeated": lambda log, _: log + log.splitlines(keepends=True)[0],
    "in another file": APPENDED["for another"],
}


def attack(log, kind, cases):
    content = log.read_bytes()
    if kind == "in another file":
        log.unlink()
    log.write_bytes(ATTACKS[kind](content, cases))


@pytest.mark.parametrize("kind", ATTACKS)
def test_what_a_solver_does_to_the_log_of_a_run_is_left_out_with_a_warning(
    store, cases, kind, caplog
):
    attack(store.folder / "runs.jsonl", kind, cases)
    store.append(failed(cases[2], "crashed", "own"))
    store.close()
    assert set(load_results(store.folder)["reason"]) == {"own"}
    (message,) = caplog.messages
    assert "runs.jsonl: 1 line is ignored" in message
    run_ids = set(RunFolder(store.folder).lines)
    lost = {"altered": {cases[0].run_id}, "in another file": {cases[2].run_id}}
    assert {case.run_id for case in cases} - run_ids == lost.get(kind, set())


@pytest.mark.parametrize("kind", APPENDED)
def test_nothing_that_was_appended_before_a_kill_counts(tmp_path, cases, kind, caplog):
    pid = os.fork()
    if pid == 0:
        opened = opened_by(tmp_path, cases)
        for case in cases[:2]:
            opened.append(failed(case, "crashed", "own"))
        attack(opened.folder / "runs.jsonl", kind, cases)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    for resumed in range(2):
        run_folder = RunFolder(tmp_path / "out")
        assert {r["reason"] for r in run_folder.records().values()} == {"own"}
        assert set(run_folder.lines) == {case.run_id for case in cases[: 2 + resumed]}
        if not resumed:
            again = opened_by(tmp_path, cases, resume=True)
            again.append(failed(cases[2], "crashed", "own"))
            again.close()
    assert all("1 line is ignored" in message for message in caplog.messages)


@pytest.mark.parametrize("part", ["record", "trace", "path"])
def test_a_word_for_a_number_costs_one_line_of_a_killed_session(store, cases, tmp_path, part):
    log = tmp_path / "out" / "runs.jsonl"
    first, *later_lines = log.read_bytes().splitlines(keepends=True)
    row, name = {"run_id": cases[0].run_id}, "n_support" if part == "path" else "gap"
    content = json.loads(first)
    seal = content.pop("seal")
    changed = {"record": content["record"] | {name: "x"}, "trace": [row | {name: "x"}]}
    content |= {part: changed.get(part, [row | {name: "x"}]), "seal": seal}
    log.write_bytes(b"".join([json.dumps(content).encode() + b"\n", *later_lines]))
    assert set(RunFolder(tmp_path / "out").lines) == {cases[1].run_id}
    assert len(load_results(tmp_path / "out")) == 1


def test_lines_appended_after_a_command_has_ended_do_not_count(store, cases, tmp_path):
    store.close()
    attack(store.folder / "runs.jsonl", "for another", cases)
    assert len(load_results(store.folder)) == 2
    again = opened_by(tmp_path, cases, resume=True)
    assert cases[2].run_id not in RunFolder(store.folder).lines
    again.append(failed(cases[2], "crashed", "own"))
    again.close()
    assert load_results(store.folder)["reason"].tolist() == ["own"] * 3


def test_a_log_that_no_one_else_wrote_to_is_read_without_a_word(tmp_path, store, cases, caplog):
    store.close()
    again = opened_by(tmp_path, cases, resume=True)
    again.append(failed(cases[2], "crashed", "own"))
    again.append(failed(cases[0], "crashed", "later"))
    again.close()
    run_folder = RunFolder(store.folder)
    assert load_results(store.folder)["reason"].tolist() == ["later", "own", "own"]
    assert (run_folder.lost, caplog.messages) == (0, [])


def test_runs_that_a_solver_removed_are_known_to_be_lost(store, cases):
    log = store.folder / "runs.jsonl"
    log.write_bytes(b"")
    store.append(failed(cases[2], "crashed", "own"))
    store.close()
    assert RunFolder(store.folder).lost == 2
    assert set(RunFolder(store.folder).lines) == {cases[2].run_id}


def test_a_session_whose_end_is_not_on_a_full_disk_keeps_its_runs(store, cases, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dualgap.experiments.store.disk.replace", full)
    store.close()
    assert len(RunFolder(store.folder).lines) == 2


def test_a_solver_that_writes_into_the_log_gains_nothing(command, write, tmp_path, caplog):
    """It repeats each line that it finds, for every run, as solved."""
    out = tmp_path / "out"

    def run(case):
        ids = json.loads((out / "manifest.json").read_text())["run_ids"]
        lines = list(map(json.loads, (out / "runs.jsonl").read_text().splitlines()))
        copies = [
            line | {"record": line["record"] | {"run_id": run_id, "reason": "forged"}}
            for line in lines
            for run_id in ids
        ]
        with (out / "runs.jsonl").open("a") as log:
            log.writelines(json.dumps(line) + "\n" for line in copies)
        return run_case(case)

    with in_this_process(run):
        command("run", write(TEXT), "--out", out)
    assert "forged" in (out / "runs.jsonl").read_text()
    assert "lines are ignored" in caplog.text
    results = load_results(out)
    assert len(results) == 3
    assert set(results["reason"]) == {""}
    assert "forged" not in (out / "runs.csv").read_text()


def test_a_solver_that_empties_the_log_fails_the_command(command, write, tmp_path):
    def run(case):
        (tmp_path / "out" / "runs.jsonl").write_bytes(b"")
        return run_case(case)

    with in_this_process(run):
        result = command("run", write(TEXT), "--out", "out", code=1)
    assert "another process removed" in result.output
    assert "--resume" in result.output


def test_a_seal_is_of_one_session(store, cases, tmp_path):
    """A line of an ended session does not count again in a later one."""
    store.append(replace(failed(cases[2], "crashed", "early")))
    store.close()
    again = opened_by(tmp_path, cases, resume=True)
    again.append(failed(cases[2], "crashed", "own"))
    log = store.folder / "runs.jsonl"
    log.write_bytes(log.read_bytes() + log.read_bytes().splitlines(keepends=True)[2])
    again.close()
    assert set(load_results(store.folder)["reason"]) == {"own"}
