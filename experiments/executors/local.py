"""Run cases in worker processes on this machine."""

from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.executors.base import Executor, ExecutorError
from dualgap.experiments.executors.slot import WorkerSlot
from dualgap.experiments.workers.machine import cores


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Runs cases in `workers` processes on this machine, by default 1."""

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
            slot = free.pop()
            try:
                return slot.run(case, stopped.is_set, self.on_status)
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
