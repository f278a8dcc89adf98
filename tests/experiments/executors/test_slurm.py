"""Runs by jobs of SLURM: as on one machine, whatever happens to jobs and nodes."""

import shlex
import signal
import subprocess
import sys
from shutil import which
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from tests.experiments.executors.one_node import PROGRAMS, one_node
from tests.experiments.functions import log_of, posing, run_case, wait_for
from tests.halves import quick_cases

from dualgap.experiments import load_results
from dualgap.experiments.cli import main
from dualgap.experiments.executors import slurm
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.records.columns import COLUMNS
from dualgap.experiments.store.manifest import read_manifest
from dualgap.experiments.store.reading import RunFolder

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
    comparable = table[[name for name in COLUMNS if name not in MEASURED]].astype(object)
    return comparable.where(comparable.notna(), None).set_index("run_id").to_dict("index")


class Queue:
    """A queue that runs a job when it is told to, in this process."""

    def __init__(self):
        self.arrays, self.cancelled = [], 0

    def call(self, program, *arguments):
        """Stand for a command of SLURM."""
        if program == "scancel":
            self.cancelled, self.arrays = self.cancelled + len(self.arrays), []
        if program == "sbatch":
            options = dict(a[2:].split("=", 1) for a in arguments if "=" in a)
            if "partition" in options:
                raise ExecutorError("invalid partition specified")
            self.arrays.append(options)
        return "RUNNING\n" * len(self.arrays)

    def run(self):
        """Run all jobs that wait; one that is killed leaves its array."""
        arrays, self.arrays = self.arrays, []
        for options in arrays:
            for number in options["array"].split(","):
                _, _, *words = shlex.split(options["wrap"].replace("$SLURM_ARRAY_TASK_ID", number))
                result = CliRunner().invoke(main, words)
                if not isinstance(result.exception, SystemExit | InterruptedError | None):
                    raise result.exception


@pytest.fixture
def line(monkeypatch, in_process):
    """A queue in the place of SLURM's."""
    waiting = Queue()
    monkeypatch.setattr(slurm, "_call", waiting.call)
    monkeypatch.setattr(slurm, "which", lambda _: "sbatch")
    return waiting


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", quick_cases(GRIDS, ("search", "series")))
def test_jobs_give_the_rows_of_a_run_on_one_machine(line, command, write, kind):
    """Also where the folder has some of them already."""
    file = write(GRIDS[kind])
    command("run", file, "--out", "alone")
    assert "jobs" in command("submit", file, "--out", "out", "--workers", "2").output
    line.run()
    assert rows("out") == rows("alone")
    log = log_of("alone")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[: len(lines) // 2]))
    command("submit", file, "--out", "alone", "--resume")
    line.run()
    assert rows("out") == rows("alone")
    assert "Submitted 0 runs in 0 jobs" in command("submit", "out", "--resume").output


def test_shards_of_a_folder_run_each_task_once(command, write, in_process):
    file = write(GRIDS["grid"])
    for number in (1, 2):
        command("run", file, "--out", "x", "--resume", "--shard", f"{number}/2")
        assert RunFolder("x").missing == 4 - 2 * number
        assert len(load_results("x")["problem_id"].unique()) == number
    assert len(RunFolder("x").sessions) == 2
    printed = command("run", file, "--shard", "3/2", code=2).output
    assert "--shard must be I/N with I from 1 to N, such as 3/16; got '3/2'" in printed


def test_runs_that_are_restarted_are_submitted(line, command, write):
    file = write(GRID)
    command("run", file, "--out", "out")
    before = load_results("out").set_index("run_id")["time_solve"]
    command("submit", file, "--out", "out", "--rerun", "solver:smo")
    assert RunFolder("out").missing == 4
    line.run()
    after = load_results("out").set_index("run_id")["time_solve"]
    assert not (before == after.reindex(before.index)).any()


def test_jobs_apply_the_overrides_of_the_command_line(line, command, write):
    command("submit", write(GRID), "--out", "out", "--set", "C=3", "--solver", "smo")
    line.run()
    assert load_results("out")["C"].unique().tolist() == [3]
    options = read_manifest(RunFolder("out").path)["options"]
    assert options == ["--set C=3", "--solver smo"]


def test_a_run_that_kills_its_jobs_fails_only_its_row(line, command, write, monkeypatch):
    """It is started three times; the runs beside it once."""
    started = []

    def run(self, cases):
        for case in cases:
            started.append(case.run_id)
            if case.problem.parameters["C"] == 2 and case.solver.settings["tol"] == 1e-3:
                raise InterruptedError
            yield run_case(case)

    monkeypatch.setattr("dualgap.experiments.store.session.Session.close", lambda _: None)
    # undone before the queue's own patch, which would otherwise come back and stay
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalExecutor, "run", run)
        for _ in range(4):
            command("submit", write(GRID), "--out", "out", "--workers", "1", "--resume")
            line.run()
    table = load_results("out").set_index("run_id")
    assert sorted(map(started.count, table.index)) == [1, 1, 1, 3]
    crashed = table[table["status"] == "crashed"]
    assert crashed["reason"].tolist() == ["the command or its job was killed 3 times while it ran"]
    assert set(table["verdict"].drop(crashed.index)) == {"solved"}


def test_waiting_for_jobs_reads_each_line_of_their_logs_once(line, command, write, monkeypatch):
    read, polls, valid_lines = [], [], slurm.valid_lines

    def noted(content):
        read.extend(line["record"]["run_id"] for line in valid_lines(content))
        return valid_lines(content)

    def sleep(_):
        polls.append(len(read))
        if len(polls) == 1:
            arrays = line.arrays
            line.run()
            line.arrays = arrays
        line.arrays = line.arrays * (len(polls) < 3)

    monkeypatch.setattr(slurm, "valid_lines", noted)
    monkeypatch.setattr(slurm, "time", SimpleNamespace(sleep=sleep))
    command("run", write(GRID), "--out", "out", "--executor", "slurm", "--workers", "1")
    assert polls == [0, 4, 4]
    assert sorted(read) == sorted(load_results("out")["run_id"])


def test_jobs_that_record_nothing_end_the_command_with_the_last_line_of_a_log(
    line, command, write, tmp_path, monkeypatch
):
    def lost(program, *arguments):
        if program == "sbatch":
            (tmp_path / "out/jobs/1_1.log").write_text("Traceback\nno module named dualgap\n")
        return ""

    monkeypatch.setattr(slurm, "_call", lost)
    printed = command("run", write(GRID), "--out", "out", "--executor", "slurm", code=1).output
    assert "jobs end without recording a run; see out/jobs/1_1.log: no module named" in printed


def test_a_refusal_of_the_queue_is_quoted_and_leaves_no_folder(line, command, write):
    grid = GRID.replace(f"[{SMO}]", f"[{SMO}, {{name: perceptron, slurm: {{cpus: 2}}}}]")
    refused = grid.replace("cpus: 2", "partition: nowhere, cpus: 2")
    printed = 'refused jobs that request {"cpus": 2, "partition": "nowhere"}: invalid partition'
    assert printed in command("submit", write(refused), "--out", "out", code=2).output
    assert (line.cancelled, line.arrays) == (1, [])
    command("submit", write(grid), "--out", "other")
    assert [array.get("cpus-per-task") for array in line.arrays] == [None, "2"]
    line.run()
    assert RunFolder("other").missing == 0


def test_missing_programs_and_wrong_options_are_refused(line, command, write, monkeypatch):
    file = write(GRID)
    printed = command("run", file, "--executor", "slurm", "--scheduler", "x", code=2).output
    assert "Add --executor dask" in printed
    monkeypatch.setattr(slurm, "which", lambda _: None)
    assert "sbatch not found on PATH" in command("submit", file, code=2).output


@pytest.fixture(scope="module")
def cluster():
    """A running cluster, which the commands of these tests find."""
    if missing := [name for name in PROGRAMS if which(name) is None]:
        pytest.skip(f"SLURM is not installed: {', '.join(missing)}")
    started = one_node()
    try:
        node = started.__enter__()
    except (AssertionError, OSError) as error:
        pytest.skip(f"no SLURM cluster of one node starts here: {error}")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in node.environment.items():
            patch.setenv(name, value)
        yield node
    started.__exit__(None, None, None)


@pytest.mark.exhaustive
def test_jobs_of_a_cluster_give_the_rows_of_a_run_on_one_machine(cluster, command, write):
    """Each solver has the resources that it asks for; a queue that refuses is quoted."""
    grid = GRID.replace("[{name", "[{slurm: {cpus: 1, mem: 50MiB, time: 5m}, name")
    command("submit", write(grid), "--out", "out", "--workers", "2")
    requested = cluster.ask("squeue", "--noheader", "--array", "--format=%C %m %l").splitlines()
    assert requested == ["1 50M 5:00"] * 2
    wait_for(lambda: not RunFolder("out").missing, 110)
    assert load_results("out")["threads"].unique().tolist() == [1]
    command("run", write(grid), "--out", "alone")
    assert rows("out") == rows("alone")
    refused = grid.replace("cpus: 1", "partition: nowhere")
    printed = command("submit", write(refused), "--out", "refused", code=2).output
    assert '{"mem": 52428800, "partition": "nowhere", "time": 300.0}: invalid partition' in printed


@pytest.mark.exhaustive
def test_a_job_and_a_node_that_are_killed_lose_no_run(cluster, command, write, tmp_path):
    """Of 200 cases none is lost or doubled, and their rows are those of a run on one machine."""
    file = write(GRID.replace("n: 20", f"n: 20, seed: {list(range(50))}"))
    out = tmp_path / "out"
    command("submit", file, "--out", out, "--workers", "4")
    wait_for(lambda: RunFolder(out).lines)
    first = cluster.ask("squeue", "--noheader", "--array", "--format=%A").split()[0]
    cluster.ask("scancel", "--signal=KILL", "--full", first)
    wait_for(lambda: not cluster.ask("squeue", "--noheader", f"--jobs={first}"))
    command("submit", file, "--out", out, "--workers", "4", "--resume")
    recorded = len(RunFolder(out).lines)
    wait_for(lambda: len(RunFolder(out).lines) > recorded)
    cluster.lose_node()
    wait_for(lambda: cluster.state().startswith("down"))
    assert "PENDING" in cluster.ask("squeue", "--noheader", "--format=%T")  # requeued by SLURM
    cluster.start_node()
    wait_for(lambda: not RunFolder(out).missing, 300)
    command("run", file, "--out", "alone", "--workers", "2")
    assert len(rows("alone")) == 200
    assert rows(out) == rows("alone")


@pytest.mark.exhaustive
def test_an_interrupted_command_leaves_no_job(cluster, command, strange, write, tmp_path):
    """Recorded runs stay, and are there when the run is resumed."""
    mark = tmp_path / "mark"
    waits = strange(f"if not os.path.exists({str(mark)!r}): time.sleep(600)\nyield FormPoint(x)")
    file = write(GRID.replace("1e-6]}]", f"1e-6]}}, '{waits}']"))
    arguments = ["-m", "dualgap.experiments.cli", "run", file, "--out", "out"]
    arguments += ["--executor", "slurm"]
    process = subprocess.Popen([sys.executable, *arguments], cwd=tmp_path, start_new_session=True)
    wait_for((tmp_path / "out/manifest.json").exists)
    wait_for(lambda: len(RunFolder(tmp_path / "out").lines) == 4)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    wait_for(lambda: not cluster.ask("squeue", "--noheader"))
    mark.touch()
    command("run", file, "--out", "out", "--executor", "slurm", "--resume")
    assert len(rows("out")) == 6


def test_jobs_that_a_lost_queue_keeps_are_reported(monkeypatch, tmp_path):
    lost = "scancel: error: Kill job error on job id 7: Unable to contact slurm controller\n"

    def fail(*_, **__):
        raise subprocess.CalledProcessError(1, "scancel", stderr=lost)

    monkeypatch.setattr(slurm.subprocess, "run", fail)
    with pytest.raises(ExecutorError, match=r"jobs may still be in the queue: .*Unable to contact"):
        slurm.SlurmExecutor(folder=tmp_path).submit()
