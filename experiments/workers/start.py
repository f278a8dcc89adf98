"""What a worker process does before it runs anything, and how it tells where it is.

This module imports nothing numerical: the number of threads must be in the environment first.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import signal
import struct
import sys
from dataclasses import dataclass, replace
from time import monotonic  # by value: a solver may replace that of the module
from typing import TYPE_CHECKING, Literal, TextIO

from experiments.cases.integrity import Surroundings

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from experiments.cases.plan import Case
    from experiments.cases.records import Outcome

Phase = Literal["loading", "solving", "certifying"]
_PHASES: tuple[Phase, ...] = ("loading", "solving", "certifying")
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
_PR_SET_PDEATHSIG = 1  # of Linux's <sys/prctl.h>
_PR_SET_CHILD_SUBREAPER = 36
_LAYOUT = struct.Struct("qqd")


@dataclass(frozen=True)
class Board:
    """A small file on which a worker writes its process id, its phase, and since when.

    A file and not a queue: a worker that hangs or is killed can neither block it nor hold its lock.
    """

    path: str

    def write(self, phase: Phase) -> None:
        """Say that `phase` begins now."""
        entry = _LAYOUT.pack(os.getpid(), _PHASES.index(phase), monotonic())
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, entry, 0)
        finally:
            os.close(file)

    def read(self) -> tuple[int, Phase, float]:
        """Return the process id (0 before the first entry), the phase, and its seconds so far."""
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            entry = file.read(_LAYOUT.size)
            if len(entry) == _LAYOUT.size:
                pid, phase, since = _LAYOUT.unpack(entry)
                return pid, _PHASES[phase], monotonic() - since
        return 0, "loading", 0.0

    def clear(self) -> None:
        """Forget the worker."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)


def start_worker(
    threads: int, printed: Connection | None = None, guard: Connection | None = None
) -> None:
    """Make this process a worker.

    Its numerical libraries use `threads` threads. It leads a session of its own, so that Ctrl-C does
    not reach it and everything it starts is killed with it. On Linux it stays the ancestor of what its
    children leave behind. `guard` learns whom to kill when its parent dies; without one it dies with
    its parent by itself, on Linux, and what it started does not. What solvers print goes to `printed`,
    as do the Python stacks when a signal ends it.
    """
    for name in _THREAD_VARIABLES:
        os.environ[name] = str(threads)
    with contextlib.suppress(OSError):
        os.setsid()
    if guard is not None:
        os.write(guard.fileno(), b"%d\n" % os.getpid())
        guard.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        if guard is None:
            system.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        system.prctl(_PR_SET_CHILD_SUBREAPER, 1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    for stream in (1, 2):
        os.dup2(nowhere if printed is None else printed.fileno(), stream)
    faulthandler.enable(file=2)
    faulthandler.register(signal.SIGTERM, file=2, chain=True)


def run(case: Case, board: Board, threads: int) -> Outcome:
    """Run one case; the numerical libraries are imported here, for the first time."""
    board.write("loading")
    # anew, as a solver may have closed or replaced them
    sys.stdout, sys.stderr = (_text(stream) for stream in (1, 2))
    from experiments.cases.case import run_case  # noqa: PLC0415 - after the environment is set

    found = Surroundings()
    try:
        outcome = run_case(case, board.write, threads)
        return replace(outcome, damage=found.damaged())
    finally:
        _flush()


def _text(stream: int) -> TextIO:
    """Return a stream that writes line by line: a death does not take with it what was printed."""
    return os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False)


def _flush() -> None:
    """Write out what Python and C still hold of what was printed, so that it counts to this run."""
    for text in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or replaced
            text.flush()
    ctypes.CDLL(None).fflush(None)
