"""What a worker process does before it runs anything.

This module imports nothing numerical: the number of threads must be in the environment first.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
from typing import TYPE_CHECKING

from dualgap.experiments.workers.wire import ENDED, PHASE, RAISED, RETURNED, WorkerExit, frame

if TYPE_CHECKING:
    import socket
    from multiprocessing.connection import Connection

STARTING = "starting"  # the first phase of every call
COMPILING = "compiling"  # how a phase begins in which a solver is compiled
SETTING_UP = "setting up"  # how one begins in which it is made ready, before its clock starts
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
# computes on threads of its own would share two cores with them. 2^20 is long enough between products.
_SPIN_VARIABLE, _SPIN_TICKS = "OPENBLAS_THREAD_TIMEOUT", "20"
_PR_SET_CHILD_SUBREAPER = 36  # of Linux's <sys/prctl.h>


def serve(
    channel: socket.socket, threads: int, files: str, printed: Connection, reaper: Connection
) -> None:
    """Make this process a worker, and each call that comes until the parent ends.

    It leads a session of its own, so that Ctrl-C does not reach it and everything it starts is killed
    with it. On Linux it stays the ancestor of what its children leave behind. Calls come as pickles, as
    the parent runs no code from outside. What goes back are frames of bytes: the phases of a call, and
    the bytes that it returned or what it raised, as text.

    Parameters
    ----------
    threads : how many its numerical libraries use.
    files : the folder of its temporary files.
    printed : receives what solvers print, and the Python stacks when a signal ends the process.
    reaper : learns which process to kill when the parent dies.
    """
    for name in _THREAD_VARIABLES:
        os.environ[name] = str(threads)
    os.environ[_SPIN_VARIABLE] = _SPIN_TICKS
    os.environ["TMPDIR"] = files
    with contextlib.suppress(OSError):
        os.setsid()
    os.write(reaper.fileno(), b"%d\n" % os.getpid())
    reaper.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    for stream in (1, 2):
        os.dup2(printed.fileno(), stream)
    faulthandler.enable(file=2)
    calls = channel.makefile("rb")

    def report(phase: str) -> None:
        channel.sendall(frame(PHASE, phase.encode()))

    with contextlib.suppress(EOFError, OSError):
        while True:
            function, arguments, reporting = pickle.load(calls)
            arguments = (report, *arguments) if reporting else arguments
            try:
                answer = frame(RETURNED, function(*arguments))
            except WorkerExit as death:
                answer = frame(ENDED, str(death.code).encode())
            except BaseException as error:  # of a solver, which may also call sys.exit
                from dualgap.experiments.workers.errors import error_text  # noqa: PLC0415 - see above

                answer = frame(RAISED, error_text(error).encode(errors="replace"))
            channel.sendall(answer)
