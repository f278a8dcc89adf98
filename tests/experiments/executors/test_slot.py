"""One case in a process of its own: how it is ended, what it leaves, what is kept of its output."""

import itertools
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.experiments.functions import posing, run_case, wait_for, wait_for_exit

from dualgap.experiments.executors.local import LocalExecutor, WorkerSlot
from dualgap.solvers import SOLVERS

ZOO = Path(__file__).parents[2] / "zoo"
# starts processes in the group of the solver and in a session of their own, and leaves their numbers
BORN = """
import subprocess
for alone in {alone}:
    child = subprocess.Popen(["sleep", "600"], start_new_session=alone)
    open({mark!r} + str(alone), "w").write(str(child.pid))
"""


def born(folder, alone=(False, True)):
    return BORN.format(alone=alone, mark=str(folder / "mark"))


def wait_until_all_are_gone(folder, count=2):
    marks = list(folder.glob("mark*"))
    assert len(marks) == count
    for mark in marks:
        wait_for_exit(int(mark.read_text()))


@pytest.fixture(scope="module")
def slot(request):
    """A slot whose process is that of the test before, if it may be used again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUALGAP_START_METHOD", getattr(request, "param", "fork"))
        shared = WorkerSlot(1, grace_period_s=1.0)
        yield shared
        shared.worker.stop()


METHODS = ["fork", pytest.param("spawn", marks=pytest.mark.exhaustive)]
forked_and_spawned = pytest.mark.parametrize("slot", METHODS, indirect=True, scope="module")


@forked_and_spawned
def test_every_run_is_a_child_of_one_process(slot, case_of, strange):
    ends = ("yield FormPoint(x)", "1 / 0\nyield", "os._exit(3)\nyield", "os.abort()\nyield") * 2
    printed = [
        slot.run(case_of(strange(f"print(os.getppid(), os.getpid())\n{end}"))).output.split()
        for end in ends
    ]
    assert len({worker for worker, *_ in printed}) == 1
    assert len({copy for _, copy, *_ in printed}) == len(ends)


@pytest.mark.exhaustive
def test_a_process_that_dies_between_two_cases_costs_no_run(slot, case_of, strange):
    case = case_of(strange("print(os.getppid())\nyield FormPoint(x)"))
    for _ in range(2):
        outcome = slot.run(case)
        assert outcome.record["status"] == "finished", outcome.record["reason"]
        os.kill(int(outcome.output), 9)
        wait_for_exit(int(outcome.output))


@forked_and_spawned
@pytest.mark.parametrize(
    ("then", "status"),
    [
        ("time.sleep(600)", "time_limit"),
        pytest.param("time.sleep(0.5)\nos._exit(1)", "crashed", marks=pytest.mark.exhaustive),
        pytest.param("pass", "finished", marks=pytest.mark.exhaustive),
    ],
    ids=["solver hangs", "solver exits once they were seen", "solver ends well"],
)
def test_no_grandchild_outlives_the_run(slot, case_of, strange, tmp_path, then, status):
    solver = strange(f"{born(tmp_path)}\n{then}\nyield FormPoint(x)")
    outcome = slot.run(case_of(solver, time_limit=0.2))
    assert outcome.record["status"] == status, outcome.record["reason"]
    wait_until_all_are_gone(tmp_path)


@pytest.mark.exhaustive
def test_set_up_has_a_separate_limit_and_does_not_count_as_solving(
    slot, case_of, strange, monkeypatch
):
    """As where a solver from outside is compiled: no row says that it did not solve in its time."""
    solver = strange(prepare="time.sleep(2)")
    record = slot.run(case_of(solver, time_limit=0.1)).record  # killed after 1.15 s of solving
    assert record["status"] == "finished", record["reason"]
    assert record["time_setup"] >= 2.0 > record["time_solve"]
    monkeypatch.setattr("dualgap.experiments.executors.local._PHASE_LIMIT_S", 0.5)
    record = slot.run(case_of(solver, time_limit=0.1)).record
    assert record["status"] == "crashed"
    assert " s of setting up " in record["reason"]
    assert ", before solving" in record["reason"]


HELPER = "if os.fork() == 0:\n            time.sleep(600)\n        "


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("os._exit(3)", "exit code 3"),
        pytest.param("1 / 0", "ZeroDivisionError", marks=pytest.mark.exhaustive),
    ],
)
def test_a_process_started_in_set_up_does_not_delay_the_end_of_the_run(
    slot, case_of, strange, monkeypatch, end, reason
):
    """It is a fork that sleeps, and has what the parent reads the progress of the run from."""
    monkeypatch.setattr("dualgap.experiments.executors.local._PHASE_LIMIT_S", 20.0)
    record = slot.run(case_of(strange(prepare=HELPER + end))).record
    assert record["status"] == "crashed"
    assert reason in record["reason"]


@pytest.mark.exhaustive
def test_an_orphaned_grandchild_is_killed(slot, case_of, strange, tmp_path):
    parted = (
        f"import subprocess\nsubprocess.run([sys.executable, '-c', {born(tmp_path)!r}], check=True)"
    )
    body = f"{parted}\ntime.sleep(600)\nyield"
    assert slot.run(case_of(strange(body), time_limit=0.2)).record["status"] == "time_limit"
    wait_until_all_are_gone(tmp_path)


@pytest.mark.parametrize("executor", ["slot", pytest.param("local", marks=pytest.mark.exhaustive)])
def test_descendants_in_other_process_groups_die_with_their_worker(
    slot, case_of, strange, tmp_path, executor
):
    """It has another parent then: it must have been noted before, also where there are no limits."""
    death = "time.sleep(2.5)\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)\nyield"
    case = case_of(strange(f"{born(tmp_path, (True,))}\n{death}"))
    run = slot.run if executor == "slot" else lambda case: next(LocalExecutor().run([case]))
    record = run(case).record
    assert (record["status"], record["signal"]) == ("crashed", "SIGKILL")
    wait_until_all_are_gone(tmp_path, 1)


@forked_and_spawned
@pytest.mark.exhaustive
def test_the_tail_of_excessive_output_is_stored_without_blocking_the_solver(slot, case_of, strange):
    body = """
        import subprocess
        for _ in range(200):
            os.write(1, b"x" * 10**5)
        subprocess.run(["sh", "-c", "echo child >&2"], check=True)
        print("last", end="")
        yield FormPoint(x)
        """
    outcome = slot.run(case_of(strange(body)))
    assert outcome.record["status"] == "finished"
    assert len(outcome.output) == 4000
    assert outcome.output.endswith("xchild\nlast")
    assert slot.run(case_of()).output == ""  # nothing of it is taken for the next run's


@forked_and_spawned
def test_a_crashed_run_reports_its_location(slot, case_of, strange):
    outcome = slot.run(case_of(strange("import ctypes; ctypes.string_at(0)\nyield")))
    assert "Fatal Python error: Segmentation fault" in outcome.output
    assert "strange.py" in outcome.output
    assert outcome.record["reason"].startswith("the process was killed by SIGSEGV; last output: ")
    outcome = slot.run(case_of(strange("print('goodbye'); os._exit(3)\nyield")))
    assert outcome.record["reason"].endswith("exit code 3; last output: goodbye")


@forked_and_spawned
def test_a_solver_that_closes_its_streams_does_not_harm_the_next(slot, case_of, strange):
    body = "print('here'); sys.stdout.close(); sys.stderr = None\nyield FormPoint(x)"
    case = case_of(strange(body))
    for _ in range(2):
        outcome = slot.run(case)
        assert outcome.record["status"] == "finished", outcome.record["reason"]
        assert outcome.output == "here\n"


FORGES = """
from dualgap.experiments.cases.messages import SolverAnswer
from dualgap.experiments.workers.wire import pack
time.sleep({seconds})
x = np.zeros(form.n)
found = dict(status="finished", claimed="optimal", note="", time_solve=1e-9, time_setup=0.0)
found |= dict(cpu_time=0.0, iterations=1, counters={{}}, version="", derived_tol=None, finer_tol=None)
answer = SolverAnswer([found])
for file in range(3, 50):
    try:
        if "dualgap_worker_" in os.readlink(f"/proc/self/fd/{{file}}"):
            os.write(file, {content} + bytes(24))  # and how much it used
    except OSError:
        pass
os._exit(0)
yield
"""
FORGED = [  # what a solver writes in the place of its answer, and what its row says of that
    ("b'cos\\nsystem\\n(S\\'touch {mark}\\'\\ntR.'", "truncated"),
    ("bytes(64)", "its header"),
    ("pack({'run': 'me'})", "reports: has 0 answers, expected 1"),
    ("pack(answer, {'k': x})", "an unexpected array 'k'"),
    ("pack(answer, {'alpha 0': x[:3]})", "alpha 0: has shape (3,)"),
    ("pack(answer, {'alpha 0': x})[:-8]", "alpha 0: is truncated"),
    ("pack(answer, {'alpha 0': x}) + b'.'", "has data after its last"),
]


@pytest.mark.parametrize(("content", "message"), FORGED)
def test_forged_bytes_are_a_crashed_row_and_never_executed(
    slot, case_of, strange, tmp_path, content, message
):
    mark = tmp_path / "mark"
    body = FORGES.format(seconds=0, content=content.replace("{mark}", str(mark)))
    record = slot.run(case_of(strange(body))).record
    assert (record["status"], record["verdict"]) == ("crashed", "uncertified")
    assert message in record["reason"]
    assert not mark.exists()
    assert slot.run(case_of()).record["verdict"] == "solved"


@forked_and_spawned
def test_a_forged_answer_is_certified_by_its_point_and_timed_by_the_supervisor(
    slot, case_of, strange
):
    body = FORGES.format(seconds=0.3, content="pack(answer, {'alpha 0': x})")
    record = slot.run(case_of(strange(body))).record
    assert (record["status"], record["verdict"]) == ("finished", "wrong")
    assert record["time_solve"] > 0.3
    assert "claimed neither as set-up nor as solving" in record["reason"]


@pytest.mark.exhaustive
def test_a_crash_while_sending_a_result_does_not_block_the_worker(slot, case_of, strange):
    body = """
        import psutil
        channels = f"/proc/{os.getppid()}/fd"  # those of the process that this is a copy of
        for name in sorted(os.listdir(channels), key=int)[3:]:
            try:
                if "pipe" in os.readlink(f"{channels}/{name}"):
                    file = os.open(f"{channels}/{name}", os.O_WRONLY | os.O_NONBLOCK)
                    os.write(file, b"\\x00\\x00\\xff\\xff" + b"x" * 100)
            except OSError:
                pass
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(1)
        yield
        """
    assert slot.run(case_of(strange(body))).record["status"] == "crashed"
    assert slot.run(case_of()).record["verdict"] == "solved"


def test_no_answer_can_be_sent_through_the_files_of_the_worker(slot, case_of, strange):
    body = """
        from dualgap.experiments.workers.wire import RETURNED, frame
        channels = f"/proc/{os.getppid()}/fd"
        for name in os.listdir(channels):
            try:
                if "pipe" in os.readlink(f"{channels}/{name}") and int(name) > 2:
                    file = os.open(f"{channels}/{name}", os.O_WRONLY | os.O_NONBLOCK)
                    os.write(file, frame(RETURNED, b"forged"))
            except OSError:
                pass
        yield FormPoint(x, claim="stopped")
        """
    assert slot.run(case_of(strange(body))).record["status"] == "finished"


def _compile(report, *_):
    report("compiling smo")
    time.sleep(1.0)
    report("setting up smo")
    return b""


def test_a_compilation_is_reported_once(slot, case_of, monkeypatch):
    """Two that alternate would else print a line each time that a worker is inspected."""
    monkeypatch.setattr("dualgap.experiments.executors.local.run", _compile)
    phases = []
    slot.run(case_of(), on_status=phases.append)
    assert phases == ["compiling smo"]


KILLED = "os.kill(os.getpid(), signal.SIGKILL)\nyield"


def test_a_kill_that_the_kernel_counts_is_out_of_memory(slot, case_of, strange, monkeypatch):
    monkeypatch.setattr(
        "dualgap.experiments.executors.local.oom_kills", itertools.count(7).__next__
    )
    record = slot.run(case_of(strange(KILLED))).record
    assert (record["status"], record["signal"]) == ("out_of_memory", "SIGKILL")
    assert "by the kernel: the memory was full" in record["reason"]
    exited = slot.run(case_of(strange("os._exit(137)\nyield"))).record
    assert (exited["status"], exited["signal"]) == ("crashed", "exit 137")


GRANDPARENT = """
import sys
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.executors.local import WorkerSlot
from dualgap.experiments.cases.plan import plan
from pathlib import Path

if __name__ == "__main__":
    case = plan(read_experiment(Path(sys.argv[1])))[0]
    WorkerSlot(1).run(case)
"""


@pytest.mark.exhaustive
def test_a_grandchild_does_not_outlive_a_kill_of_the_command(write, strange, tmp_path):
    solver = strange(f"{born(tmp_path)}\ntime.sleep(600)\nyield")
    path = write(posing(solvers=[f"'{solver}'"]))
    script, temporary = tmp_path / "script.py", tmp_path / "temporary"
    script.write_text(GRANDPARENT)
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, script, path], env=environment) as process:
        wait_for(lambda: len([mark for mark in tmp_path.glob("mark*") if mark.read_text()]) == 2)
        process.kill()
    wait_until_all_are_gone(tmp_path)
    wait_for(lambda: not list(temporary.glob("dualgap-*")))


DAMAGE = {
    "working directory": "os.chdir('/')",
    "output": "sys.stdout.flush(); os.close(1); os.close(2)",
    "environment": "os.environ.pop('PATH', None)",
    "threads": "import threading\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    "signal handlers": "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "recursion limit": "sys.setrecursionlimit(10**8)",
    "garbage collection": "import gc\ngc.disable()",
    "clock": "time.monotonic = lambda: -1e9",
    "sparse products": "import scipy.sparse as sp\nsp.csr_array.__matmul__ = lambda *_: np.zeros(0)",
    "dense products": "np.matmul = np.dot = np.zeros",
    "certificates": "p = sys.modules['dualgap.problems']\nfor n in dir(p):\n    setattr(p, n, None)",
    "samples": "X = form.gram.X\nX.flags.writeable = True\nX[:] = 3",
    "channels": "for file in range(3, 50):\n    try:\n        os.write(file, b'x' * 100)\n"
    "    except OSError:\n        pass",
}
if find_spec("snapml") is not None:  # importing it here would change this process
    DAMAGE["subnormal numbers"] = "import snapml"


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_solver_that_damages_its_process_affects_no_other_run(slot, case_of, strange, kind):
    solver = strange(f"{DAMAGE[kind]}\nyield FormPoint(x, claim='optimal')")
    record = slot.run(case_of(solver)).record
    status_and_verdict = (record["status"], record["verdict"])
    assert status_and_verdict in {("finished", "wrong"), ("crashed", "uncertified")}
    after, alone = slot.run(case_of()).record, run_case(case_of()).record
    for column in ("status", "verdict", "primal_objective", "dual_objective", "n_free"):
        assert after[column] == alone[column], column
    # seconds that nobody claimed are those of other processes on a busy machine
    reasons = (re.sub(r"\S+ s claimed neither [^;]*", "", row["reason"]) for row in (after, alone))
    assert next(reasons) == next(reasons)


@forked_and_spawned
def test_a_solver_is_not_certified_by_functions_that_it_patched(slot, case_of, strange):
    body = """
        import scipy.sparse as sp
        sp.csr_array.__matmul__ = lambda self, other: np.zeros(self.shape[0])
        yield FormPoint(x, claim="optimal")
        """
    sparse = posing(dataset="{name: sparse_classification, n: 20}", C=1)
    record = slot.run(case_of(strange(body), text=sparse)).record
    assert record["verdict"] == "wrong"
    assert record["primal_objective"] == pytest.approx(20.0)


OFF_THE_CLOCK = ["CountersThatSolve", "ClockForOneStep", "SolvesInRefuses", "HonestWhenWatched"]
OFF_THE_CLOCK += ["DividesItsTime"]
OTHERS = ["HiresAProcess", "ClaimThatSolves", "ThreadGoesOn", "SolvesInPrepare"]


@pytest.mark.parametrize(
    "name",
    [*OFF_THE_CLOCK, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS)],
)
def test_work_off_the_clock_is_timed_reported_or_discarded(slot, case_of, name):
    solver = f"{ZOO / 'off_the_clock.py'}:{name}"
    record, consequence = slot.run(case_of(solver)).record, SOLVERS.find(solver).consequence
    if consequence == "wrong":
        assert record["verdict"] == "wrong"
    else:
        assert record["verdict"] == "solved", record["reason"]
        assert record[consequence] > 0.4
    if name != "ThreadGoesOn":  # its thread may delay the one that returns the answer
        divided = "claimed neither as set-up nor as solving" in record["reason"]
        assert divided == (name == "DividesItsTime")


@pytest.mark.exhaustive
def test_memory_of_a_run_does_not_depend_on_the_runs_before_it(case_of):
    # samples that are multiplied as a dense matrix of 8 MB, of which every run makes three
    source = {"name": "sparse_classification", "n": 500, "d": 2000, "density": 0.03}
    kernel, slot = {"name": "rbf", "gamma": 0.05}, WorkerSlot(1)
    texts = [posing(dataset=source | {"seed": k}, kernel=kernel, C=0.01) for k in range(5)]
    try:
        records = [slot.run(case_of(text=texts[run // 4])).record for run in range(20)]
    finally:
        slot.worker.stop()
    assert {record["status"] for record in records} == {"finished"}
    first, last = records[0]["peak_rss"], records[-1]["peak_rss"]
    assert abs(last - first) < 0.05 * first
