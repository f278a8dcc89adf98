"""One child process at a time, supervised from outside: the only place where workers are started.

Executors run cases in it, the selftest tries solvers in it, and the reader of experiment files imports
files from outside in it. Such code may crash, hang, print without end or leave processes behind. The
process is used again for call after call until it dies or is stopped; then the next call starts another.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any

import psutil

from experiments.workers.capture import Capture
from experiments.workers.processes import (
    Reaper,
    alive,
    cpu_seconds,
    descendants,
    kill,
    resident,
    signal_group,
)
from experiments.workers.start import STARTING, serve
from experiments.workers.wire import (
    ENDED,
    PHASE,
    RETURNED,
    Frames,
    Malformed,
    WorkerError,
    WorkerExit,
)

POLL = 0.2  # seconds between two inspections of a worker
_TERMINATION = 1.0  # seconds between SIGTERM and SIGKILL
_RECEIVED = 2**20  # bytes at a time
_PHASE = 200  # characters


class Worker:
    """A supervised process, started with the first call and replaced when it has ended.

    A call returns bytes, as `wire` lays them out; its caller says what it expects of them.

    Parameters
    ----------
    threads : how many its numerical libraries use.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._process: _Process | None = None
        self._phase, self._since = STARTING, 0.0
        self._answer: bytes | WorkerError | WorkerExit | None = None

    def call(
        self, function: Callable[..., bytes], *arguments: Any, reporting: bool = False
    ) -> None:
        """Begin a call, in the process of the last one if that still runs.

        With `reporting` the first argument is a function to call with each phase that begins.
        """
        if self._process is not None and not alive(self._process.pid):
            self.stop()  # it died between two calls: a zombie, whose threads may not have ended yet
        if self._process is None:
            self._process = _Process(self.threads)
        self._process.capture.clear()
        self._phase, self._since, self._answer = STARTING, time.monotonic(), None
        with suppress(BrokenPipeError):  # it died just now, and `ended` will say so
            self._process.channel.sendall(pickle.dumps((function, arguments, reporting)))

    def finish(self, seconds: float) -> bytes:
        """Return what the call returned as soon as it has ended.

        Raises
        ------
        WorkerError
            If it raised something.
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

    @property
    def handles(self) -> list[Any]:
        """What `multiprocessing.connection.wait` waits for; empty before the first call."""
        process = self._process
        return [] if process is None else [process.channel, process.child.sentinel]

    def wait(self, seconds: float = POLL) -> None:
        """Wait until the call has ended, but no longer than `seconds`."""
        wait(self.handles, timeout=seconds)

    def ended(self) -> bool:
        """Return whether the call has ended, with a result or with the process.

        What the process has sent is taken: phases that began, and its answer.
        """
        assert self._process is not None
        process, alive = self._process, self._process.child.is_alive()
        while self._answer is None:
            try:
                received = process.channel.recv(_RECEIVED, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:  # reset by its death
                received = b""
            if not received:
                process.child.join(POLL)
                break
            try:
                for kind, content in process.frames.of(received):
                    self._take(kind, content)
            except Malformed as error:
                self._answer = WorkerError(str(error))
        return self._answer is not None or not alive

    def _take(self, kind: bytes, content: bytes) -> None:
        if kind == PHASE:
            text = content[:_PHASE].decode(errors="replace")
            self._phase, self._since = text, time.monotonic()
        elif kind == RETURNED:
            self._answer = content
        else:
            text = content.decode(errors="replace")
            self._answer = WorkerError(text)
            with suppress(ValueError):  # what is no exit code is told as text
                self._answer = WorkerExit(int(text)) if kind == ENDED else self._answer

    def result(self) -> bytes:
        """Return what a call that has ended returned.

        Raises
        ------
        WorkerError
            If it raised something.
        WorkerExit
            If the process has ended instead.
        """
        assert self._process is not None
        if self._answer is None:
            self._process.child.join()
            raise WorkerExit(self._process.child.exitcode or 0)
        if not isinstance(self._answer, bytes):
            raise self._answer
        return self._answer

    def phase(self) -> tuple[str, float]:
        """Return the phase of the call, and for how many seconds it has been in it."""
        return self._phase, time.monotonic() - self._since

    def printed(self) -> str:
        """Return the end of what was printed since the call began."""
        return self._process.capture.text() if self._process is not None else ""

    def resident(self) -> int:
        """Return the resident memory of all that the process started, else its own, in bytes."""
        return self._process.resident() if self._process is not None else 0

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process and of all that it started, in seconds."""
        return cpu_seconds(self._process.pid) if self._process is not None else 0.0

    def can_go_on(self) -> bool:
        """Return whether the process is alive, and nothing that it started still runs."""
        process = self._process
        return process is not None and alive(process.pid) and not descendants(process.pid)

    def terminate(self) -> str:
        """Ask the process to end, with a second to do so; return the signal that has ended it."""
        assert self._process is not None
        self._process.seen |= set(descendants(self._process.pid))
        signal_group(self._process.pid, signal.SIGTERM)
        self.wait(_TERMINATION)
        return "SIGTERM" if self.ended() else "SIGKILL"

    def stop(self) -> None:
        """Kill the process and all that it started; the next call starts another one."""
        if self._process is not None:
            self._process.end()
        self._process = None


class _Process:
    """A process, the channel to it, what it prints, and the reaper that outlives us."""

    def __init__(self, threads: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.capture, self.reaper = Capture(context), Reaper(context)
        self.seen: set[psutil.Process] = set()
        self.frames = Frames()
        # no pipe, which a process of the same user could open by its name in /proc
        self.channel, theirs = socket.socketpair()
        given = theirs, threads, self.capture.writer, self.reaper.writer
        self.child = context.Process(target=serve, args=given, daemon=True)
        self.child.start()
        theirs.close()
        self.pid = self.child.pid or 0

    def resident(self) -> int:
        """Return the memory of all that the process started, which is noted for its end; else its own.

        A copy of the process shares what it has with it, and would count it twice.
        """
        running = descendants(self.pid)
        self.seen = {process for process in self.seen if process.is_running()} | set(running)
        return resident([process.pid for process in running] or [self.pid])

    def end(self) -> None:
        """Kill what is left of the process and all that it started."""
        self.seen |= set(descendants(self.pid))
        signal_group(self.pid, signal.SIGKILL)
        kill(self.seen)
        self.child.kill()  # it may not lead its group yet
        self.child.join()
        self.channel.close()
        self.reaper.dismiss()
        self.capture.close()
