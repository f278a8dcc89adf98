"""One case at a time in a process of its own, with limits that are enforced from outside.

A solver has a copy of the process to itself (see `cases.case`). The process is used again until it is
killed, or a process or a file is left behind. Limits of a phase, beyond which it is ended:

- loading the data: ten minutes;
- compiling the solver, and setting it up (importing, and compiling what comes from outside): ten minutes
  each, after which the row says `crashed`, as no limit of solving was reached;
- solving: 1.5·time_limit + `grace`, which is 10 s (solvers stop by themselves at their next yield; where
  iterates are evaluated in between, that takes up to half of their time);
- certifying and measuring the answer: ten minutes.

It is ended by SIGTERM to its process group, and a second later by SIGKILL to the group and to all
that it started, in whatever group; at once if it takes too much memory. The `signal` of the record
is the one that ended it. Nothing that it prints or does moves a limit.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from dualgap.experiments.cases.case import run
from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome, failed, read_outcome
from dualgap.experiments.executors.base import GRACE, limit_of
from dualgap.experiments.workers.capture import last_words
from dualgap.experiments.workers.machine import bytes_text
from dualgap.experiments.workers.processes import oom_kills
from dualgap.experiments.workers.start import COMPILING, SETTING_UP
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Malformed, WorkerError, WorkerExit

_OUTPUT = 4000  # characters kept of what a run prints
_INSPECTION = 1.0  # seconds between two looks at what a worker has started, without a memory limit


class WorkerSlot:
    """A worker process that runs one case after the other.

    Parameters
    ----------
    threads : how many its numerical libraries use.
    grace : see `Executor`.
    """

    def __init__(self, threads: int, grace: float = GRACE) -> None:
        self.grace, self.worker = grace, Worker(threads)
        self._oom_kills, self._inspected = 0, 0.0

    def run(
        self,
        case: Case,
        given_up: Callable[[], bool] = lambda: False,
        told: Callable[[str], object] = str,
    ) -> Outcome:
        """Return the outcome of a case, which ends by itself or by a limit.

        Parameters
        ----------
        given_up : whether nobody waits for the outcome any more.
        told : see `Executor`.

        Raises
        ------
        RuntimeError
            If it was given up.
        """
        self._oom_kills, ended, outcome = oom_kills(), False, None
        self.worker.call(run, case, self.worker.threads, reporting=True)
        while outcome is None:
            if given_up():
                self.worker.stop()
                raise RuntimeError("the run was given up: its command has ended")
            if (phase := self.worker.phase()[0]).startswith(COMPILING):
                told(phase)
            self.worker.wait()
            ended = self.worker.ended()
            outcome = self._finished(case) if ended else self._limited(case)
        printed, record = self.worker.printed(), outcome.record
        if record["signal"] and (line := last_words(printed)):
            record = record | {"reason": f"{record['reason']}; its output: {line}"}
        if not (ended and self.worker.can_go_on()):
            self.worker.stop()
        return replace(outcome, record=record, output=(printed + outcome.output)[-_OUTPUT:])

    def _finished(self, case: Case) -> Outcome:
        try:
            return read_outcome(self.worker.result(), case)
        except (WorkerError, Malformed) as error:
            return failed(case, "crashed", str(error))
        except WorkerExit as death:
            status, reason, sign = "crashed", str(death), death.signal or f"exit {death.code}"
            if sign == "SIGKILL" and oom_kills() > self._oom_kills:
                status = "out_of_memory"
                reason += ", by the kernel: the memory was full"
            elif sign == "SIGKILL":
                reason += ", not by dualgap: perhaps by the kernel, for want of memory"
            return failed(case, status, reason, signal=sign)

    def _limited(self, case: Case) -> Outcome | None:
        allowed, now = case.memory_limit, time.monotonic()
        if allowed is not None or now > self._inspected + _INSPECTION:
            # what the worker has started is noted as well: once it is dead, nothing else tells
            self._inspected, used = now, self.worker.resident()
            if allowed is not None and used > allowed:  # no time is given, to take more
                reason = f"used {bytes_text(used)} of memory, memory_limit is {bytes_text(allowed)}"
                return failed(case, "out_of_memory", reason, signal="SIGKILL")
        phase, seconds = self.worker.phase()
        if seconds <= limit_of(case, phase, self.grace):
            return None
        status, reason = "time_limit", f"killed after {seconds:.0f} s of {phase} without an end"
        if phase == "solving":
            reason += f", as it did not yield within time_limit = {case.time_limit:g} s"
        elif phase.startswith((COMPILING, SETTING_UP)):
            status, reason = "crashed", f"{reason}: it had not begun to solve"
        return failed(case, status, reason, signal=self.worker.terminate())
