"""Where cases are run: worker processes of this machine.

Each slot has one process, used again until something goes wrong; a crash, a hang or too much memory
costs the run it happened in. Limits of a phase, beyond which its process is killed:

- loading the data: ten minutes;
- solving: 1.5·time_limit + 30 s (solvers stop by themselves at their next yield; looking at them
  takes up to half of their time, preparing and compiling are not counted as solving);
- certifying and measuring the answer: ten minutes.

Without a `time_limit` solving may take for ever.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from pebble import ProcessExpired, ProcessPool

from experiments.plan import Case
from experiments.records import Outcome, failed
from experiments.worker import Board, Phase, run, start_worker

_POLL = 0.2  # seconds between looks at time and memory
_REPORTED = 2.0  # seconds within which a death is known
_LOADING = _CERTIFYING = 600.0  # seconds
_SOLVING = 30.0  # seconds beyond what the time limit explains
_LOOKING = 1.5  # solving and being looked at, over solving


@dataclass(frozen=True)
class LocalExecutor:
    """Runs cases in `workers` processes of this machine.

    Attributes
    ----------
    time_limit : seconds of solving, None for no limit. memory_limit : bytes of a worker and of all
        that it starts, None for no limit. grace : seconds of solving beyond `time_limit` before a
        solver that does not stop is killed.
    """

    workers: int = 1
    time_limit: float | None = None
    memory_limit: int | None = None
    grace: float = _SOLVING

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise ValueError(f"workers: must be 1 or more, got {self.workers}")

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator."""
        waiting = deque(cases)
        threads = max(1, cores() // self.workers)
        with tempfile.TemporaryDirectory(prefix="dualgap-") as folder:
            slots = [
                _Slot(self, Board(str(Path(folder) / f"{i}")), threads)
                for i in range(min(self.workers, len(waiting)))
            ]
            try:
                while waiting or any(slot.case for slot in slots):
                    for slot in slots:
                        if waiting and slot.case is None:
                            slot.start(waiting.popleft())
                    running = [slot.future for slot in slots if slot.future is not None]
                    wait(running, timeout=_POLL, return_when=FIRST_COMPLETED)
                    yield from (done for slot in slots if (done := slot.outcome()) is not None)
            finally:
                for slot in slots:
                    slot.stop()

    def limit_of(self, phase: Phase) -> float:
        """Return after how many seconds of a phase a worker is killed."""
        if phase == "loading":
            return _LOADING
        if phase == "certifying":
            return _CERTIFYING
        return float("inf") if self.time_limit is None else _LOOKING * self.time_limit + self.grace


class _Slot:
    """One worker process and the case it runs."""

    def __init__(self, executor: LocalExecutor, board: Board, threads: int) -> None:
        self.executor, self.board, self.threads = executor, board, threads
        self.pool: ProcessPool | None = None
        self.case: Case | None = None
        self.future: Future[Outcome] | None = None
        self.oom_kills, self.begun = 0, 0.0

    def start(self, case: Case) -> None:
        if self.pool is None:
            context = multiprocessing.get_context("spawn")
            self.pool = ProcessPool(
                1, initializer=start_worker, initargs=[self.threads], context=context
            )
        self.case, self.oom_kills, self.begun = case, _oom_kills(), time.monotonic()
        self.future = self.pool.schedule(run, args=[case, self.board])

    def outcome(self) -> Outcome | None:
        """Return the outcome of the case if it has come to an end, by itself or by a limit."""
        if self.case is None or self.future is None:
            return None
        result = self._finished() if self.future.done() else self._limited()
        if result is not None:
            self.case = self.future = None
        return result

    def _finished(self) -> Outcome:
        assert self.case is not None
        assert self.future is not None
        try:
            return self.future.result()
        except ProcessExpired as death:
            result = self._died(self.case, death)
        except Exception as error:  # what came back could not be sent or read
            result = failed(self.case, "crashed", f"{type(error).__name__}: {error}")
        self.stop()
        return result

    def _gone(self) -> Outcome:
        """Return the outcome after the process ended; a code of 0 is not reported as a death."""
        assert self.case is not None
        assert self.future is not None
        wait([self.future], timeout=_REPORTED)
        if self.future.done():
            return self._finished()
        result = self._died(self.case, ProcessExpired("", 0))
        self.stop()
        return result

    def _died(self, case: Case, death: ProcessExpired) -> Outcome:
        code = death.exitcode or 0
        if code >= 0:
            return failed(
                case, "crashed", f"the process ended with exit code {code}", f"exit {code}"
            )
        name = signal.Signals(-code).name
        if name == "SIGKILL" and _oom_kills() > self.oom_kills:
            return failed(case, "out_of_memory", "the system was out of memory and killed it", name)
        return failed(case, "crashed", f"the process was killed by {name}", name)

    def _limited(self) -> Outcome | None:
        assert self.case is not None
        pid, phase, seconds = self.board.read()
        if pid and not psutil.pid_exists(pid):
            return self._gone()
        if not pid:  # it has not even started
            seconds = time.monotonic() - self.begun
        limit, allowed = self.executor.limit_of(phase), self.executor.memory_limit
        status = reason = ""
        if seconds > limit:
            status, reason = "time_limit", f"killed after {seconds:.0f} s of {phase} without an end"
        elif pid and allowed is not None and (used := _memory(pid)) > allowed:
            status = "out_of_memory"
            reason = f"used {_size(used)} of memory, memory_limit is {_size(allowed)}"
        if not status:
            return None
        self.stop()
        return failed(self.case, status, reason, "SIGKILL")

    def stop(self) -> None:
        """Kill the worker and all that it started."""
        pid = self.board.read()[0]
        if pid > 0:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        self.board.clear()
        if self.pool is not None:
            self.pool.stop()
            self.pool.join()
        self.pool = None


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(psutil.Process().cpu_affinity() or [0]) if psutil.LINUX else os.cpu_count() or 1


def _memory(pid: int) -> int:
    """Return the resident memory of a process and its descendants, in bytes."""
    total = 0
    with suppress(psutil.Error):
        worker = psutil.Process(pid)
        for process in (worker, *worker.children(recursive=True)):
            with suppress(psutil.Error):
                total += process.memory_info().rss
    return total


def _oom_kills() -> int:
    """Return how often this system has killed a process for memory (Linux; else 0)."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _size(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
