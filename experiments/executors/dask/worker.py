"""Isolated processes beside a Dask worker: what happens where a task of Dask is run."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from uuid import uuid4

from distributed import Worker, WorkerPlugin, get_worker, sync
from distributed.comm.addressing import get_address_host
from tornado.ioloop import PeriodicCallback

from experiments.cases.plan import Case
from experiments.cases.records import Outcome
from experiments.executors.base import Limits
from experiments.executors.slot import WorkerSlot
from experiments.workers.machine import cores

_IDLE = 60.0  # seconds after which a process without a case is ended


def run_beside(case: Case, name: str) -> Outcome:
    """Run one case; this is the task, in a thread of a Dask worker that has the plugin `name`."""
    plugin: Any = get_worker().plugins[name]
    return plugin.run(case)


class Isolation(WorkerPlugin):
    """Keeps isolated processes beside a Dask worker, for the cases of one command.

    They end with the worker, with the command, and after a while without a case, as when the command
    was killed.
    """

    def __init__(self, limits: Limits) -> None:
        self.name, self.limits = f"dualgap-{uuid4().hex}", limits

    def setup(self, worker: Worker) -> None:
        """Begin on a Dask worker."""
        # a nanny makes its worker a daemon, and a daemon may not start processes
        multiprocessing.current_process().daemon = False
        if worker.nanny is not None:  # which ends it in good order; Ctrl-C reaches both
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.worker = worker
        self.processes: list[_Process] = []
        self.free: deque[_Process] = deque()
        self.running: dict[Any, Event] = {}
        self.cleaning = PeriodicCallback(self._end_idle, 1000 * _IDLE)
        self.cleaning.start()

    async def teardown(self, worker: Worker) -> None:
        """End all processes, and what runs in them."""
        self.cleaning.stop()
        for given_up in list(self.running.values()):
            given_up.set()
        await asyncio.gather(*(asyncio.to_thread(process.end) for process in self.processes))

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        """End a run that nobody waits for any more."""
        if finish == "released" and key in self.running:
            self.running[key].set()

    def run(self, case: Case) -> Outcome:
        """Run a case in a process that is free, or in a new one."""
        key, given_up = self.worker.get_current_task(), Event()
        process = self.free.pop() if self.free else self._new_process()
        self.running[key] = given_up
        try:
            return process.run(case, given_up)
        finally:
            del self.running[key]
            self.free.append(process)

    def _new_process(self) -> _Process:
        process = _Process(WorkerSlot(self.limits, _threads(self.worker)))
        self.processes.append(process)
        return process

    def _end_idle(self) -> None:
        for process in list(self.free):
            process.end_if_idle()


class _Process:
    """A worker slot and the one thread that uses it, whichever of Dask's threads asks; those may end."""

    def __init__(self, slot: WorkerSlot) -> None:
        self.slot, self.used = slot, 0.0
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="dualgap")

    def run(self, case: Case, given_up: Event) -> Outcome:
        return self.thread.submit(self._run, case, given_up).result()

    def _run(self, case: Case, given_up: Event) -> Outcome:
        outcome = self.slot.run(case, given_up.is_set)
        self.used = time.monotonic()
        return outcome

    def end_if_idle(self) -> None:
        """End the process if it has had no case for a while."""
        self.thread.submit(self._end_if_idle)

    def _end_if_idle(self) -> None:
        if time.monotonic() - self.used > _IDLE:
            self.slot.stop()

    def end(self) -> None:
        """End the process, once the thread has nothing else to do."""
        self.thread.submit(self.slot.stop)
        self.thread.shutdown()


def _threads(worker: Worker) -> int:
    """Return how many of its host's cores belong to one run of a Dask worker."""
    scheduler: Callable[..., Any] = worker.scheduler.identity
    here = get_address_host(worker.address)
    known = sync(worker.loop, scheduler)["workers"].values()
    at_once = sum(other["nthreads"] for other in known if other["host"] == here)
    return max(1, cores() // max(1, at_once))
