import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import pandas as pd
import psutil
import pytest

pytest.importorskip("distributed", reason="dask is not installed")

from tests.experiments.functions import posing, wait_for

from dualgap.experiments import load_results
from dualgap.experiments.cases.plan import RunKey
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.dask import DaskExecutor
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.files.specs import SolverSpec

GRID = posing(
    kernel="{name: rbf, gamma: 0.05}",
    C=[1, 2],
    **{"solvers": "[{name: smo, tol: [1e-6, 1e-8]}]", "trace": False, "time_limit": 30},
)
SLEEPS = "import pathlib\npathlib.Path({mark!r}).touch()\ntime.sleep({seconds})\nyield FormPoint(x)"


def _with(solver):
    """Return the experiment with a solver from outside in the place of one of its own."""
    return GRID.replace("[1e-6, 1e-8]}", f"1e-6}}, '{solver}'")


@pytest.fixture
def cases(planned):
    return planned(GRID)


@pytest.fixture
def another(tmp_path, strange, case_of):
    """Return a case whose solver, in a file of its own, does what is told."""

    def _another(name, body):
        strange(body)
        path = (tmp_path / "strange.py").rename(tmp_path / f"{name}.py")
        return replace(case_of(), key=RunKey(name), solver=SolverSpec(f"{path}:Strange", {}))

    return _another


def _rows(outcomes):
    """Return the records by run, of which there is one each."""
    records = [outcome.record for outcome in outcomes]
    rows = {record["run_id"]: record for record in records}
    assert len(rows) == len(records)
    return rows


MEASURED = ("time_setup", "time_solve", "cpu_time", "peak_rss", "cpu_frequency")


def _table(rows):
    return {key: {k: v for k, v in row.items() if k not in MEASURED} for key, row in rows.items()}


@pytest.mark.exhaustive
@pytest.mark.usefixtures("no_leaked_worker")
def test_a_grid_gives_the_same_table_as_a_local_run(cases, another, tmp_path):
    """And a run whose file is missing costs its own row."""
    missing = another("missing", "yield FormPoint(x)")
    (tmp_path / "missing.py").unlink()
    distributed = _rows(DaskExecutor(workers=1).run([missing, *cases]))
    alone = _rows(LocalExecutor(workers=1).run(cases))
    assert set(distributed) == {case.run_id for case in (missing, *cases)}
    assert _table({key: distributed[key] for key in alone}) == _table(alone)
    assert {row["verdict"] for row in alone.values()} == {"solved"}
    assert f"{tmp_path}/missing.py" in distributed["missing"]["reason"]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("no_leaked_worker")
def test_runs_of_a_lost_worker_are_repeated_on_another(cases, another, tmp_path):
    """One that takes every worker with it is a row crashed; the runs beside it are not."""
    mark = str(tmp_path / "begun")
    waits = another("waits", SLEEPS.format(mark=mark, seconds=1))
    kill = "import psutil\nos.kill(psutil.Process().parents()[1].pid, signal.SIGKILL)"
    kills = another("kills", f"{kill}\ntime.sleep(60)\nyield")
    rows = {}
    with closing(DaskExecutor(workers=2).run([waits, *cases, kills])) as outcomes:
        for outcome in outcomes:
            if not rows:  # one is done, and `waits` is perhaps in the middle
                _dask_worker_of(mark).kill()
            assert outcome.run_id not in rows
            rows[outcome.run_id] = outcome.record
    assert set(rows) == {case.run_id for case in (waits, kills, *cases)}
    assert {rows[case.run_id]["verdict"] for case in cases} == {"solved"}
    assert (rows["waits"]["status"], rows["waits"]["verdict"]) == ("finished", "inaccurate")
    assert rows["kills"]["status"] == "crashed"
    assert rows["kills"]["host"] is None
    assert "the Dask worker died while it ran" in rows["kills"]["reason"]


@pytest.mark.exhaustive
def test_a_lost_scheduler_stops_the_command_but_keeps_its_records(write, strange, tmp_path):
    text, out = _with(strange("time.sleep(600); yield")), tmp_path / "out"
    with _scheduler(tmp_path) as (address, scheduler, worker):
        command = _start(write(text), out, "--scheduler", address)
        wait_for(lambda: _recorded(out))
        worker_processes = worker.children(recursive=True)
        scheduler.kill()
        error = command.communicate(timeout=60)[1]
    assert command.returncode == 1, error
    assert "stopped: the Dask scheduler is lost" in error
    assert "--resume" in error
    assert "Traceback" not in error
    assert len(load_results(out)) >= 1
    wait_for(lambda: not any(process.is_running() for process in worker_processes))


@pytest.mark.exhaustive  # `test_cli.py` interrupts a command without Dask
def test_an_interrupted_command_leaves_no_process(write, strange, tmp_path):
    text, out = _with(strange("time.sleep(600); yield")), tmp_path / "out"
    command = _start(write(text), out, "--workers", "2")
    wait_for(lambda: _recorded(out))
    processes = psutil.Process(command.pid).children(recursive=True)
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does
    error = command.communicate(timeout=60)[1]
    assert command.returncode == 130, error
    assert "Traceback" not in error
    assert "interrupted; resume with" in error
    wait_for(lambda: not any(process.is_running() for process in processes))
    remaining = {path.name for path in tmp_path.iterdir()} - {
        "__pycache__"
    }  # of strange.py, by Python
    assert remaining == {"out", "small.yaml", "strange.py"}


DEAD = "tcp://127.0.0.1:9"  # it takes seconds to find that out
REFUSED = [
    (
        ["--executor", "dask", "--scheduler", "nowhere"],
        "--scheduler nowhere: no Dask scheduler answers",
    ),
    (
        ["--executor", "dask", "--scheduler", "no://127.0.0.1:8786"],
        "no Dask scheduler answers there",
    ),
    (["--scheduler", DEAD], "Add --executor dask"),
    (["--executor", "dask", "--workers", "2", "--scheduler", "x"], "has its own workers"),
    pytest.param(["--executor", "dask", "--scheduler", DEAD], DEAD, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("arguments", "error"), REFUSED)
def test_an_unreachable_or_unused_address_is_refused(command, write, tmp_path, arguments, error):
    result = command("run", write(GRID), "--out", "out", *arguments, code=2)
    assert error in result.output
    assert not (tmp_path / "out").exists()


def test_a_scheduler_is_contacted_within_a_running_event_loop(cases):
    async def in_a_notebook():
        with pytest.raises(ExecutorError, match=r"no Dask scheduler .*ValueError: missing port"):
            list(DaskExecutor(address="nowhere").run(cases))

    asyncio.run(in_a_notebook())


def test_a_missing_dask_is_named_with_its_install_command(command, write, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "dualgap.experiments.executors.dask.tasks", raising=False)
    result = command("run", write(GRID), "--executor", "dask", code=2)
    assert "pip install 'dualgap[dask]'" in result.output


def _start(path, out, *arguments):
    command = [sys.executable, "-m", "dualgap.experiments.cli", "run", path, "--out", out]
    return subprocess.Popen(
        [*command, "--executor", "dask", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=out.parent,
        start_new_session=True,
    )


@contextmanager
def _scheduler(folder):
    """Start a scheduler and a worker; yield its address and the two processes."""
    file = folder / "scheduler.json"
    options = ["--scheduler-file", file, "--no-dashboard"]
    dask = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    host = ["--host", "127.0.0.1"]
    with (
        subprocess.Popen([*dask, "scheduler", "--port", "0", *host, *options], **quiet) as one,
        subprocess.Popen([*dask, "worker", *host, *options, "--nthreads", "2"], **quiet) as two,
    ):
        try:
            wait_for(lambda: file.exists() and file.stat().st_size)
            address = pd.read_json(file, typ="series")["address"]
            yield address, psutil.Process(one.pid), psutil.Process(two.pid)
        finally:
            one.kill()
            two.terminate()


def _dask_worker_of(mark):
    """Return the Dask worker whose isolated process has made the mark."""
    wait_for(lambda: os.path.exists(mark))
    time.sleep(0.1)
    workers = [c for c in psutil.Process().children() if len(c.children())]
    return next(w for w in workers if "spawn_main" in " ".join(w.cmdline()))


def _recorded(out):
    return any(log.stat().st_size for log in out.glob("sessions/*/runs.jsonl"))
