"""One supervised process at a time: what it returns, how it ends, what it leaves."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psutil
import pytest
from tests.halves import quick_cases

from dualgap.experiments.workers.processes import alive
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import WorkerError, WorkerExit


@pytest.fixture(scope="module")
def worker():
    """A worker whose process is that of the test before, if that left one."""
    worker_of_three = Worker(threads=3)
    yield worker_of_three
    worker_of_three.stop()


def _result_of(worker, function, *arguments):
    """Return what a function returns in a worker, as text."""
    worker.call(_as_bytes, function, *arguments)
    return worker.finish(60.0).decode()


def _as_bytes(function, *arguments):
    return str(function(*arguments)).encode()


def test_a_process_is_reused_until_its_exit_which_removes_its_folder(worker):
    first, second = (_result_of(worker, os.getpid) for _ in range(2))
    assert first == second != str(os.getpid())
    assert _result_of(worker, os.getenv, "OMP_NUM_THREADS") == "3"
    with pytest.raises(WorkerExit, match="the process ended with exit code 4") as death:
        _result_of(worker, os._exit, 4)
    assert (death.value.code, death.value.signal) == (4, "")
    third = _result_of(worker, os.getpid)
    assert third not in (first, str(os.getpid()))
    worker.stop()
    assert not alive(int(third))


def test_a_script_is_not_run_again_by_its_workers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nfrom dualgap.experiments.workers.supervision import Worker\nprint('begun')\n"
        "worker = Worker(threads=1)\nworker.call(os.getcwdb)\nprint(worker.finish(60.0).decode())\n"
        "worker.stop()\n"
    )
    output = subprocess.check_output([sys.executable, script], text=True)
    assert output.splitlines() == ["begun", os.getcwd()]


def test_an_exit_with_0_and_a_signal_are_distinguished(worker):
    with pytest.raises(WorkerExit, match="ended with exit code 0"):
        _result_of(worker, os._exit, 0)
    with pytest.raises(WorkerExit, match="was killed by SIGABRT"):
        _result_of(worker, os.abort)


def test_a_call_that_does_not_return_in_time_ends_with_its_process(worker):
    pid = _result_of(worker, os.getpid)
    worker.call(time.sleep, 600.0)
    with pytest.raises(TimeoutError, match="did not end within 0 s"):
        worker.finish(0.2)
    assert not alive(int(pid))
    assert _result_of(worker, abs, -1) == "1"


def test_an_exception_of_a_call_is_reported_to_the_caller(worker):
    output = "ZeroDivisionError: integer division or modulo by zero"
    with pytest.raises(WorkerError, match=output):
        _result_of(worker, divmod, 1, 0)


def _solve(report):
    report("solving")
    return b""


def test_a_phase_is_that_of_the_call_and_not_of_the_one_before(worker):
    worker.call(_solve, reporting=True)
    worker.finish(60.0)
    assert worker.phase()[0] == "solving"
    worker.call(_as_bytes, time.sleep, 0.0)
    assert worker.phase()[0] == "starting"
    worker.finish(60.0)


# what a call writes to the pipe of its worker, found as a solver from outside would find it
SENT = {
    "no frame": b"hello, this is no frame at all",
    "a pickle": b"cos\nsystem\n(S'exit 3'\ntR.",
    "a frame without an end": b"r" + (2**60).to_bytes(8, "little") + b"x" * 100,
}


def _send(content):
    for number in range(3, 50):
        try:
            os.write(number, content)
        except OSError:
            continue
    return b""


@pytest.mark.parametrize("kind", quick_cases(SENT, [*SENT][1:]))
def test_an_invalid_frame_is_an_error_and_not_executed(worker, kind):
    worker.call(_send, SENT[kind])
    with pytest.raises(WorkerError, match="sent bytes that are not an answer"):
        worker.finish(60.0)
    assert not worker.is_reusable()
    assert _result_of(worker, abs, -1) == "1"


@pytest.mark.exhaustive
def test_an_endless_frame_is_limited_by_the_time_of_its_call(worker):
    worker.call(_send, b"r" + (100).to_bytes(8, "little") + b"torn")
    with pytest.raises(TimeoutError):
        worker.finish(3.0)


def test_a_call_returns_bytes(worker):
    worker.call(abs, -1)
    with pytest.raises(WorkerError, match="TypeError"):
        worker.finish(60.0)
    assert _result_of(worker, abs, -1) == "1"


def _leave_a_file():
    with tempfile.NamedTemporaryFile(delete=False) as file:
        return file.name


def _leave_a_zombie():
    return os.fork() or os._exit(0)


@pytest.mark.parametrize("function", [_leave_a_file, _leave_a_zombie])
def test_a_process_with_side_effects_is_not_reused(worker, function):
    assert _result_of(worker, abs, -1) == "1"
    assert worker.is_reusable()
    _result_of(worker, function)
    assert not worker.is_reusable()
    worker.stop()


CHAIN = """
import os, time
os.setsid()
end = time.time() + 20
while time.time() < end:
    if os.fork():
        os._exit(0)
"""


@pytest.mark.exhaustive
def test_a_fork_chain_in_a_separate_session_is_killed(worker):
    marker = _result_of(worker, _start_a_chain)
    worker.stop()
    survivors = [p for p in psutil.process_iter(["cmdline"]) if marker in (p.info["cmdline"] or [])]
    assert survivors == []


def _start_a_chain():
    name = f"chain{os.getpid()}"
    subprocess.Popen([sys.executable, "-SIc", CHAIN, name])
    time.sleep(0.3)
    return name


def test_a_process_that_cannot_be_started_completely_leaves_nothing(monkeypatch, tmp_path):
    """As when the descriptors of this process are used up."""
    started = []

    def fail(pid, _):
        started.append(pid)
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    worker = Worker(threads=1)
    with monkeypatch.context() as patch:
        patch.setattr("dualgap.experiments.workers.supervision.Reaper", fail)
        with pytest.raises(OSError, match="Too many open files"):
            worker.call(_as_bytes, abs, -1)
    assert not alive(started[0])
    assert list(tmp_path.iterdir()) == []
    worker.stop()
    assert _result_of(worker, abs, -1) == "1"
    worker.stop()


def _die_of(number):
    os.kill(os.getpid(), number)


def test_a_signal_without_a_name_is_reported_by_number(worker):
    with pytest.raises(WorkerExit, match="the process was killed by signal 40"):
        _result_of(worker, _die_of, 40)


def test_a_crash_while_a_large_call_is_sent_is_reported(worker):
    pid = int(_result_of(worker, os.getpid))
    os.kill(pid, signal.SIGSTOP)  # it reads nothing
    threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()
    worker.call(_as_bytes, len, bytes(2**23))
    with pytest.raises(WorkerExit, match="was killed by SIGKILL"):
        worker.finish(60.0)
