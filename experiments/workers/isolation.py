"""A call in a copy of this process: whatever happens there ends with it, and this process stays clean.

The copy is a fork, made in some 3 ms, and has all that this process has loaded: modules, compiled
functions, samples. That is safe as pools of threads that certifying begins end with it: of the threads
of this process only OpenBLAS's live on, which are started anew in a copy.
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

_MOST_FILES = 2**16
_UNIT_OF_MEMORY = 1 if sys.platform == "darwin" else 1024  # bytes, of what the system measures


class Returned(NamedTuple):
    """What a call in a copy gave, and what it took, as this process and the system measured it.

    Attributes
    ----------
    file : what it returned, whatever that is.
    seconds : from when the copy said that it begins, to its end.
    delayed : of these, those in which it was kept waiting for a processor (Linux; else 0).
    cpu_seconds : of the copy and of its children that were waited for.
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


def call_in_copy(
    function: Callable[..., bytes], *arguments: Any, solving: Callable[[], object] = lambda: None
) -> Returned:
    """Call a function in a copy of this process, with a function to call when it begins what counts.

    It calls it again when what it has set up begins to solve; `solving` is called here then.

    The copy is ended by SIGTERM, which this process ignores from now on. Files among the arguments stay
    open in it.

    Raises
    ------
    WorkerExit
        If the copy ended otherwise than by returning something.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _release_memory()
    gc.freeze()  # otherwise a collection writes to, and so copies, the pages shared with this process
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
    ours, theirs = socket.socketpair()
    begun, delayed = perf_counter(), 0.0
    pid = os.fork()
    if pid == 0:
        _call(file.fileno(), theirs, function, arguments)
    theirs.close()
    with ours:
        if ours.recv(1):  # nothing, if the copy ends before
            begun, delayed = perf_counter(), _delayed(pid)
            if ours.recv(1):
                solving()
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        seconds, delayed = perf_counter() - begun, _delayed(pid) - delayed
        _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code or not file.seek(0, os.SEEK_END):
        file.close()
        raise WorkerExit(code)
    file.seek(0)
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * _UNIT_OF_MEMORY
    return Returned(file, seconds, delayed, cpu, memory)


def _release_memory() -> None:
    """Free unreachable objects, and return free memory to the system (glibc).

    Freezing would keep unreachable cycles, and the samples in them, forever; and each fork counts as its
    own what this process holds. It takes 1 to 10 ms per call, and 0.2 s for the first of a process.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _may_start_processes() -> None:
    """Let what is called start processes with `multiprocessing`, as in a process of its own.

    The tracker of resources was the parent's: its closed channel's number may be another file's by now.
    """
    current_process().daemon = False
    tracker: Any = resource_tracker._resource_tracker  # pyright: ignore[reportPrivateUsage]
    tracker._fd = tracker._pid = None


def _delayed(pid: int) -> float:
    """Return for how many seconds a process could have run, but had no processor; 0 where unknown."""
    with contextlib.suppress(OSError, IndexError):
        return 1e-9 * int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
    return 0.0


def _call(
    returned: int, begins: socket.socket, function: Callable[..., bytes], arguments: tuple[Any, ...]
) -> NoReturn:
    code, told = 1, count(1)

    def begin() -> None:
        """Tell the process that this is a copy of, twice: nothing that comes later can."""
        with contextlib.suppress(OSError):
            begins.sendall(b".")
        if next(told) == 2:
            begins.close()

    try:
        files = [a.fileno() for a in arguments if hasattr(a, "fileno")]
        kept = sorted({2, returned, begins.fileno(), *files, _MOST_FILES})
        for low, high in pairwise(kept):
            os.closerange(low + 1, high)  # the channels to the parent stay out of reach
        _may_start_processes()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        faulthandler.register(signal.SIGTERM, file=2, chain=True)
        for name, stream in (("stdout", 1), ("stderr", 2)):  # a death takes no printed line with it
            text = os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False)
            setattr(sys, name, text)
        content = function(begin, *arguments)
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
