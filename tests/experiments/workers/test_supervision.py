"""One supervised process at a time: what it returns, how it ends, what it leaves."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pickle import PicklingError

import pytest

from experiments.workers.processes import alive
from experiments.workers.supervision import Worker, WorkerExit


@contextmanager
def _worker():
    worker = Worker(threads=3)
    try:
        yield worker
    finally:
        worker.stop()


def _begun(worker, function, *arguments):
    worker.call(function, *arguments)
    return worker.finish(60.0)


def test_a_process_is_used_again_until_it_ends_and_its_folder_goes_with_it():
    with _worker() as worker:
        first, second = (_begun(worker, os.getpid) for _ in range(2))
        assert first == second != os.getpid()
        assert _begun(worker, os.getenv, "OMP_NUM_THREADS") == "3"
        with pytest.raises(WorkerExit, match="the process ended with exit code 4") as death:
            _begun(worker, os._exit, 4)
        assert (death.value.code, death.value.signal) == (4, "")
        third = _begun(worker, os.getpid)
        assert third not in (first, os.getpid())
    assert not alive(third)


def test_an_exit_with_0_and_a_signal_are_distinguished():
    with _worker() as worker:
        with pytest.raises(WorkerExit, match="ended with exit code 0"):
            _begun(worker, os._exit, 0)
        with pytest.raises(WorkerExit, match="was killed by SIGABRT"):
            _begun(worker, os.abort)


def test_a_call_that_does_not_return_in_time_ends_with_its_process():
    with _worker() as worker:
        pid = _begun(worker, os.getpid)
        worker.call(time.sleep, 600.0)
        with pytest.raises(TimeoutError, match="no end after 0 s"):
            worker.finish(0.2)
        assert not alive(pid)
        assert _begun(worker, abs, -1) == 1


def test_what_a_call_raises_is_raised_here():
    with _worker() as worker, pytest.raises(ZeroDivisionError):
        _begun(worker, divmod, 1, 0)


def _solve(report):
    report("solving")


def test_a_phase_is_that_of_the_call_and_not_of_the_one_before():
    with _worker() as worker:
        worker.call(_solve, reporting=True)
        worker.finish(60.0)
        assert worker.phase()[0] == "solving"
        worker.call(time.sleep, 0.0)
        assert worker.phase()[0] == "starting"


def test_what_cannot_be_sent_or_read_is_an_error():
    with _worker() as worker:
        with pytest.raises(PicklingError, match="pickle"):
            _begun(worker, eval, "lambda: 0")
        with pytest.raises(ZeroDivisionError):
            _begun(worker, _Unreadable)
        assert _begun(worker, abs, -1) == 1


class _Unreadable:
    def __reduce__(self):
        return divmod, (1, 0)
