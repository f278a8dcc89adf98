"""A call in a fork of this process, and the memory that the process keeps from call to call."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import psutil
import pytest

import dualgap.solvers.numerics.timing  # noqa: F401 - each fork would import it
from dualgap.experiments.workers import isolation
from dualgap.experiments.workers.isolation import call_in_child
from dualgap.experiments.workers.supervision import Worker

CYCLE_BYTES = 2**23  # large enough for 20 of them to be half of what a worker with NumPy takes


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker(threads=1)
    yield worker
    worker.stop()


def _process_id(_: object) -> bytes:
    return b"%d" % os.getpid()


def _fork_after_leaving_a_cycle() -> bytes:
    """Fork a process that holds an unreachable cycle; return what it had resident afterwards."""
    cycle: list[Any] = [np.ones(CYCLE_BYTES // 8)]
    cycle.append(cycle)
    del cycle
    with call_in_child(_process_id).file:
        return b"%d" % psutil.Process().memory_info().rss


def test_unreachable_cycles_are_freed_before_the_next_fork(worker: Worker) -> None:
    resident = []
    for _ in range(20):
        worker.call(_fork_after_leaving_a_cycle)
        resident.append(int(worker.finish(60.0)))
    assert abs(resident[-1] - resident[0]) < 0.05 * resident[0]


def _begin_twice(start: Callable[[], object]) -> bytes:
    start()
    start()
    return b"x"


def _delay_of_a_call() -> bytes:
    waited = iter([1.0, 4.0, 9.0])  # as it starts, as it begins to solve, and at its end
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isolation, "_delayed", lambda: next(waited))
        result = call_in_child(_begin_twice)
    with result.file:
        return b"%g" % result.delayed


def test_waiting_for_a_processor_counts_from_the_start_of_solving(worker: Worker) -> None:
    worker.call(_delay_of_a_call)
    assert worker.finish(60.0) == b"5"
