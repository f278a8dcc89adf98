"""The main loop of a worker process, and its set-up.

This module imports nothing numerical: the number of threads must be set in the environment first.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from dualgap.experiments.workers.wire import ENDED, PHASE, RAISED, RETURNED, WorkerExit, frame

if TYPE_CHECKING:
    import socket
    from multiprocessing.connection import Connection

STARTING = "starting"  # the first phase of every call
COMPILING = "compiling"  # prefix of phases in which a solver is compiled
SETTING_UP = "setting up"  # prefix of phases in which a solver is prepared, before its clock starts
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
_PACKAGE = Path(__file__).parents[2]
_PR_SET_CHILD_SUBREAPER = 36  # from Linux's <sys/prctl.h>


def serve(
    channel: socket.socket, threads: int, files: str, printed: Connection, reaper: Connection
) -> None:
    """Turn this process into a worker that executes calls until the parent ends.

    It leads its own session, so that Ctrl-C does not reach it and everything it starts is killed
    with it. On Linux it stays the ancestor of orphaned descendants. Calls arrive as pickles, as the
    parent runs no user code. Frames of bytes are sent back: the phases of a call, then the bytes that
    it returned or the text of its exception.

    Parameters
    ----------
    threads : number of threads of its numerical libraries.
    files : the folder of its temporary files.
    printed : receives the output of solvers, and the Python stacks if a signal ends the process.
    reaper : receives the id of this process, to be killed if the parent dies.
    """
    for name in _THREAD_VARIABLES:
        os.environ[name] = str(threads)
    os.environ.update(_OPENBLAS_SPIN)
    os.environ["TMPDIR"] = files
    with contextlib.suppress(OSError):
        os.setsid()
    os.write(reaper.fileno(), b"%d\n" % os.getpid())
    reaper.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
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
            except BaseException as error:  # solvers may raise anything, and call sys.exit
                answer = frame(RAISED, error_text(error).encode(errors="replace"))
            channel.sendall(answer)


def error_text(error: BaseException, with_source: bool = False) -> str:
    """Return `ValueError: message (file.py:3)`, with the last location in user code, if any.

    Parameters
    ----------
    with_source : whether to append the line of code.
    """
    text, location = _first_line(error), _location(error)
    if location is None:
        return text
    source = f": `{location.line}`" if with_source and location.line else ""
    return f"{text} ({Path(location.filename).name}:{location.lineno}){source}"


def _first_line(error: BaseException) -> str:
    """Return the type of an exception and the first line of its message."""
    from dualgap.problems.texts import one_line  # noqa: PLC0415 - imports numerical libraries

    text = "".join(traceback.format_exception_only(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    name = type(error).__name__
    # a SyntaxError begins with its file and line; a message may begin with a blank line
    start = next((i for i, line in enumerate(lines) if name in line.partition(":")[0]), 0)
    end = start + 1 + lines[start].endswith(f"{name}:")
    return one_line(" ".join(lines[start:end]))


def _location(error: BaseException) -> traceback.FrameSummary | None:
    """Return the location in code where an exception arose, if it is in a file."""
    if isinstance(error, SyntaxError):  # its last frame is that of the import
        return traceback.FrameSummary(error.filename or "", error.lineno, "", line=error.text)
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    libraries.append(_PACKAGE)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_file()]
    in_user_code = [f for f in frames if not any(map(Path(f.filename).is_relative_to, libraries))]
    return (in_user_code or frames or [None])[-1]
