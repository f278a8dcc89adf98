"""Cases are run in worker processes of this machine."""

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

CHECKPOINTS = "checkpoints"  # a folder in that of the runs, with one for each run that goes on


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Runs cases in `workers` processes of this machine, of which the default number is 1.

    What a solver leaves in its folder of checkpoints is kept until the run has ended, and so for
    `--resume` if all processes are killed.
    """

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
            slot, kept = free.pop(), None
            if self.folder is not None:
                kept = self.folder.absolute() / CHECKPOINTS / case.run_id
                case = replace(case, checkpoints=str(kept))
            try:
                outcome = slot.run(case, ended.is_set, self.told)
                if kept is not None and kept.exists():
                    shutil.rmtree(kept, ignore_errors=True)
                    with suppress(OSError):  # another run is going on
                        kept.parent.rmdir()
                return outcome
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
                slot.worker.stop()
