"""Where cases are run: worker processes of this machine, each in a slot of its own."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from experiments.cases.plan import Case
from experiments.cases.records import Outcome
from experiments.executors.slot import GRACE, POLL, Limits, Slot
from experiments.workers.start import Board
from experiments.workers.supervision import cores


class ExecutorError(Exception):
    """Cases cannot be run, or not any more, with what to do; those recorded so far are kept."""


class Executor(Protocol):
    """Runs cases somewhere."""

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator.

        Raises
        ------
        ExecutorError
            If cases are left that cannot be run.
        """
        ...


@dataclass(frozen=True)
class LocalExecutor:
    """Runs cases in `workers` processes of this machine.

    Attributes
    ----------
    time_limit, memory_limit, grace : of one run, see `Limits`.
    """

    workers: int = 1
    time_limit: float | None = None
    memory_limit: int | None = None
    grace: float = GRACE

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers: must be 1 or more, got {self.workers}")

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator."""
        waiting = deque(cases)
        threads = max(1, cores() // self.workers)
        limits = Limits(self.time_limit, self.memory_limit, self.grace)
        with tempfile.TemporaryDirectory(prefix="dualgap-", ignore_cleanup_errors=True) as folder:
            slots = [
                Slot(limits, Board(str(Path(folder) / f"{i}")), threads)
                for i in range(min(self.workers, len(waiting)))
            ]
            try:
                while waiting or any(slot.case for slot in slots):
                    for slot in slots:
                        if waiting and slot.case is None:
                            slot.start(waiting.popleft())
                    running = [slot.future for slot in slots if slot.future is not None]
                    wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
                    yield from (done for slot in slots if (done := slot.outcome()) is not None)
            finally:
                for slot in slots:
                    slot.stop()
