"""A call in a copy of this process: whatever happens there ends with it, and this process stays clean.

The copy is a fork, made in some 5 ms, and has all that this process has loaded: modules, compiled
functions, samples. That is safe as this process computes no more than small problems, to warm up: of
its threads only OpenBLAS's live on, which are started anew in a copy.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from experiments.workers.supervision import WorkerExit

_MOST_FILES = 2**16


def call_in_copy(function: Callable[..., bytes], *arguments: Any) -> tuple[bytes, float]:
    """Return what a call returns that is made in a copy of this process, and its CPU time in seconds.

    The copy is ended by SIGTERM, which this process ignores from now on.

    Raises
    ------
    WorkerExit
        If the copy ended otherwise than by returning something.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    gc.freeze()  # else collecting garbage writes to, and so copies, all that the copy shares with us
    with tempfile.TemporaryFile() as returned:
        pid = os.fork()
        if pid == 0:
            _call(returned.fileno(), function, arguments)
        _, status, used = os.wait4(pid, 0)
        returned.seek(0)
        content = returned.read()
    code = os.waitstatus_to_exitcode(status)
    if code or not content:
        raise WorkerExit(code)
    return content, used.ru_utime + used.ru_stime


def _call(returned: int, function: Callable[..., bytes], arguments: tuple[Any, ...]) -> NoReturn:
    code = 1
    try:
        os.closerange(3, returned)  # the channels to the parent stay out of reach
        os.closerange(returned + 1, _MOST_FILES)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        faulthandler.register(signal.SIGTERM, file=2, chain=True)
        for name, stream in (("stdout", 1), ("stderr", 2)):  # a death takes no printed line with it
            text = os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False)
            setattr(sys, name, text)
        content = function(*arguments)
        while content:
            content = content[os.write(returned, content) :]
        code = 0
    except BaseException:  # whatever it is, the copy has to end here
        traceback.print_exc()
    finally:
        for text in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or replaced
                text.flush()
        ctypes.CDLL(None).fflush(None)
        os._exit(code)
