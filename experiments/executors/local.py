"""Cases are run in worker processes of this machine."""

from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import ClassVar

from experiments.cases.plan import Case
from experiments.cases.records import Outcome
from experiments.executors.base import Executor, ExecutorError
from experiments.executors.slot import WorkerSlot
from experiments.workers.machine import cores


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Runs cases in `workers` processes of this machine, of which the default number is 1."""

    name: ClassVar[str] = "local"

    def check(self) -> None:
        """Refuse an address: there is nothing to connect to."""
        if self.address is not None:
            raise ExecutorError("--scheduler: is that of a Dask scheduler; add --executor dask")

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator."""
        waiting, workers, ended = iter(cases), self.workers or 1, Event()
        threads = max(1, cores() // workers)
        free = [WorkerSlot(threads, self.grace) for _ in range(workers)]

        def outcome_of(case: Case) -> Outcome:
            slot = free.pop()
            try:
                return slot.run(case, ended.is_set, self.told)
            finally:
                free.append(slot)

        running, watching = set[Future[Outcome]](), ThreadPoolExecutor(workers)
        try:
            while True:
                for case in islice(waiting, workers - len(running)):
                    running.add(watching.submit(outcome_of, case))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            ended.set()
            watching.shutdown()
            for slot in free:
                slot.stop()
