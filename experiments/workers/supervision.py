"""One child process at a time, supervised from outside: the only place where workers are started.

Executors run cases in it, the selftest tries solvers in it, and the reader of experiment files imports
files from outside in it. Such code may crash, hang, print without end or leave processes behind. The
process is used again for call after call until it dies or is stopped; then the next call starts another.
"""

import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from tempfile import TemporaryDirectory
from threading import Lock
from types import ModuleType
from typing import Any

import psutil

from dualgap.experiments.workers.capture import Capture
from dualgap.experiments.workers.processes import (
    Reaper,
    alive,
    descendants,
    end_descendants,
    end_with_group,
    signal_group,
    started_by,
)
from dualgap.experiments.workers.start import STARTING, serve
from dualgap.experiments.workers.wire import (
    ENDED,
    PHASE,
    RETURNED,
    Frames,
    Malformed,
    WorkerError,
    WorkerExit,
)

_POLL = 0.2  # seconds between two inspections of a worker
_TERMINATION = 1.0  # seconds between SIGTERM and SIGKILL
_RECEIVED = 2**20  # bytes at a time
_PHASE = 200  # characters


_STARTING = Lock()


@contextmanager
def _without_main() -> Generator[None]:
    """Keep a new process from running the script again that runs here, as `spawn` lets it do."""
    with _STARTING:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


class Worker:
    """A supervised process, started with the first call and replaced when it has ended.

    A call returns bytes, as `wire` lays them out; its caller says what it expects of them.

    Parameters
    ----------
    threads : how many its numerical libraries use.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._child: SpawnProcess | None = None
        self._phase, self._since = STARTING, 0.0
        self._answer: bytes | WorkerError | WorkerExit | None = None

    def call(
        self, function: Callable[..., bytes], *arguments: Any, reporting: bool = False
    ) -> None:
        """Begin a call, in the process of the last one if that still runs.

        With `reporting` the first argument is a function to call with each phase that begins.
        """
        if self._child is not None and not alive(self._pid):
            self.stop()  # it died between two calls: a zombie, whose threads may not have ended yet
        if self._child is None:
            self._start()
        self._printed.clear()
        self._phase, self._since, self._answer = STARTING, time.monotonic(), None
        with suppress(ConnectionError):  # it died just now, and `ended` will say so
            self._channel.sendall(pickle.dumps((function, arguments, reporting)))

    def _start(self) -> None:
        """Start a process, the channel to it, what keeps its output, and the reaper that outlives us."""
        context = multiprocessing.get_context("spawn")
        # of whatever it leaves behind when it is killed
        self._files = TemporaryDirectory(prefix="dualgap_worker_", ignore_cleanup_errors=True)
        self._printed = Capture(context)
        self._reaper = Reaper(context, self._files.name)
        self._seen, self._frames = set[psutil.Process](), Frames()
        # no pipe, which a process of the same user could open by its name in /proc
        self._channel, theirs = socket.socketpair()
        given = theirs, self.threads, self._files.name, self._printed.writer, self._reaper.writer
        child = context.Process(target=serve, args=given, daemon=True)
        with _without_main():
            child.start()
        theirs.close()
        self._child, self._pid = child, child.pid or 0

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

    def wait(self, seconds: float = _POLL) -> None:
        """Wait until the process has sent something or has ended, but no longer than `seconds`.

        What it prints meanwhile is read, so that it is never blocked.
        """
        assert self._child is not None
        end, printed = time.monotonic() + seconds, self._printed.reader
        ready: list[Any] = [printed]
        while ready == [printed]:
            self._printed.read()
            left = max(0.0, end - time.monotonic())
            ready = wait([self._channel, self._child.sentinel, printed], left) if left else []

    def ended(self) -> bool:
        """Return whether the call has ended, with a result or with the process.

        What the process has sent is taken: phases that began, and its answer.
        """
        assert self._child is not None
        alive = self._child.is_alive()
        while self._answer is None:
            try:
                received = self._channel.recv(_RECEIVED, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:  # reset by its death
                received = b""
            if not received:
                self._child.join(_POLL)
                break
            try:
                for kind, content in self._frames.of(received):
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
        """Return what a call that has ended returned; WorkerError and WorkerExit as `finish`."""
        assert self._child is not None
        if self._answer is None:
            self._child.join()
            raise WorkerExit(self._child.exitcode or 0)
        if not isinstance(self._answer, bytes):
            raise self._answer
        return self._answer

    def phase(self) -> tuple[str, float]:
        """Return the phase of the call, and for how many seconds it has been in it."""
        return self._phase, time.monotonic() - self._since

    def printed(self) -> str:
        """Return the end of what was printed since the call began."""
        return self._printed.text()

    def resident(self) -> int:
        """Return the resident memory of all that the process started, else its own, in bytes.

        A copy of the process shares what it has with it, and would count it twice. What was started
        is noted, to be killed at the end: once the process is dead, nothing else tells of it.
        """
        running, total = descendants(self._pid), 0
        self._seen = {process for process in self._seen if process.is_running()} | set(running)
        with suppress(psutil.Error):
            running = running or [psutil.Process(self._pid)]
        for process in running:
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process, what it started and what those waited for, in seconds."""
        total = 0.0
        with suppress(psutil.Error):
            for process in (psutil.Process(self._pid), *descendants(self._pid)):
                with suppress(psutil.Error):
                    total += sum(process.cpu_times()[:4])  # user, system, and both of children
        return total

    def can_go_on(self) -> bool:
        """Return whether the process is alive, and nothing is left of the call.

        Neither what it started, be it only its zombies, nor files, which would fill the disk with time.
        """
        if self._child is None or not alive(self._pid) or started_by(self._pid):
            return False
        with suppress(OSError):  # its folder is gone
            return not os.listdir(self._files.name)
        return False

    def terminate(self) -> str:
        """Ask the process to end, with a second to do so; return the signal that has ended it."""
        self._seen |= set(descendants(self._pid))
        signal_group(self._pid, signal.SIGTERM)
        self.wait(_TERMINATION)
        return "SIGTERM" if self.ended() else "SIGKILL"

    def stop(self) -> None:
        """Kill the process and all that it started; the next call starts another one."""
        if self._child is None:
            return
        with suppress(OSError):  # it has ended already
            os.kill(self._pid, signal.SIGSTOP)
        end_descendants(self._pid)
        signal_group(self._pid, signal.SIGKILL)
        for process in self._seen:
            end_with_group(process)
        self._child.kill()  # it may not lead its group yet
        self._child.join()
        self._channel.close()
        self._reaper.dismiss()
        self._printed.close()
        # which goes deeper than Python does
        subprocess.run(["rm", "-rf", "--", self._files.name], check=False)
        self._files.cleanup()
        self._child = None
