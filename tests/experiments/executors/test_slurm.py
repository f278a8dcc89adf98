"""Runs by jobs of SLURM: as on one machine, whatever happens to jobs and nodes."""

import signal
import subprocess
import sys
from shutil import which

import pytest
from tests.experiments.executors.one_node import PROGRAMS, one_node
from tests.experiments.functions import posing, run_case, wait_for
from tests.halves import quick

from dualgap.experiments import load_results
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.executors.slurm import queue
from dualgap.experiments.executors.slurm.slot import Slot
from dualgap.experiments.executors.slurm.slots import Slots
from dualgap.experiments.records.columns import COLUMNS
from dualgap.experiments.store.manifest import read_manifest

DATA = "{name: two_gaussians, n: 20}"
SMO = "{name: smo, tol: [1e-3, 1e-6]}"
GRID = posing(dataset=DATA, C=[1, 2], solvers=[SMO], trace=False)
GRIDS = {
    "grid": GRID,
    "search": posing(
        C=[1, 2], solvers=["{name: smo, tol: 1e-9, gap: auto}"], repetitions=2, target_gap="1e-3"
    ),
    "series": posing(C=[1, 2, 4], solvers=["smo", "{name: smo, tol: 1e-6}"], warm_start=True),
    "noise": posing(solvers=["{name: smo, tol: 1e-9, gap: auto}"], noise=True, target_gap="1e-3"),
}
# what differs from one run to the next
MEASURED = {"time_setup", "time_solve", "cpu_time", "peak_rss", "host", "threads", "reason"}


def rows(folder):
    """Return the rows of a folder by their runs, each of which has one, without what is measured."""
    table = load_results(folder)
    assert table["run_id"].is_unique
    kept = table[[name for name in COLUMNS if name not in MEASURED]].astype(object)
    return kept.where(kept.notna(), None).set_index("run_id").to_dict("index")


class Queue:
    """A queue that runs a job when it is told to, in this process."""

    def __init__(self, folder):
        self.folder, self.submitted, self.alive, self.cancelled = folder, {}, {}, []

    def submit(self, folder, commands, asked):
        if "partition" in asked:
            raise ExecutorError(f"the queue refuses {asked}")
        ids = [str(len(self.submitted) + i) for i in range(len(commands))]
        self.submitted |= dict(zip(ids, commands, strict=True))
        self.alive |= dict.fromkeys(ids, "PENDING, Resources")
        return ids

    def run(self):
        """Run all jobs that wait; those that are interrupted have failed."""
        for own in [own for own, state in self.alive.items() if state.startswith("PENDING")]:
            *_, path, again, words = self.submitted[own]
            try:
                Slot(self.folder / path).run(int(again), words)
                self.alive[own] = "COMPLETED"
            except InterruptedError:
                self.alive[own] = "NODE_FAIL"

    def fail(self):
        self.alive |= dict.fromkeys(self.alive, "NODE_FAIL")


@pytest.fixture
def line(tmp_path, monkeypatch, in_process):
    """A queue in the place of SLURM's."""
    own = Queue(tmp_path)
    monkeypatch.setattr(queue, "submit", own.submit)
    monkeypatch.setattr(queue, "states", lambda: own.alive)
    monkeypatch.setattr(queue, "cancel", own.cancelled.extend)
    monkeypatch.setattr("dualgap.experiments.executors.slurm.which", lambda _: "sbatch")
    return own


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", quick(GRIDS, ("search", "series")))
def test_slots_give_the_rows_of_a_run_on_one_machine(line, command, write, kind):
    """Also where the folder has some of them already: a search, or a series, goes on in its slot."""
    file = write(GRIDS[kind])
    command("run", file, "--out", "alone")
    log = (line.folder / "alone" / "runs.jsonl").read_bytes().splitlines(keepends=True)
    command("submit", file, "--out", "out", "--workers", "2")
    assert {len(command[-3:]) for command in line.submitted.values()} == {3}
    line.run()
    command("collect", "out")
    assert rows("out") == rows("alone")
    (line.folder / "alone" / "runs.jsonl").write_bytes(b"".join(log[: len(log) // 2]))
    result = command("submit", file, "--out", "alone", "--resume")
    assert "Submitted" in result.output
    line.run()
    command("collect", "alone")
    assert rows("out") == rows("alone")


def test_what_is_begun_anew_is_not_taken_from_the_slots_that_ran_it_before(
    line, command, write, monkeypatch
):
    file, ran = write(GRID), []
    command("submit", file, "--out", "out")
    line.run()

    def run(self, cases):
        for case in cases:
            ran.append(case.run_id)
            yield run_case(case)

    monkeypatch.setattr(LocalExecutor, "run", run)
    monkeypatch.setattr(queue, "states", lambda: line.run() or line.alive)
    command("run", file, "--out", "out", "--rerun", "solver:smo", "--executor", "slurm")
    assert sorted(ran) == sorted(load_results("out")["run_id"])


def test_jobs_are_of_what_the_command_line_changes(line, command, write):
    changes = ("--set", "C=3", "--solver", "smo")
    command("submit", write(GRID), "--out", "out", *changes)
    line.run()
    command("collect", "out")
    assert load_results("out")["C"].unique().tolist() == [3]
    assert read_manifest(line.folder / "out")["options"] == ["--set C=3", "--solver smo"]
    told = command("submit", write(GRID), "--out", "x", "--solver", "smoo", code=2).output
    assert (
        "--solver smoo: only_solvers: 'smoo' selects nothing; available, closest first: 'smo'"
        in told
    )


def test_a_run_whose_job_ends_under_it_costs_its_own_row(line, command, write, monkeypatch):
    """It is begun three times; the runs beside it once."""
    begun = []

    def run(self, cases):
        for case in cases:
            begun.append(case.run_id)
            if case.problem.parameters["C"] == 2 and case.solver.settings["tol"] == 1e-3:
                raise InterruptedError
            yield run_case(case)

    monkeypatch.setattr(LocalExecutor, "run", run)
    command("submit", write(GRID), "--out", "out", "--workers", "1")
    for _ in range(3):
        line.run()
        assert "runs are missing; jobs: 1 submitted again" in command("collect", "out").output
    line.run()
    command("collect", "out", code=1)
    table = load_results("out").set_index("run_id")
    assert sorted(map(begun.count, table.index)) == [1, 1, 1, 3]
    crashed = table[table["status"] == "crashed"]
    assert begun.count(crashed.index[0]) == 3
    told = "its SLURM job was ended 3 times while it ran; the last one, 2, NODE_FAIL"
    assert crashed["reason"].tolist() == [told]
    assert set(table["verdict"].drop(crashed.index)) == {"solved"}


def test_a_job_that_gets_no_further_is_given_up_with_the_end_of_its_log(line, command, write):
    command("submit", write(GRID), "--out", "out", "--workers", "1", "--again", "1")
    for code in (0, 1):
        line.fail()
        log = line.folder / "out/slots/jobs/1_0_log.err"
        log.parent.mkdir(exist_ok=True)
        log.write_text("Traceback\nno module named experiments\n")
        told = command("collect", "out", code=code).output
    assert (
        "job 1 of slot 0 ended (NODE_FAIL), see out/slots/jobs/1_0_log.err: no module named" in told
    )
    assert "4 runs are missing; jobs: none" in told


def test_a_queue_that_refuses_says_so_and_keeps_nothing(line, command, write):
    grid = GRID.replace("[[", "[").replace(
        f"[{SMO}]", f"[{SMO}, {{name: perceptron, slurm: {{}}}}]"
    )
    refused = grid.replace("slurm: {}", "slurm: {partition: nowhere, cpus: 2}")
    result = command("submit", write(refused), "--out", "out", code=2)
    told = "the queue refuses {'cpus': 2, 'partition': 'nowhere'}"
    assert told in result.output
    assert line.cancelled == list(line.submitted)
    result = command("run", write(refused), "--out", "other", "--executor", "slurm", code=1)
    assert f"stopped: {told}" in result.output
    assert line.cancelled == list(line.submitted)


def test_what_is_not_there_is_told(line, command, write, monkeypatch):
    file = write(GRID)
    told = command("run", file, "--executor", "slurm", "--scheduler", "x", code=2).output
    assert "Add --executor dask" in told
    command("run", file, "--out", "alone")
    assert (
        "Submit some with: dualgap submit FILE --out" in command("collect", "alone", code=2).output
    )
    monkeypatch.setattr("dualgap.experiments.executors.slurm.which", lambda _: None)
    assert "sbatch not found on PATH" in command("submit", file, code=2).output
    monkeypatch.setattr("dualgap.experiments.executors.slurm.find_spec", lambda _: None)
    assert "pip install 'dualgap[slurm]'" in command("submit", file, code=2).output


@pytest.fixture(scope="module")
def cluster():
    """A running cluster, which the commands of these tests find."""
    if missing := [name for name in PROGRAMS if which(name) is None]:
        pytest.skip(f"SLURM is not installed: {', '.join(missing)}")
    started = one_node()
    try:
        found = started.__enter__()
    except (AssertionError, OSError) as error:
        pytest.skip(f"no SLURM cluster of one node starts here: {error}")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in found.environment.items():
            patch.setenv(name, value)
        yield found
    started.__exit__(None, None, None)


@pytest.mark.exhaustive
def test_jobs_of_a_cluster_give_the_rows_of_a_run_on_one_machine(cluster, command, write):
    """Each solver has the resources that it asks for; a queue that refuses is quoted."""
    grid = GRID.replace("[{name", "[{slurm: {cpus: 1, mem: 50MiB, time: 5m}, name")
    command("submit", write(grid), "--out", "out", "--workers", "2")
    asked = cluster.ask("squeue", "--noheader", "--array", "--format=%C %m %l").splitlines()
    assert asked == ["1 50M 5:00"] * 2
    wait_for(lambda: "missing" not in command("collect", "out").output, 110)
    assert load_results("out")["threads"].unique().tolist() == [1]
    command("run", write(grid), "--out", "alone")
    assert rows("out") == rows("alone")
    refused = grid.replace("cpus: 1", "partition: nowhere")
    told = command("submit", write(refused), "--out", "refused", code=2).output
    assert '{"mem": 52428800, "partition": "nowhere", "time": 300.0}: invalid partition' in told


@pytest.mark.exhaustive
def test_a_job_and_a_node_that_are_killed_lose_no_run(cluster, command, write, tmp_path):
    """Of 200 cases none is lost or doubled, and their rows are those of a run on one machine."""
    file = write(GRID.replace("n: 20", f"n: 20, seed: {list(range(50))}"))
    out = tmp_path / "out"
    command("submit", file, "--out", out, "--workers", "4")
    first, slot = next(iter(Slots(out).jobs.values())).id, Slot(out / "slots/0")
    wait_for(lambda: slot.start_counts().total())
    cluster.ask("scancel", "--signal=KILL", "--full", first)
    wait_for(lambda: not queue.is_alive(queue.states()[first]))
    assert "submitted again" in command("collect", out).output
    again = next(iter(Slots(out).jobs.values())).id
    begun = slot.start_counts().total()
    wait_for(lambda: slot.start_counts().total() > begun)
    cluster.lose_node()
    wait_for(lambda: cluster.state().startswith("down"))
    assert queue.states()[again].startswith("PENDING")  # as SLURM has put it there again
    cluster.start_node()
    wait_for(lambda: "missing" not in command("collect", out).output, 300)
    command("run", file, "--out", "alone", "--workers", "2")
    assert len(rows("alone")) == 200
    assert rows(out) == rows("alone")


@pytest.mark.exhaustive
def test_an_interrupted_command_leaves_no_job(cluster, command, strange, write, tmp_path):
    """What is recorded stays, and is there when the run is resumed."""
    mark = tmp_path / "mark"
    waits = strange(f"if not os.path.exists({str(mark)!r}): time.sleep(600)\nyield FormPoint(x)")
    file = write(GRID.replace("1e-6]}]", f"1e-6]}}, '{waits}']"))
    arguments = [
        "-m",
        "dualgap.experiments.cli",
        "run",
        file,
        "--out",
        "out",
        "--executor",
        "slurm",
    ]
    process = subprocess.Popen([sys.executable, *arguments], cwd=tmp_path, start_new_session=True)
    log = tmp_path / "out" / "runs.jsonl"
    wait_for(lambda: log.exists() and len(log.read_bytes().splitlines()) == 4)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    wait_for(lambda: not cluster.ask("squeue", "--noheader"))
    mark.touch()
    command("run", file, "--out", "out", "--executor", "slurm", "--resume")
    assert len(rows("out")) == 6


def test_jobs_that_a_lost_queue_keeps_are_told(monkeypatch):
    lost = "scancel: error: Kill job error on job id 7: Unable to contact slurm controller\n"
    ended = subprocess.CompletedProcess([], 1, "", lost)
    monkeypatch.setattr(queue.subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(ExecutorError, match=r"jobs may still be in the queue: .*Unable to contact"):
        queue.cancel(["7"])
