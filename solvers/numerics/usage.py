"""CPU time and memory used by this process, and clocks that pause while functions are compiled."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from time import process_time
from typing import Any

import psutil
from numba.core.event import Event, Listener, install_listener


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and, but on Windows, of its children that ended."""
    if (resource := resource_module()) is None:
        return process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> int:
    """Return the largest resident memory in bytes of this process or of a child that ended.

    On Windows that of children is unknown.
    """
    if (resource := resource_module()) is None:
        memory = psutil.Process().memory_info()
        return getattr(memory, "peak_wset", memory.rss)
    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    largest = max(resource.getrusage(which).ru_maxrss for which in whose)
    return largest if sys.platform == "darwin" else 1024 * largest  # macOS counts bytes, others KiB


@cache
def resource_module() -> Any:
    """Return the module `resource`; None on Windows."""
    try:
        import resource  # noqa: PLC0415 - missing on Windows
    except ImportError:
        return None
    return resource


class Pauses(Listener):
    """Clocks that pause while any thread compiles a function or loads one from disk.

    Attributes
    ----------
    clocks : the original clocks, minus `lost`.
    lost : how far each original clock advanced during the pauses.
    """

    def __init__(self, *clocks: Callable[[], float]) -> None:
        self.lost, self._originals = [0.0] * len(clocks), clocks
        self.clocks = [partial(self._read, k) for k in range(len(clocks))]
        self._started, self._depth, self._lock = list[float](), 0, Lock()

    def _read(self, k: int) -> float:
        return self._originals[k]() - self.lost[k]

    def on_start(self, event: Event) -> None:
        """Record the times when the first thread starts."""
        with self._lock:
            if self._depth == 0:
                self._started = [clock() for clock in self._originals]
            self._depth += 1

    def on_end(self, event: Event) -> None:
        """Add the elapsed times once the last thread whose start was seen has finished."""
        with self._lock:
            if self._depth == 1:
                for k, (clock, started) in enumerate(
                    zip(self._originals, self._started, strict=True)
                ):
                    self.lost[k] += clock() - started
            self._depth = max(0, self._depth - 1)


@contextmanager
def pausing(*clocks: Callable[[], float]) -> Generator[Pauses]:
    """Return clocks that pause during compilation inside the context."""
    with install_listener("numba:compiler_lock", pauses := Pauses(*clocks)):
        yield pauses
