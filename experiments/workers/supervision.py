"""One child process at a time, supervised from outside: the only place where workers are started.

Executors run cases in it, the selftest tries solvers in it, and the reader of experiment files imports
user files in it. Such code may crash, hang, print endlessly or leave processes behind. The process is
reused for further calls until it dies or is stopped; the next call then starts another one.
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

from dualgap.experiments.workers.processes import (
    Capture,
    Reaper,
    alive,
    descendants,
    descendants_and_zombies,
    kill_descendants,
    kill_with_group,
    signal_group,
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

_POLL_INTERVAL_S = 0.2  # between two inspections of a worker
_TERMINATION_GRACE_S = 1.0  # between SIGTERM and SIGKILL: time to print the Python stacks
_RECEIVE_BYTES = 2**20  # buffer of one read from the socket
_PHASE_CHARACTERS = 200  # a phase is shown in one line
_start_lock = Lock()


@contextmanager
def _without_main() -> Generator[None]:
    """Keep a new process from executing this process's main script, as `spawn` would make it do."""
    with _start_lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


class Worker:
    """A supervised process, started with the first call and replaced when it has ended.

    A call returns bytes in the layout of `wire`; its caller states which layout it expects.

    Parameters
    ----------
    threads : number of threads of its numerical libraries.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._child: SpawnProcess | None = None
        self._phase, self._since = STARTING, 0.0
        self._answer: bytes | WorkerError | WorkerExit | None = None

    def call(
        self, function: Callable[..., bytes], *arguments: Any, reporting: bool = False
    ) -> None:
        """Start a call, in the process of the previous one if it is still alive.

        With `reporting` the first argument is a function to call with the name of each new phase.
        """
        if self._child is not None and not alive(self._pid):
            self.stop()  # it died between two calls: a zombie whose threads may not have ended yet
        if self._child is None:
            self._start()
        self._printed.clear()
        self._phase, self._since, self._answer = STARTING, time.monotonic(), None
        with suppress(ConnectionError):  # it has just died, which `has_ended` will notice
            self._channel.sendall(pickle.dumps((function, arguments, reporting)))

    def _start(self) -> None:
        """Start a process, its channel, the capture of its output, and the reaper that outlives us."""
        context = multiprocessing.get_context("spawn")
        # also contains the files that a killed process leaves behind
        self._files = TemporaryDirectory(prefix="dualgap_worker_", ignore_cleanup_errors=True)
        self._printed = Capture(context)
        self._reaper = Reaper(context, self._files.name)
        self._descendants, self._frames = set[psutil.Process](), Frames()
        # not a pipe, which a process of the same user could open by its name in /proc
        self._channel, theirs = socket.socketpair()
        arguments = (
            theirs,
            self.threads,
            self._files.name,
            self._printed.writer,
            self._reaper.writer,
        )
        child = context.Process(target=serve, args=arguments, daemon=True)
        with _without_main():
            child.start()
        theirs.close()
        self._child, self._pid = child, child.pid or 0

    def finish(self, seconds: float) -> bytes:
        """Wait for the end of the call, and return its result.

        Raises
        ------
        WorkerError
            If the call raised an exception.
        TimeoutError
            If it has not ended after `seconds`; the process is killed.
        WorkerExit
            If the process ended before the call.
        """
        deadline = time.monotonic() + seconds
        while not self.has_ended():
            if time.monotonic() > deadline:
                self.stop()
                raise TimeoutError(f"the call did not end within {seconds:.0f} s")
            self.wait()
        return self.result()

    def wait(self, seconds: float = _POLL_INTERVAL_S) -> None:
        """Wait until the process has sent something or has ended, for at most `seconds`.

        Its output is read meanwhile, so that it is never blocked.
        """
        assert self._child is not None
        deadline, output = time.monotonic() + seconds, self._printed.reader
        readable: list[Any] = [output]
        while readable == [output]:
            self._printed.read()
            remaining = max(0.0, deadline - time.monotonic())
            channels = [self._channel, self._child.sentinel, output]
            readable = wait(channels, remaining) if remaining else []

    def has_ended(self) -> bool:
        """Whether the call has ended, with a result or with the process.

        Received frames are processed: new phases, and the answer.
        """
        assert self._child is not None
        alive = self._child.is_alive()
        while self._answer is None:
            try:
                received = self._channel.recv(_RECEIVE_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except OSError:  # reset because the process died
                received = b""
            if not received:
                self._child.join(_POLL_INTERVAL_S)
                break
            try:
                for kind, content in self._frames.of(received):
                    self._take(kind, content)
            except Malformed as error:
                self._answer = WorkerError(str(error))
        return self._answer is not None or not alive

    def _take(self, kind: bytes, content: bytes) -> None:
        if kind == PHASE:
            text = content[:_PHASE_CHARACTERS].decode(errors="replace")
            self._phase, self._since = text, time.monotonic()
        elif kind == RETURNED:
            self._answer = content
        else:
            text = content.decode(errors="replace")
            self._answer = WorkerError(text)
            with suppress(ValueError):  # content that is not an exit code stays text
                self._answer = WorkerExit(int(text)) if kind == ENDED else self._answer

    def result(self) -> bytes:
        """Return the result of a call that has ended; raises WorkerError and WorkerExit as `finish`."""
        assert self._child is not None
        if self._answer is None:
            self._child.join()
            raise WorkerExit(self._child.exitcode or 0)
        if not isinstance(self._answer, bytes):
            raise self._answer
        return self._answer

    def phase(self) -> tuple[str, float]:
        """Return the phase of the call, and the seconds since it began."""
        return self._phase, time.monotonic() - self._since

    def printed(self) -> str:
        """Return the end of the output since the call began."""
        return self._printed.text()

    def resident(self) -> int:
        """Return the resident memory in bytes of the process's descendants, or its own if it has none.

        Descendants are forks: memory that they share with the process would count twice. They are
        remembered, to be killed at the end: once the process is dead, they cannot be found.
        """
        running, total = descendants(self._pid), 0
        self._descendants = {p for p in self._descendants if p.is_running()} | set(running)
        with suppress(psutil.Error):
            running = running or [psutil.Process(self._pid)]
        for process in running:
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total

    def cpu_seconds(self) -> float:
        """Return the CPU time in seconds of the process, its descendants and their reaped children."""
        total = 0.0
        with suppress(psutil.Error):
            for process in (psutil.Process(self._pid), *descendants(self._pid)):
                with suppress(psutil.Error):
                    total += sum(process.cpu_times()[:4])  # user, system, and both of children
        return total

    def is_reusable(self) -> bool:
        """Whether the process is alive, and the call left behind no descendants, zombies or files."""
        if self._child is None or not alive(self._pid) or descendants_and_zombies(self._pid):
            return False
        with suppress(OSError):  # its folder is gone
            return not os.listdir(self._files.name)
        return False

    def terminate(self) -> str:
        """Ask the process to end within a second; return the signal that ends it."""
        self._descendants |= set(descendants(self._pid))
        signal_group(self._pid, signal.SIGTERM)
        self.wait(_TERMINATION_GRACE_S)
        return "SIGTERM" if self.has_ended() else "SIGKILL"

    def stop(self) -> None:
        """Kill the process and its descendants; the next call starts another process."""
        if self._child is None:
            return
        with suppress(OSError):  # it has ended already
            os.kill(self._pid, signal.SIGSTOP)
        kill_descendants(self._pid)
        signal_group(self._pid, signal.SIGKILL)
        for process in self._descendants:
            kill_with_group(process)
        self._child.kill()  # it may not lead its group yet
        self._child.join()
        self._channel.close()
        self._reaper.dismiss()
        self._printed.close()
        # rm removes deeper trees than Python can
        subprocess.run(["rm", "-rf", "--", self._files.name], check=False)
        self._files.cleanup()
        self._child = None
