"""Cases are run in worker processes of this machine."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import ClassVar

from experiments.cases.plan import Case
from experiments.cases.records import Outcome
from experiments.executors.base import Executor, ExecutorError
from experiments.executors.slot import WorkerSlot
from experiments.workers.machine import cores
from experiments.workers.start import COMPILING
from experiments.workers.supervision import POLL


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Runs cases in `workers` processes of this machine, of which the default number is 1."""

    name: ClassVar[str] = "local"

    def check(self) -> None:
        """Refuse an address: there is nothing to connect to."""
        if self.address is not None:
            raise ExecutorError("--address: is that of a Dask scheduler; add --executor dask")

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator."""
        waiting, workers = iter(cases), self.workers or 1
        threads = max(1, cores() // workers)
        slots = [WorkerSlot(threads, self.grace) for _ in range(workers)]
        try:
            while True:
                for slot in slots:
                    if slot.case is None and (case := next(waiting, None)) is not None:
                        slot.start(case)
                busy = [slot for slot in slots if slot.case]
                if not busy:
                    return
                wait([handle for slot in busy for handle in slot.worker.handles], timeout=POLL)
                for slot in busy:
                    if (phase := slot.worker.phase()[0]).startswith(COMPILING):
                        self.told(phase)
                yield from (done for slot in busy if (done := slot.outcome()) is not None)
        finally:
            for slot in slots:
                slot.stop()
