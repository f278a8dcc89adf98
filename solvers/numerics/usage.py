"""CPU time and memory used by this process, as far as the system reports them."""

import sys
from functools import cache
from time import process_time
from typing import Any

import psutil


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and, but on Windows, of its children that ended."""
    if (resource := _resource()) is None:
        return process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> int:
    """Return the largest resident memory that this process has had, in bytes."""
    if (resource := _resource()) is None:
        memory = psutil.Process().memory_info()
        return getattr(memory, "peak_wset", memory.rss)
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest  # macOS counts bytes, others KiB


@cache
def _resource() -> Any:
    """Return the module `resource`; None on Windows."""
    try:
        import resource  # noqa: PLC0415 - missing on Windows
    except ImportError:
        return None
    return resource
