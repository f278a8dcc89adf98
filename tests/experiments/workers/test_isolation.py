"""A call in a fork of this process, and the memory that the process keeps from call to call."""

import os

import numpy as np
import psutil
import pytest

from experiments.workers.isolation import call_in_copy
from experiments.workers.supervision import Worker

CYCLE_BYTES = 2**23  # large enough for 20 of them to be half of what a worker with NumPy takes


@pytest.fixture
def worker():
    worker = Worker(threads=1)
    yield worker
    worker.stop()


def _fork_after_leaving_a_cycle():
    """Fork a process that holds an unreachable cycle; return what it had resident afterwards."""
    cycle = [np.ones(CYCLE_BYTES // 8)]
    cycle.append(cycle)
    del cycle
    with call_in_copy(lambda begin: b"%d" % os.getpid()).file:
        return b"%d" % psutil.Process().memory_info().rss


def test_unreachable_cycles_are_freed_before_the_next_fork(worker):
    resident = []
    for _ in range(20):
        worker.call(_fork_after_leaving_a_cycle)
        resident.append(int(worker.finish(60.0)))
    assert abs(resident[-1] - resident[0]) < 0.05 * resident[0]
