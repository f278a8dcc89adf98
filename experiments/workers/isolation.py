"""Calls in a child process, so that nothing they do affects this process.

On Linux the child is a fork. A fork takes about 3 ms, and has everything that this process has loaded:
modules, compiled functions, samples. It is safe because thread pools started for certification end with
the child: of the threads of this process only those of OpenBLAS persist, and OpenBLAS restarts them in
the child. Elsewhere the child is a new interpreter, which computes for two to three seconds to import
and load the same; on macOS, because Accelerate's threads do not survive a fork.
"""

import contextlib
import ctypes
import faulthandler
import gc
import os
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from io import BytesIO
from itertools import count, pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, NamedTuple, NoReturn, cast

from dualgap.experiments.workers.processes import start_python
from dualgap.experiments.workers.start import take_streams
from dualgap.experiments.workers.wire import WorkerExit

_USAGE = struct.Struct("<3d")  # delay, CPU time and memory of a child, after the bytes of its call
# what to read the child's signals from, how to wait for its exit code, and how to get its bytes
_Child = tuple[BinaryIO, Callable[[], int], Callable[[], BinaryIO]]


class ChildResult(NamedTuple):
    """Output and resource usage of a call in a child process.

    Attributes
    ----------
    file : the bytes that the call returned.
    seconds : from the child's start signal to its end, measured by this process.
    delayed : the seconds in which it waited for a processor since it began to solve (Linux; else 0).
    cpu_seconds : CPU time since the start signal, of the child and of the children that it waited for.
    peak_rss : largest resident memory of the child, in bytes.
    """

    file: BinaryIO
    seconds: float = 0.0
    delayed: float = 0.0
    cpu_seconds: float = 0.0
    peak_rss: int = 0


def start_method() -> str:
    """Return how children are started, "fork" or "spawn"; `DUALGAP_START_METHOD` chooses.

    Raises
    ------
    ValueError
        If the system has no such method.
    """
    methods = ["fork", "spawn"] if hasattr(os, "fork") else ["spawn"]
    default = "spawn" if sys.platform == "darwin" else methods[0]
    if (method := os.environ.get("DUALGAP_START_METHOD", default)) not in methods:
        expected = " or ".join(methods)
        raise ValueError(f"DUALGAP_START_METHOD is {method!r}. Set it to {expected}, or unset it.")
    return method


def call_in_child(
    function: Callable[..., bytes], *arguments: Any, solving: Callable[[], object] = lambda: None
) -> ChildResult:
    """Call `function(start, *arguments)` in a child process.

    The child calls `start` when the measured part begins, and again when, set up, it begins to solve;
    then `solving` is called in this process.

    SIGTERM ends the child; this process ignores it from now on. Unless the child is a fork, function and
    arguments are pickled.

    Raises
    ------
    WorkerExit
        If the child ended without returning a result.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    start = _fork if start_method() == "fork" else _spawn
    signals, wait, result = start(function, arguments)
    started_at = perf_counter()
    with signals:
        if signals.read(1):  # empty if the child ends before
            started_at = perf_counter()
            if signals.read(1):
                solving()
    code, seconds = wait(), perf_counter() - started_at
    file = result()
    size = file.seek(0, os.SEEK_END) - _USAGE.size
    if code or size <= 0:
        file.close()
        raise WorkerExit(code)
    file.seek(size)
    delayed, cpu, memory = _USAGE.unpack(file.read())
    file.truncate(size)
    file.seek(0)
    return ChildResult(file, seconds, delayed, cpu, int(memory))


def _fork(function: Callable[..., bytes], arguments: tuple[Any, ...]) -> _Child:
    """Start a child that has everything this process has loaded."""
    _release_memory()
    gc.freeze()  # otherwise a collection writes to, and so copies, the pages shared with this process
    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever reads it closes it
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _call(file.fileno(), os.fdopen(writer, "wb"), function, arguments)
    os.close(writer)
    signals = os.fdopen(reader, "rb")
    return signals, lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), lambda: file


def _release_memory() -> None:
    """Free unreachable objects, and return free memory to the system (glibc).

    Freezing would keep unreachable cycles, and the samples in them, forever; and the memory of this
    process counts as each fork's own. It takes 1 to 10 ms per call, and 0.2 s for the first one.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _spawn(function: Callable[..., bytes], arguments: tuple[Any, ...]) -> _Child:
    """Start a child that imports and loads everything by itself."""
    descriptor, path = tempfile.mkstemp()
    os.close(descriptor)
    process = start_python(make_call, path, leads_group=False, stdout=subprocess.PIPE, stderr=None)
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError), process.stdin as calls:  # it may have died already
        pickle.dump((function, arguments), calls)

    def result() -> BinaryIO:
        content = Path(path).read_bytes()
        os.unlink(path)
        return BytesIO(content)

    return cast("BinaryIO", process.stdout), process.wait, result


def make_call(path: str) -> NoReturn:
    """Make the call that arrives on standard input, and write its result to a file; the main program."""
    calls, signals = take_streams()
    with calls:
        function, arguments = pickle.load(calls)
    _call(os.open(path, os.O_WRONLY | getattr(os, "O_BINARY", 0)), signals, function, arguments)


def _delayed() -> float:
    """Return the seconds that this process was runnable but had no processor; 0 if unknown."""
    with contextlib.suppress(OSError, IndexError):
        return 1e-9 * int(Path("/proc/self/schedstat").read_text().split()[1])
    return 0.0


def _call(
    result: int, signals: BinaryIO, function: Callable[..., bytes], arguments: tuple[Any, ...]
) -> NoReturn:
    code, numbers, delayed, cpu = 1, count(1), 0.0, 0.0

    def start() -> None:
        """Signal the parent process, at most twice: later code cannot reach it."""
        nonlocal delayed, cpu
        if (number := next(numbers)) == 1:
            cpu = cpu_seconds()
        if number <= 2:
            delayed = _delayed()
        with contextlib.suppress(OSError, ValueError):  # closed
            signals.write(b".")
            signals.flush()
        if number == 2:
            signals.close()

    try:
        from dualgap.solvers.numerics.timing import cpu_seconds, peak_memory  # noqa: PLC0415

        files = [a.file.fileno() for a in arguments if isinstance(a, ChildResult)]
        inherited = sorted({2, result, signals.fileno(), *files, 2**16})
        for low, high in pairwise(inherited):
            os.closerange(low + 1, high)  # the channels to the parent become inaccessible
        if hasattr(os, "register_at_fork"):  # the parent waits for the end of the last copy
            os.register_at_fork(after_in_child=signals.close)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGTERM, file=2, chain=True)
        for name, stream in (("stdout", 1), ("stderr", 2)):  # so that a crash loses no printed line
            text = os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False)
            setattr(sys, name, text)
        content = function(start, *arguments)
        usage = _USAGE.pack(_delayed() - delayed, cpu_seconds() - cpu, peak_memory())
        with os.fdopen(result, "wb", closefd=False) as file:
            file.write(content)
            file.write(usage)
        code = 0
    except BaseException:  # the child must end here in any case
        traceback.print_exc()
    finally:
        for text in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or replaced
                text.flush()
        ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)
        os._exit(code)
