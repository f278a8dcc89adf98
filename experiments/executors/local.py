"""Cases are run in worker processes of this machine."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import ClassVar

from experiments.cases.plan import Case
from experiments.cases.records import Outcome
from experiments.executors.base import Executor, ExecutorError
from experiments.executors.slot import WorkerSlot
from experiments.workers.machine import cores
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
        waiting, workers = deque(cases), self.workers or 1
        threads = max(1, cores() // workers)
        slots = [WorkerSlot(self.limits, threads) for _ in range(min(workers, len(waiting)))]
        try:
            while waiting or any(slot.case for slot in slots):
                for slot in slots:
                    if waiting and slot.case is None:
                        slot.start(waiting.popleft())
                wait(
                    [handle for slot in slots if slot.case for handle in slot.worker.handles],
                    timeout=POLL,
                )
                yield from (done for slot in slots if (done := slot.outcome()) is not None)
        finally:
            for slot in slots:
                slot.stop()
