"""Run cases in worker processes on this machine."""

import shutil
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from threading import Event
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.executors.base import Executor, ExecutorError
from dualgap.experiments.executors.slot import WorkerSlot
from dualgap.experiments.workers.machine import cores

CHECKPOINTS = "checkpoints"  # subfolder of the results, with one folder per unfinished run


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Runs cases in `workers` processes on this machine, by default 1.

    Checkpoints of a solver are kept until its run has ended, and so for `--resume` if all processes are
    killed.
    """

    name: ClassVar[str] = "local"

    def check(self) -> None:
        """Refuse an address: there is no service to connect to."""
        if self.address is not None:
            raise ExecutorError("--scheduler is for Dask only. Add --executor dask.")

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcomes of cases as they complete; all processes end with the iterator."""
        pending, workers, stopped = iter(cases), self.workers or 1, Event()
        threads = max(1, cores() // workers)
        free = [WorkerSlot(threads, self.grace_period_s) for _ in range(workers)]

        def outcome_of(case: Case) -> Outcome:
            slot, checkpoints = free.pop(), None
            if self.folder is not None:
                checkpoints = self.folder.absolute() / CHECKPOINTS / case.run_id
                case = replace(case, checkpoints=str(checkpoints))
            try:
                outcome = slot.run(case, stopped.is_set, self.on_status)
                if checkpoints is not None and checkpoints.exists():
                    shutil.rmtree(checkpoints, ignore_errors=True)
                    with suppress(OSError):  # it has checkpoints of another run
                        checkpoints.parent.rmdir()
                return outcome
            finally:
                free.append(slot)

        running, pool = set[Future[Outcome]](), ThreadPoolExecutor(workers)
        try:
            while True:
                for case in islice(pending, workers - len(running)):
                    running.add(pool.submit(outcome_of, case))
                if not running:
                    return
                completed, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in completed)
        finally:
            stopped.set()
            pool.shutdown()
            for slot in free:
                slot.worker.stop()
