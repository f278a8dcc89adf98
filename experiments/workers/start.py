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
from typing import BinaryIO

from dualgap.experiments.workers.wire import ENDED, PHASE, RAISED, RETURNED, WorkerExit, frame

STARTING = "starting"  # the first phase of every call
COMPILING = "compiling"  # prefix of phases in which a solver is compiled
SETTING_UP = "setting up"  # prefix of phases in which a solver is prepared, before its clock starts
_PACKAGE = Path(__file__).parents[2]
_PR_SET_CHILD_SUBREAPER = 36  # from Linux's <sys/prctl.h>


def serve() -> None:
    """Turn this process into a worker that executes calls until standard input ends.

    On Linux it stays the ancestor of orphaned descendants. Calls arrive as pickles, as the parent runs
    no user code. Frames of bytes are sent back: the phases of a call, then the bytes that it returned or
    the text of its exception.
    """
    calls, answers = take_streams()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def send(message: bytes) -> None:
        answers.write(message)
        answers.flush()

    def report(phase: str) -> None:
        send(frame(PHASE, phase.encode()))

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
            send(answer)


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output; user code then reads nothing, and prints to standard error."""
    streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    faulthandler.enable(file=2)
    return streams


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
