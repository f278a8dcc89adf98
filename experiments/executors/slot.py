"""One case at a time in a process of its own, with limits that are enforced from outside.

A slot's process is used again until something goes wrong in it: a crash, a hang, too much memory, a
child left behind, or its own state changed (`tampering`). Limits of a phase, beyond which it is ended:

- loading the data: ten minutes;
- solving: 1.5·time_limit + `grace` (solvers stop by themselves at their next yield; looking at them
  takes up to half of their time, preparing and compiling are not counted as solving);
- certifying and measuring the answer: ten minutes.

It is ended by SIGTERM to its process group, and a second later by SIGKILL to the group and to all
that it started, in whatever group; at once if it takes too much memory. The `signal` of the record
is the one that ended it. Nothing that it prints or does moves a limit.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from threading import Thread

import psutil
from pebble import ProcessExpired, ProcessPool

from experiments.cases.plan import Case
from experiments.cases.records import Outcome, failed
from experiments.workers.capture import Capture, telling_line
from experiments.workers.start import Board, Phase, run, start_worker
from experiments.workers.supervision import (
    Guard,
    alive,
    descendants,
    kill,
    oom_kills,
    resident,
    signal_group,
)

POLL = 0.2  # seconds between looks at time and memory
GRACE = 30.0  # seconds of solving beyond what the time limit explains
_REPORTED = 2.0  # seconds within which a death is known
_TERMINATION = 1.0  # seconds between SIGTERM and SIGKILL
_LOADING = _CERTIFYING = 600.0  # seconds
_LOOKING = 1.5  # solving and being looked at, over solving
_JOINED = 5.0  # seconds
_OUTPUT = 4000  # characters kept of what a run prints
_UNCLEAN = ("crashed", "out_of_memory")
_KILLED = (
    "the process was killed by SIGKILL, not by dualgap: perhaps by the kernel, for want of memory"
)


@dataclass(frozen=True)
class Limits:
    """What a worker may take.

    Attributes
    ----------
    time_limit : seconds of solving, None for no limit. memory_limit : bytes of a worker and of all
        that it starts, None for no limit. grace : seconds of solving beyond `time_limit` before a
        solver that does not stop is killed.
    """

    time_limit: float | None = None
    memory_limit: int | None = None
    grace: float = GRACE

    def limit_of(self, phase: Phase) -> float:
        """Return after how many seconds of a phase a worker is killed."""
        if phase == "loading":
            return _LOADING
        if phase == "certifying":
            return _CERTIFYING
        return float("inf") if self.time_limit is None else _LOOKING * self.time_limit + self.grace


class Slot:
    """One worker process and the case it runs.

    Parameters
    ----------
    limits : what the worker may take. board : where it tells its phase; one for each slot.
    threads : how many its numerical libraries use.

    Attributes
    ----------
    case, future : what runs; None when the slot is free. Once `future` is done, or now and then
        while it is not, `outcome` is to be asked.
    """

    def __init__(self, limits: Limits, board: Board, threads: int) -> None:
        self.limits, self.board, self.threads = limits, board, threads
        self.case: Case | None = None
        self.future: Future[Outcome] | None = None
        self._worker: _Worker | None = None
        self._oom_kills, self._begun = 0, 0.0

    def start(self, case: Case) -> None:
        """Begin to run a case, in the process that ran the last one if that is fit."""
        if self._worker is not None and not self._worker.fit(self.board.read()[0]):
            self.stop()  # it died between two cases
        if self._worker is None:
            self._worker = _Worker(self.board, self.threads)
        self.board.clear()
        self._worker.capture.clear()
        self.case, self._oom_kills, self._begun = case, oom_kills(), time.monotonic()
        self.future = self._worker.pool.schedule(run, args=[case, self.board, self.threads])

    def outcome(self) -> Outcome | None:
        """Return the outcome of the case if it has come to an end, by itself or by a limit."""
        if self.case is None or self.future is None:
            return None
        return self._finished() if self.future.done() else self._limited()

    def run(self, case: Case) -> Outcome:
        """Run a case to its end."""
        self.start(case)
        while (outcome := self.outcome()) is None:
            wait([self.future] if self.future else [], timeout=POLL)
        return outcome

    def stop(self) -> None:
        """Kill the worker and all that it started; the slot can be used again."""
        if self._worker is not None:
            self._worker.end(self.board.read()[0])
        self._worker = self.case = self.future = None
        self.board.clear()

    def _finished(self) -> Outcome:
        assert self.case is not None
        assert self.future is not None
        try:
            result = self.future.result()
        except ProcessExpired as death:
            return self._ended(self._died(self.case, death.exitcode or 0))
        except Exception as error:  # what came back could not be sent or read
            return self._ended(failed(self.case, "crashed", f"{type(error).__name__}: {error}"))
        return self._ended(result)

    def _limited(self) -> Outcome | None:
        assert self.case is not None
        assert self._worker is not None
        pid, phase, seconds = self.board.read()
        if pid and not alive(pid):
            return self._gone()
        if not pid:  # it has not even started
            seconds = time.monotonic() - self._begun
        limit, allowed = self.limits.limit_of(phase), self.limits.memory_limit
        used = self._worker.resident(pid) if pid else 0
        if allowed is not None and used > allowed:  # no time is given, in which it could take more
            reason = f"used {_size(used)} of memory, memory_limit is {_size(allowed)}"
            return self._ended(failed(self.case, "out_of_memory", reason, "SIGKILL"))
        if seconds > limit:
            how = self._worker.terminate(pid, self.future)
            reason = f"killed after {seconds:.0f} s of {phase} without an end"
            return self._ended(failed(self.case, "time_limit", reason, how))
        return None

    def _gone(self) -> Outcome:
        """Return the outcome after the process ended; a code of 0 is not reported as a death."""
        assert self.case is not None
        assert self.future is not None
        wait([self.future], timeout=_REPORTED)
        return self._finished() if self.future.done() else self._ended(self._died(self.case, 0))

    def _died(self, case: Case, code: int) -> Outcome:
        if code >= 0:
            reason = f"the process ended with exit code {code}"
            return failed(case, "crashed", reason, f"exit {code}")
        name = signal.Signals(-code).name
        if name != "SIGKILL":
            return failed(case, "crashed", f"the process was killed by {name}", name)
        if oom_kills() > self._oom_kills:
            reason = "the process was killed by SIGKILL, by the kernel: the memory was full"
            return failed(case, "out_of_memory", reason, name)
        return failed(case, "crashed", _KILLED, name)

    def _ended(self, outcome: Outcome) -> Outcome:
        """Return the outcome with what was printed; free the slot, and end an unfit worker."""
        assert self._worker is not None
        printed = self._worker.capture.text()
        record = outcome.record
        if record["signal"] and (line := telling_line(printed)):
            record = record | {"reason": f"{record['reason']}; its output: {line}"}
        self.case = self.future = None
        unclean = record["status"] in _UNCLEAN or record["signal"] or outcome.damage
        if unclean or descendants(self.board.read()[0]):
            self.stop()
        return replace(outcome, record=record, output=(printed + outcome.output)[-_OUTPUT:])


class _Worker:
    """A process pool of one, what it prints, and the guard that outlives us."""

    def __init__(self, board: Board, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.capture, self.guard = Capture(context), Guard(context, board.path)
        self.seen: set[psutil.Process] = set()
        self.pool = ProcessPool(
            1,
            initializer=start_worker,
            initargs=[threads, self.capture.writer, self.guard.writer],
            context=context,
        )

    def fit(self, pid: int) -> bool:
        """Return whether another case can be run; `pid` has run the last one."""
        return self.pool.active and alive(pid)  # the pool takes a while to notice a death

    def resident(self, pid: int) -> int:
        """Return the memory of the worker and all that it started, which is noted for its end."""
        running = descendants(pid)
        self.seen = {process for process in self.seen if process.is_running()} | set(running)
        return resident(pid, running)

    def terminate(self, pid: int, future: Future[Outcome] | None) -> str:
        """Ask the worker to end, with a second to do so; return the signal that has ended it."""
        if not pid:
            return "SIGKILL"
        self.seen |= set(descendants(pid))
        signal_group(pid, signal.SIGTERM)
        wait([future] if future else [], timeout=_TERMINATION)
        return "SIGKILL" if alive(pid) else "SIGTERM"

    def end(self, pid: int) -> None:
        """Kill what is left of the worker and all that it started."""
        self.pool.stop()  # before the kill, so that no other worker is started in its place
        if pid:
            self.seen |= set(descendants(pid))
            signal_group(pid, signal.SIGKILL)
        kill(self.seen)
        # the pool waits for ever for the rest of a result whose sender was killed
        closing = Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_JOINED)

    def _close(self) -> None:
        """Close what a worker is given, once the pool starts none any more.

        Until then its thread may be starting one, which would be given other files of the same numbers.
        """
        self.pool.join()
        self.guard.dismiss()
        self.capture.close()


def _size(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"
