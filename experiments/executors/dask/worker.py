"""Isolated processes beside a Dask worker: what happens where a task of Dask is run."""

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

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, pack_outcome
from dualgap.experiments.executors.slot import WorkerSlot
from dualgap.experiments.workers.machine import cores

_IDLE = 60.0  # seconds after which a process without a case is ended
_POLL = 0.05  # seconds


def run_beside(case: Case, name: str) -> bytes:
    """Run one case, whose outcome is returned as a message.

    This is the task, in a thread of a Dask worker that has the plugin `name`.
    """
    plugin: Any = get_worker().plugins[name]
    return pack_outcome(plugin.run(case))


class Isolation(WorkerPlugin):
    """Keeps isolated processes beside a Dask worker, for the cases of one command.

    They end with the worker, with the command, and after a while without a case, as when the command
    was killed.
    """

    def __init__(self, grace: float) -> None:
        self.name, self.grace = f"dualgap-{uuid4().hex}", grace

    def setup(self, worker: Worker) -> None:
        """Begin on a Dask worker."""
        # a nanny makes its worker a daemon, and a daemon may not start processes
        multiprocessing.current_process().daemon = False
        if worker.nanny is not None:  # which ends it in good order; Ctrl-C reaches both
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.worker = worker
        self.free: deque[tuple[WorkerSlot, float]] = deque()  # and since when
        self.running: dict[Any, Event] = {}
        self.cleaning = PeriodicCallback(self._end_idle, 1000 * _IDLE)
        self.cleaning.start()

    async def teardown(self, worker: Worker) -> None:
        """End all processes, and what runs in them."""
        self.cleaning.stop()
        for given_up in list(self.running.values()):
            given_up.set()
        while self.running:
            await asyncio.sleep(_POLL)
        for slot, _ in self.free:
            slot.worker.stop()

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End a run that nobody waits for any more."""
        if finish == "released" and key in self.running:
            self.running[key].set()

    def run(self, case: Case) -> Outcome:
        """Run a case in a process that is free, or in a new one."""
        key, given_up = self.worker.get_current_task(), Event()
        try:
            slot, _ = self.free.pop()
        except IndexError:
            slot = WorkerSlot(_threads(self.worker), self.grace)
        self.running[key] = given_up
        try:
            return slot.run(case, given_up.is_set)
        finally:
            self.free.append((slot, time.monotonic()))
            del self.running[key]

    def _end_idle(self) -> None:
        with suppress(IndexError):  # a run has taken the last one
            for _ in range(len(self.free)):
                slot, since = self.free.popleft()
                if time.monotonic() - since > _IDLE:
                    slot.worker.stop()
                else:
                    self.free.append((slot, since))


def _threads(worker: Worker) -> int:
    """Return how many of its host's cores belong to one run of a Dask worker."""
    scheduler: Callable[..., Any] = worker.scheduler.identity
    here = get_address_host(worker.address)
    known = sync(worker.loop, scheduler)["workers"].values()
    at_once = sum(other["nthreads"] for other in known if other["host"] == here)
    return max(1, cores() // max(1, at_once))
