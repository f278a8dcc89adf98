import errno
from contextlib import closing
from dataclasses import replace

import pytest
from tests.experiments.functions import posing, wait_for, wait_for_exit

from dualgap.experiments.cases.plan import RunKey
from dualgap.experiments.executors.base import EXECUTORS, ExecutorError
from dualgap.experiments.executors.local import LocalExecutor, limit_of
from dualgap.experiments.files.specs import SolverSpec
from dualgap.experiments.records.columns import COLUMNS

STUCK = "import itertools; sum(itertools.repeat(0))\nyield"  # and holds the GIL
THREAD = (
    "import threading; threading.Thread(target=os._exit, args=[3]).start(); time.sleep(9)\nyield"
)
IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)\nyield"
GREEDY = "x = [np.ones(2**22) for _ in range(40)]; time.sleep(60)\nyield"
NEVER = "of solving: it ignored its time limit of 0.5 s"
# what a solver does, and the status, signal and reason that its row must have
DEATHS = {
    "exits": ("os._exit(7)\nyield", "crashed", "exit 7", "exit code 7"),
    "exits with 0": ("os._exit(0)\nyield", "crashed", "exit 0", "exit code 0"),
    "is killed": ("os.kill(os.getpid(), 9)\nyield", "crashed", "SIGKILL", "not by dualgap: possibly by"),
    "faults": ("import ctypes; ctypes.string_at(0)\nyield", "crashed", "SIGSEGV", "by SIGSEGV"),
    "aborts": ("os.abort()\nyield", "crashed", "SIGABRT", "SIGABRT"),
    "dies at import": ("yield", "crashed", "exit 5", "exit code 5"),
    "ends from a thread": (THREAD, "crashed", "exit 3", "exit code 3"),
    "hangs silently": ("time.sleep(600)\nyield", "time_limit", "SIGTERM", "strange.py"),
    "hangs in compiled code": (STUCK, "time_limit", "SIGTERM", "strange.py"),
    "hangs and prints": ("while True: print('.' * 99)\nyield", "time_limit", "SIGTERM", NEVER),
    "ignores SIGTERM": (IGNORES, "time_limit", "SIGKILL", "killed after"),
    "cannot be sent": ("yield FormPoint(x, counters={'a': Number()})", "crashed", None, "be sent"),
    "takes memory": (GREEDY, "out_of_memory", "SIGKILL", "memory_limit is 400 MiB"),
}  # fmt: skip

NUMBER = """
class Number:
    def __float__(self):
        raise TypeError("cannot be sent")
"""


# a kind of death each: by itself, by a signal, by a limit, by what it answers
FEW = ("exits", "faults", "hangs silently", "cannot be sent", "takes memory")


@pytest.fixture
def strange_cases(case_of, strange, tmp_path, kinds):
    """A case for some ways to die, each between two that are fine."""
    fine = case_of(time_limit=0.5, memory_limit="400MiB")
    cases = [replace(fine, key=RunKey("fine before"))]
    for kind in kinds:
        body = DEATHS[kind][0]
        moved = tmp_path / kind / "strange.py"
        moved.parent.mkdir()
        strange(body, before="os._exit(5)" if kind == "dies at import" else NUMBER)
        (tmp_path / "strange.py").rename(moved)
        cases.append(replace(fine, key=RunKey(kind), solver=SolverSpec(f"{moved}:Strange", {})))
    return [*cases, replace(fine, key=RunKey("fine after"))]


@pytest.mark.usefixtures("no_leaked_worker")
@pytest.mark.parametrize(
    ("kinds", "executor", "method"),
    [
        (FEW, "local", "fork"),
        ((), "local", "spawn"),
        pytest.param(tuple(DEATHS), "local", "fork", marks=pytest.mark.exhaustive),
        pytest.param(tuple(DEATHS), "local", "spawn", marks=pytest.mark.exhaustive),
        pytest.param(tuple(DEATHS), "dask", "fork", marks=pytest.mark.exhaustive),
    ],
)
def test_a_crashing_process_fails_only_its_row(strange_cases, kinds, executor, method, monkeypatch):
    monkeypatch.setenv("DUALGAP_START_METHOD", method)
    if executor == "dask":
        pytest.importorskip("distributed", reason="dask is not installed")
    chosen = EXECUTORS[executor](workers=2, grace_period_s=3)
    outcomes = {outcome.run_id: outcome.record for outcome in chosen.run(strange_cases)}
    assert set(outcomes) == {case.run_id for case in strange_cases}
    for name in ("fine before", "fine after"):
        assert outcomes[name]["verdict"] == "solved"
    for kind in kinds:
        record, (_, status, signal, reason) = outcomes[kind], DEATHS[kind]
        assert (record["status"], record["signal"]) == (status, signal), kind
        assert reason in record["reason"], kind
        assert record["time_solve"] is None, kind
        assert list(record) == COLUMNS


@pytest.mark.exhaustive
@pytest.mark.usefixtures("no_leaked_worker")
def test_closing_the_iterator_leaves_no_process(case_of, strange, tmp_path):
    mark = tmp_path / "grandchild"
    body = f"""
        import subprocess
        child = subprocess.Popen(["sleep", "600"])
        open({str(mark)!r}, "w").write(str(child.pid))
        time.sleep(600)
        yield
        """
    case, fine = case_of(strange(body)), case_of()
    with closing(LocalExecutor(workers=64).run([case, fine])) as outcomes:
        assert next(outcomes).record["threads"] == 1  # its share
        wait_for(lambda: mark.exists() and mark.read_text())
    wait_for_exit(int(mark.read_text()))


def test_a_worker_that_cannot_be_started_stops_the_runs_and_says_why(case_of, monkeypatch):
    def fail(_, __):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("dualgap.experiments.workers.supervision.Reaper", fail)
    with pytest.raises(ExecutorError, match=r"no worker process can be started: .*Too many open"):
        list(LocalExecutor().run([case_of()]))


def test_a_solver_that_never_yields_is_killed_after_its_grace_period(case_of):
    assert limit_of(case_of(time_limit=2), "solving") == 1.5 * 2.0 + 10.0
    assert limit_of(case_of(), "solving") == float("inf")


@pytest.mark.parametrize("executor", ["local", "dask"])
def test_a_number_of_workers_below_1_is_refused(executor):
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        EXECUTORS[executor](workers=0)


def test_an_unknown_start_method_is_refused(command, write, monkeypatch):
    monkeypatch.setenv("DUALGAP_START_METHOD", "forkserver")
    printed = command("run", write(posing()), "--out", "x", code=2).output
    assert "DUALGAP_START_METHOD is 'forkserver'. Set it to fork or spawn, or unset it." in printed


@pytest.mark.usefixtures("in_process")
def test_executors_are_built_in_or_plug_ins(command, write, tmp_path):
    assert {"local", "dask"} <= set(EXECUTORS)
    (tmp_path / "mine.py").write_text(
        "from dualgap.experiments.executors.local import LocalExecutor\n"
        "class Counting(LocalExecutor):\n"
        "    def run(self, cases):\n"
        "        open('mark', 'w').close()\n"
        "        yield from super().run(cases)\n"
    )
    for name, code in (("mine.py:Counting", 0), ("slrum", 2)):
        result = command("run", write(), "--out", "out", "--executor", name, code=code)
    message = "unknown executor 'slrum'; did you mean 'slurm'? accepted are dask, local, slurm"
    assert message in result.output
    assert (tmp_path / "mark").exists()


def test_a_path_has_time_to_certify_its_answers(case_of):
    case = case_of(text=posing(path="{C: [0.1, 10], gap: 1e-2}"), time_limit=2)
    assert limit_of(case, "solving") == 1.5 * 2.0 + 10.0 + 600.0
