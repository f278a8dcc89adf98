"""Run cases in worker processes on this machine, with limits that are enforced from outside.

A solver runs in a child of the worker (see `cases.case`). The worker is reused until it is killed, or a
case leaves a process or a file behind. It is killed if a phase exceeds its limit:

- loading the data: ten minutes;
- compiling the solver, and setting it up (importing and compiling user code): ten minutes each; the row
  is then `crashed`, as solving had not begun;
- solving: 1.5·time_limit + `grace_period_s`, which is 10 s (solvers stop at their next yield;
  evaluating iterates in between takes up to half of their time);
- certifying and measuring the answer: ten minutes.

It gets SIGTERM, to its process group, and a second later SIGKILL, to the group and to all processes
that it started; if it exceeds the memory limit, SIGKILL immediately. The `signal` of the record is the
one that ended it. No output or action of the worker extends a limit.
"""

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from threading import Event
from typing import ClassVar

from dualgap.experiments.cases.case import run
from dualgap.experiments.cases.messages import read_outcome
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, failed
from dualgap.experiments.executors.base import GRACE_PERIOD_S, Executor, ExecutorError
from dualgap.experiments.workers.isolation import start_method
from dualgap.experiments.workers.machine import bytes_text, cores
from dualgap.experiments.workers.processes import last_words, oom_kills
from dualgap.experiments.workers.start import COMPILING, SETTING_UP
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Malformed, WorkerError, WorkerExit

_PHASE_LIMIT_S = 600.0  # of loading, set-up and certifying; compiling takes up to two minutes
_MAX_TRACE_OVERHEAD = 1.5  # time of solving with evaluations of a trace, relative to solving alone
_MAX_OUTPUT_CHARS = 4000  # the end of the output is recorded
_INSPECTION_INTERVAL_S = 1.0  # of the processes that a worker has started, without a memory limit


def limit_of(case: Case, phase: str, grace_period_s: float = GRACE_PERIOD_S) -> float:
    """Return the seconds of a phase after which the worker of a case is killed."""
    if phase != "solving":
        return _PHASE_LIMIT_S
    if case.time_limit is None:
        return inf
    # answers on a path are certified while solving, outside the time limit
    certifying = _PHASE_LIMIT_S if case.problem.path else 0.0
    return _MAX_TRACE_OVERHEAD * case.time_limit + grace_period_s + certifying


class WorkerSlot:
    """A worker process that runs cases one by one.

    Parameters
    ----------
    threads : number of threads of its numerical libraries.
    grace_period_s : see `Executor`.
    """

    def __init__(self, threads: int, grace_period_s: float = GRACE_PERIOD_S) -> None:
        self.grace_period_s, self.worker = grace_period_s, Worker(threads)
        self._oom_kills, self._inspected = 0, 0.0

    def run(
        self,
        case: Case,
        cancelled: Callable[[], bool] = lambda: False,
        on_status: Callable[[str], object] = str,
    ) -> Outcome:
        """Return the outcome of a case, which ends normally or at a limit.

        Parameters
        ----------
        cancelled : whether the outcome is no longer needed.
        on_status : see `Executor`.

        Raises
        ------
        RuntimeError
            If it was cancelled.
        """
        self._oom_kills, has_ended, outcome, compiling = oom_kills(), False, None, ""
        self.worker.call(run, case, self.worker.threads, reporting=True)
        while outcome is None:
            if cancelled():
                self.worker.stop()
                raise RuntimeError("the run was cancelled: its command has ended")
            phase = self.worker.phase()[0]
            if phase.startswith(COMPILING) and phase != compiling:
                on_status(compiling := phase)
            self.worker.wait()
            has_ended = self.worker.has_ended()
            outcome = self._result(case) if has_ended else self._limit_exceeded(case)
        printed, record = self.worker.printed(), outcome.record
        if record["signal"] and (line := last_words(printed)):
            record = record | {"reason": f"{record['reason']}; last output: {line}"}
        if not (has_ended and self.worker.is_reusable()):
            self.worker.stop()
        return replace(
            outcome, record=record, output=(printed + outcome.output)[-_MAX_OUTPUT_CHARS:]
        )

    def _result(self, case: Case) -> Outcome:
        try:
            return read_outcome(self.worker.result(), case)
        except (WorkerError, Malformed) as error:
            return failed(case, "crashed", str(error))
        except WorkerExit as death:
            status, reason, sign = "crashed", str(death), death.signal or f"exit {death.code}"
            if sign == "SIGKILL" and oom_kills() > self._oom_kills:
                status = "out_of_memory"
                reason += " by the kernel: the memory was full"
            elif sign == "SIGKILL":
                reason += ", not by dualgap: possibly by the kernel, for lack of memory"
            return failed(case, status, reason, signal=sign)

    def _limit_exceeded(self, case: Case) -> Outcome | None:
        allowed, now = case.memory_limit, time.monotonic()
        if allowed is not None or now > self._inspected + _INSPECTION_INTERVAL_S:
            # also records the processes that it has started, unknown once it is dead
            self._inspected, used = now, self.worker.resident()
            if allowed is not None and used > allowed:  # kill it before it takes more
                reason = f"used {bytes_text(used)} of memory, memory_limit is {bytes_text(allowed)}"
                return failed(case, "out_of_memory", reason, signal="SIGKILL")
        phase, seconds = self.worker.phase()
        if seconds <= limit_of(case, phase, self.grace_period_s):
            return None
        status, reason = "time_limit", f"killed after {seconds:.0f} s of {phase}"
        if phase == "solving":
            reason += f": it ignored its time limit of {case.time_limit:g} s"
        elif phase.startswith((COMPILING, SETTING_UP)):
            status, reason = "crashed", f"{reason}, before solving"
        return failed(case, status, reason, signal=self.worker.terminate())


@dataclass(frozen=True)
class LocalExecutor(Executor):
    """Runs cases in `workers` processes on this machine, by default 1."""

    name: ClassVar[str] = "local"

    def check(self) -> None:
        """Refuse an address, as there is no service to connect to, and an unknown start method."""
        if self.address is not None:
            raise ExecutorError("--scheduler is for Dask only. Add --executor dask.")
        try:
            start_method()
        except ValueError as error:
            raise ExecutorError(str(error)) from None

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcomes of cases as they complete; all processes end with the iterator."""
        pending, workers, stopped = iter(cases), self.workers or 1, Event()
        threads = max(1, cores() // workers)
        free = [WorkerSlot(threads, self.grace_period_s) for _ in range(workers)]

        def outcome_of(case: Case) -> Outcome:
            slot = free.pop()
            try:
                return slot.run(case, stopped.is_set, self.on_status)
            except OSError as error:
                raise ExecutorError(f"no worker process can be started: {error}") from None
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
