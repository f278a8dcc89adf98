"""Calls in a forked child, so that nothing they do affects this process.

A fork takes about 3 ms, and has everything that this process has loaded: modules, compiled functions,
samples. It is safe because thread pools started for certification end with the child: of the threads
of this process only those of OpenBLAS persist, and OpenBLAS restarts them in the child.
"""

import contextlib
import ctypes
import faulthandler
import gc
import os
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from itertools import count, pairwise
from multiprocessing import current_process, resource_tracker
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, NamedTuple, NoReturn

from dualgap.experiments.workers.wire import WorkerExit

_MAX_DESCRIPTOR = 2**16  # the child closes inherited files up to this number
_RSS_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024  # unit of getrusage's ru_maxrss


class ChildResult(NamedTuple):
    """Output and resource usage of a call in a forked child, measured by this process and the system.

    Attributes
    ----------
    file : the bytes that the call returned.
    seconds : from the child's start signal to its end.
    delayed : the seconds of these in which it waited for a processor (Linux; else 0).
    cpu_seconds : CPU time of the child and of the children that it waited for.
    peak_rss : largest resident memory of one of them, in bytes.
    """

    file: BinaryIO
    seconds: float = 0.0
    delayed: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self.file.fileno()


def call_in_fork(
    function: Callable[..., bytes], *arguments: Any, solving: Callable[[], object] = lambda: None
) -> ChildResult:
    """Call `function(start, *arguments)` in a forked child.

    The child calls `start` when the measured part begins, and again when, set up, it begins to solve;
    then `solving` is called in this process.

    SIGTERM ends the child; this process ignores it from now on. Files among the arguments stay open in
    the child.

    Raises
    ------
    WorkerExit
        If the child ended without returning a result.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _release_memory()
    gc.freeze()  # otherwise a collection writes to, and so copies, the pages shared with this process
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
    ours, theirs = socket.socketpair()
    started_at, delayed = perf_counter(), 0.0
    pid = os.fork()
    if pid == 0:
        _call(file.fileno(), theirs, function, arguments)
    theirs.close()
    with ours:
        if ours.recv(1):  # empty if the child ends before
            started_at, delayed = perf_counter(), _delayed(pid)
            if ours.recv(1):
                solving()
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        seconds, delayed = perf_counter() - started_at, _delayed(pid) - delayed
        _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code or not file.seek(0, os.SEEK_END):
        file.close()
        raise WorkerExit(code)
    file.seek(0)
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * _RSS_UNIT_BYTES
    return ChildResult(file, seconds, delayed, cpu, memory)


def _release_memory() -> None:
    """Free unreachable objects, and return free memory to the system (glibc).

    Freezing would keep unreachable cycles, and the samples in them, forever; and the memory of this
    process counts as each fork's own. It takes 1 to 10 ms per call, and 0.2 s for the first one.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _allow_child_processes() -> None:
    """Allow the child to start processes with `multiprocessing`, as a non-daemon process.

    The resource tracker was the parent's: its closed descriptor may belong to another file by now.
    """
    current_process().daemon = False
    tracker: Any = resource_tracker._resource_tracker  # pyright: ignore[reportPrivateUsage]
    tracker._fd = tracker._pid = None


def _delayed(pid: int) -> float:
    """Return the seconds that a process was runnable but had no processor; 0 if unknown."""
    with contextlib.suppress(OSError, IndexError):
        return 1e-9 * int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    return 0.0


def _call(
    result: int, signals: socket.socket, function: Callable[..., bytes], arguments: tuple[Any, ...]
) -> NoReturn:
    code, numbers = 1, count(1)

    def start() -> None:
        """Signal the parent process, at most twice: later code cannot reach it."""
        with contextlib.suppress(OSError):
            signals.sendall(b".")
        if next(numbers) == 2:
            signals.close()

    try:
        files = [a.fileno() for a in arguments if hasattr(a, "fileno")]
        inherited = sorted({2, result, signals.fileno(), *files, _MAX_DESCRIPTOR})
        for low, high in pairwise(inherited):
            os.closerange(low + 1, high)  # the channels to the parent become inaccessible
        _allow_child_processes()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        faulthandler.register(signal.SIGTERM, file=2, chain=True)
        for name, stream in (("stdout", 1), ("stderr", 2)):  # so that a crash loses no printed line
            text = os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False)
            setattr(sys, name, text)
        content = function(start, *arguments)
        while content:
            content = content[os.write(result, content) :]
        code = 0
    except BaseException:  # the child must end here in any case
        traceback.print_exc()
    finally:
        for text in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or replaced
                text.flush()
        ctypes.CDLL(None).fflush(None)
        os._exit(code)
