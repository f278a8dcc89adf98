"""One child process at a time, supervised from outside: the only place where workers are started.

Executors run cases in it, the selftest tries solvers in it, and the reader of experiment files imports
user files in it. Such code may crash, hang, print endlessly or leave processes behind. The process is
reused for further calls until it dies or is stopped; the next call then starts another one.
"""

import os
import pickle
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from tempfile import mkdtemp
from typing import IO, Any

import psutil

from dualgap.experiments.workers.inbox import Inbox
from dualgap.experiments.workers.processes import (
    Capture,
    Reaper,
    alive,
    descendants,
    descendants_and_zombies,
    kill_tree,
    kill_with_group,
    remove,
    signal_group,
    start_python,
)
from dualgap.experiments.workers.start import serve
from dualgap.experiments.workers.wire import WorkerExit

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
# Threads of OpenBLAS spin for 2^28 clock ticks, a tenth of a second, after each product: a solver that
# computes on its own threads would share two cores with them. 2^20 is long enough between products.
_OPENBLAS_SPIN = {"OPENBLAS_THREAD_TIMEOUT": "20"}
_POLL_INTERVAL_S = 0.2  # between two inspections of a worker
_TERMINATION_GRACE_S = 1.0  # between SIGTERM and SIGKILL: time to print the Python stacks


def _start_server(
    variables: dict[str, str], printed: int
) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]:
    """Start a process that serves calls; return it, what takes the calls and what gives the answers.

    They are a socket: a process of the same user could open a pipe by its name in /proc, and so forge
    the answer of another. Windows can pass only pipes, and has no such names.
    """
    if not hasattr(socket, "AF_UNIX"):
        process = start_python(serve, variables=variables, stdout=subprocess.PIPE, stderr=printed)
        assert process.stdin is not None
        assert process.stdout is not None
        return process, process.stdin, process.stdout
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = start_python(
            serve,
            variables=variables,
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
            stderr=printed,
        )
        return process, os.fdopen(os.dup(ours.fileno()), "wb"), os.fdopen(ours.detach(), "rb")


class Worker:
    """A supervised process, started with the first call and replaced when it has ended.

    A call returns bytes in the layout of `wire`; its caller states which layout it expects.

    Parameters
    ----------
    threads : number of threads of its numerical libraries.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._process: subprocess.Popen[bytes] | None = None

    def call(
        self, function: Callable[..., bytes], *arguments: Any, reporting: bool = False
    ) -> None:
        """Start a call, in the process of the previous one if it is still alive.

        With `reporting` the first argument is a function to call with the name of each new phase.
        """
        if not self._serves():
            self.stop()  # it died between two calls: a zombie whose threads may not have ended yet
        if self._process is None:
            self._start()
        self._printed.clear()
        self._inbox.clear()
        with suppress(OSError):  # it has just died, which `has_ended` will notice
            self._calls.write(pickle.dumps((function, arguments, reporting)))
            self._calls.flush()

    def _start(self) -> None:
        """Start a process, the threads that read what it sends and prints, and its reaper.

        OSError if the system has no more processes, descriptors or space; then nothing remains.
        """
        with ExitStack() as undo:
            # also contains the files that a killed process leaves behind
            self._files = mkdtemp(prefix="dualgap_worker_")
            undo.callback(remove, self._files)
            self._printed = Capture()
            undo.callback(self._printed.close)
            threads = dict.fromkeys(_THREAD_VARIABLES, str(self.threads))
            variables = threads | _OPENBLAS_SPIN | {"TMPDIR": self._files}
            process, self._calls, answers = _start_server(variables, self._printed.writer)
            for step in (self._calls.close, process.wait, process.kill):  # the last one first
                undo.callback(step)
            self._worker, self._inbox = psutil.Process(process.pid), Inbox(answers)
            self._reaper = Reaper(process.pid, self._files)
            undo.pop_all()
        self._process, self._descendants = process, set[psutil.Process]()

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
        """Wait until the process has sent something or has ended, for at most `seconds`."""
        self._inbox.wait(seconds)

    def has_ended(self) -> bool:
        """Whether the call has ended, with a result or with the process."""
        assert self._process is not None
        has_exited = self._process.poll() is not None
        # the end of a process and of its pipe follow one another
        if has_exited:
            self._inbox.has_ended(_POLL_INTERVAL_S)
        elif self._inbox.has_ended():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_POLL_INTERVAL_S)
                has_exited = True
        return self._inbox.answer is not None or has_exited

    def result(self) -> bytes:
        """Return the result of a call that has ended; raises WorkerError and WorkerExit as `finish`."""
        assert self._process is not None
        answer = self._inbox.answer
        if answer is None:
            raise WorkerExit(self._process.wait())
        if not isinstance(answer, bytes):
            raise answer
        return answer

    def phase(self) -> tuple[str, float]:
        """Return the phase of the call, and the seconds since it began."""
        phase, since = self._inbox.phase
        return phase, time.monotonic() - since

    def printed(self) -> str:
        """Return the end of the output since the call began."""
        return self._printed.text()

    def resident(self) -> int:
        """Return the resident memory in bytes of the process's descendants, or its own if it has none.

        Descendants may be forks: memory that they share with the process would count twice. They are
        remembered, to be killed at the end: once the process is dead, they cannot be found.
        """
        running, total = descendants(self._worker), 0
        self._descendants = {p for p in self._descendants if p.is_running()} | set(running)
        for process in running or [self._worker]:
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total

    def cpu_seconds(self) -> float:
        """Return the CPU time in seconds of the process, its descendants and their reaped children."""
        total = 0.0
        for process in (self._worker, *descendants(self._worker)):
            with suppress(psutil.Error):
                total += sum(process.cpu_times()[:4])  # user, system, and both of children
        return total

    def is_reusable(self) -> bool:
        """Whether the process is alive, and the call left behind no descendants, zombies or files."""
        if not self._serves() or descendants_and_zombies(self._worker):
            return False
        with suppress(OSError):  # its folder is gone
            return not os.listdir(self._files)
        return False

    def _serves(self) -> bool:
        """Whether there is a process that is alive and whose answers are received."""
        if self._process is None or self._inbox.has_ended():
            return False
        return alive(self._process.pid)

    def terminate(self) -> str:
        """Ask the process to end within a second; return the signal that ends it."""
        self._descendants |= set(descendants(self._worker))
        signal_group(self._worker.pid, "SIGTERM")
        self.wait(_TERMINATION_GRACE_S)
        return "SIGTERM" if self.has_ended() else "SIGKILL"

    def stop(self) -> None:
        """Kill the process and its descendants; the next call starts another process."""
        if self._process is None:
            return
        kill_tree(self._worker)
        for process in self._descendants:
            kill_with_group(process)
        self._process.wait()
        with suppress(OSError):  # the rest of a call that it did not read
            self._calls.close()
        self._inbox.has_ended(_POLL_INTERVAL_S)
        self._reaper.dismiss()
        self._printed.close()
        remove(self._files)
        self._process = None
