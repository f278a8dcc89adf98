"""One child process at a time, supervised from outside: the only place where workers are started.

Executors run cases in it, the selftest tries solvers in it, and the reader of experiment files imports
files from outside in it. Such code may crash, hang, print without end or leave processes behind. The
process is used again for call after call until it dies or is stopped; then the next call starts another.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import psutil
from pebble import ProcessExpired, ProcessPool

from experiments.workers.capture import Capture
from experiments.workers.heartbeat import Beat, Heartbeat
from experiments.workers.processes import (
    Reaper,
    alive,
    descendants,
    kill,
    resident,
    signal_group,
)
from experiments.workers.start import begin, start_worker

POLL = 0.2  # seconds between two inspections of a worker
_REPORTED = 2.0  # seconds within which a death is known
_TERMINATION = 1.0  # seconds between SIGTERM and SIGKILL
_JOINED = 5.0  # seconds


class WorkerExit(Exception):
    """The process ended before its call did.

    Attributes
    ----------
    signal : the name of the signal that ended it; empty if it exited by itself.
    code : its exit code, negative for a signal.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code, self.signal = code, signal.Signals(-code).name if code < 0 else ""

    def __str__(self) -> str:
        how = f"was killed by {self.signal}" if self.signal else f"ended with exit code {self.code}"
        return f"the process {how}"


class Worker:
    """A supervised process, started with the first call and replaced when it has ended.

    Parameters
    ----------
    threads : how many its numerical libraries use.

    Attributes
    ----------
    heartbeat : where the process notes its phase; passed to calls that do so.
    future : of the last call; None before the first one and after `stop`.
    """

    def __init__(self, threads: int) -> None:
        folder = Path(tempfile.gettempdir()) / f"dualgap-{uuid4().hex}"
        self.threads, self.heartbeat = threads, Heartbeat(str(folder / "heartbeat"))
        self.future: Future[Any] | None = None
        self._process: _Process | None = None
        self._began = 0.0

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin a call, in the process of the last one if that is still fit."""
        if self._process is not None and not self._process.fit():
            self.stop()  # it died between two calls
        if self._process is None:
            self._process = _Process(self.threads, self.heartbeat)
        self._process.capture.clear()
        self._began = time.monotonic()
        arguments = (self.heartbeat, function, *arguments)
        self.future = self._process.pool.schedule(begin, args=arguments)

    def finish(self, seconds: float) -> Any:
        """Return the result of the call as soon as it has ended, or raise what it raised.

        Raises
        ------
        TimeoutError
            If it has not ended after `seconds`; the process is killed.
        WorkerExit
            If the process has ended instead.
        """
        end = time.monotonic() + seconds
        while not self.ended():
            if time.monotonic() > end:
                self.stop()
                raise TimeoutError(f"no end after {seconds:.0f} s")
            self.wait()
        return self.result()

    def wait(self, seconds: float = POLL) -> None:
        """Wait until the call has ended, but no longer than `seconds`."""
        wait([self.future] if self.future else [], timeout=seconds)

    def ended(self) -> bool:
        """Return whether the call has ended, with a result or with the process."""
        assert self.future is not None
        beat = self.heartbeat.read()
        if not self.future.done() and beat.since >= self._began and not alive(beat.pid):
            self.wait(_REPORTED)
            return True
        return self.future.done()

    def result(self) -> Any:
        """Return the result of a call that has ended, or raise what it raised.

        Raises
        ------
        WorkerExit
            If the process has ended instead.
        """
        assert self.future is not None
        if not self.future.done():  # an exit with 0 is not reported as a death
            raise WorkerExit(0)
        try:
            return self.future.result()
        except ProcessExpired as death:
            raise WorkerExit(death.exitcode or 0) from None

    def phase(self) -> tuple[str, float]:
        """Return the phase of the call, and for how many seconds it has been in it."""
        beat = max(self.heartbeat.read(), Beat(since=self._began), key=lambda beat: beat.since)
        return beat.phase, time.monotonic() - beat.since

    def printed(self) -> str:
        """Return the end of what was printed since the call began."""
        return self._process.capture.text() if self._process is not None else ""

    def resident(self) -> int:
        """Return the resident memory of all that the process started, else its own, in bytes."""
        return self._process.resident() if self._process is not None else 0

    def has_children(self) -> bool:
        """Return whether anything that the process started still runs."""
        return bool(descendants(self.heartbeat.read().pid))

    def terminate(self) -> str:
        """Ask the process to end, with a second to do so; return the signal that has ended it."""
        pid = self.heartbeat.read().pid
        if not pid or self._process is None:
            return "SIGKILL"
        self._process.seen |= set(descendants(pid))
        signal_group(pid, signal.SIGTERM)
        self.wait(_TERMINATION)
        return "SIGTERM" if not alive(pid) or self.ended() else "SIGKILL"

    def stop(self) -> None:
        """Kill the process and all that it started; the next call starts another one."""
        if self._process is not None:
            self._process.end()
        self._process = self.future = None


class _Process:
    """A process pool of one, what it prints, and the reaper that outlives us."""

    def __init__(self, threads: int, heartbeat: Heartbeat) -> None:
        context = multiprocessing.get_context("spawn")
        self.heartbeat, self.folder = heartbeat, Path(heartbeat.path).parent
        self.folder.mkdir(mode=0o700)
        self.capture, self.reaper = Capture(context), Reaper(context, heartbeat.path)
        self.seen: set[psutil.Process] = set()
        self.pool = ProcessPool(
            1,
            initializer=start_worker,
            initargs=[threads, self.capture.writer, self.reaper.writer],
            context=context,
        )

    def fit(self) -> bool:
        """Return whether another call can be made."""
        # the pool takes a while to notice a death
        return self.pool.active and alive(self.heartbeat.read().pid)

    def resident(self) -> int:
        """Return the memory of all that the process started, which is noted for its end; else its own.

        A copy of the process shares what it has with it, and would count it twice.
        """
        pid = self.heartbeat.read().pid
        running = descendants(pid)
        self.seen = {process for process in self.seen if process.is_running()} | set(running)
        return resident([process.pid for process in running] or [pid])

    def end(self) -> None:
        """Kill what is left of the process and all that it started."""
        pid = self.heartbeat.read().pid
        self.pool.stop()  # before the kill, so that no other worker is started in its place
        if pid:
            self.seen |= set(descendants(pid))
            signal_group(pid, signal.SIGKILL)
        kill(self.seen)
        # the pool waits for ever for the rest of a result whose sender was killed
        closing = Thread(target=self._close, daemon=True)
        closing.start()
        closing.join(_JOINED)
        with suppress(OSError):
            os.unlink(self.heartbeat.path)
        with suppress(OSError):
            self.folder.rmdir()

    def _close(self) -> None:
        """Close what a worker is given, once the pool starts none any more.

        Until then its thread may be starting one, which would be given other files of the same numbers.
        """
        self.pool.join()
        self.reaper.dismiss()
        self.capture.close()
