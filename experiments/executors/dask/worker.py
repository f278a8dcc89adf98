"""Isolated processes next to a Dask worker: the worker's side of a task."""

import asyncio
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any
from uuid import uuid4

from distributed import Worker, WorkerPlugin, get_worker, sync
from distributed.comm.addressing import get_address_host
from tornado.ioloop import PeriodicCallback

from dualgap.experiments.cases.messages import pack_outcome
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.executors.local import WorkerSlot
from dualgap.experiments.workers.machine import cores

_IDLE_TIMEOUT_S = 60.0  # an idle process outlives its command by at most twice this time
_POLL_INTERVAL_S = 0.05


def run_beside(case: Case, name: str) -> bytes:
    """Run one case and return its outcome as a message.

    This is the task, in a thread of a Dask worker with the plugin `name`.
    """
    plugin: Any = get_worker().plugins[name]
    return pack_outcome(plugin.run(case))


class Isolation(WorkerPlugin):
    """Keeps isolated processes next to a Dask worker, for the cases of one command.

    They end with the worker, with the command, or after an idle time if the command was killed.
    """

    def __init__(self, grace_period_s: float) -> None:
        self.name, self.grace_period_s = f"dualgap-{uuid4().hex}", grace_period_s

    def setup(self, worker: Worker) -> None:
        """Start on a Dask worker."""
        # the worker of a nanny is a daemon, and daemons may not start processes
        multiprocessing.current_process().daemon = False
        if worker.nanny is not None:  # Ctrl-C reaches both; the nanny ends its worker cleanly
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.worker = worker
        self.free: deque[tuple[WorkerSlot, float]] = deque()  # with the time when it became idle
        self.running: dict[Any, Event] = {}
        self.cleaning = PeriodicCallback(self._end_idle, 1000 * _IDLE_TIMEOUT_S)
        self.cleaning.start()

    async def teardown(self, worker: Worker) -> None:
        """Kill all processes and their runs."""
        self.cleaning.stop()
        for cancelled in list(self.running.values()):
            cancelled.set()
        while self.running:
            await asyncio.sleep(_POLL_INTERVAL_S)
        for slot, _ in self.free:
            slot.worker.stop()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """Cancel a run whose result is no longer needed."""
        if finish == "released" and key in self.running:
            self.running[key].set()

    def run(self, case: Case) -> Outcome:
        """Run a case in an idle process, or in a new one."""
        key, cancelled = self.worker.get_current_task(), Event()
        try:
            slot, _ = self.free.pop()
        except IndexError:
            slot = WorkerSlot(_threads(self.worker), self.grace_period_s)
        self.running[key] = cancelled
        try:
            return slot.run(case, cancelled.is_set)
        finally:
            self.free.append((slot, time.monotonic()))
            del self.running[key]

    def _end_idle(self) -> None:
        with suppress(IndexError):  # a run has just taken the last one
            for _ in range(len(self.free)):
                slot, since = self.free.popleft()
                if time.monotonic() - since > _IDLE_TIMEOUT_S:
                    slot.worker.stop()
                else:
                    self.free.append((slot, since))


def _threads(worker: Worker) -> int:
    """Return the number of cores per run of a Dask worker."""
    scheduler: Callable[..., Any] = worker.scheduler.identity
    host = get_address_host(worker.address)
    workers = sync(worker.loop, scheduler)["workers"].values()
    parallel = sum(other["nthreads"] for other in workers if other["host"] == host)
    return max(1, cores() // max(1, parallel))
