"""Processes of this machine: who descends from whom, what they take, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path

import psutil

# Reads the ids of process groups until its input ends, as it does when whoever holds the other end
# dies; then kills the last group and removes the file named by its argument, and its folder.
_GUARD = """
while read -r line; do group=$line; done
[ -n "$group" ] && kill -s KILL -- "-$group" 2>/dev/null
rm -f -- "$1"
rmdir -- "${1%/*}" 2>/dev/null
"""


class Guard:
    """A small process that kills a worker's process group if this process dies without doing so.

    Attributes
    ----------
    writer : where a worker writes its process group's id, a line; passed to it when it is started.
    """

    def __init__(self, context: BaseContext, path: str) -> None:
        reader, self.writer = context.Pipe(duplex=False)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", path],
            stdin=reader.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # out of reach of Ctrl-C
        )
        reader.close()

    def dismiss(self) -> None:
        """End it without a kill."""
        self._process.kill()
        self._process.wait()
        self.writer.close()


def alive(pid: int) -> bool:
    """Return whether a process exists and has not ended."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def descendants(pid: int) -> list[psutil.Process]:
    """Return all that a process has started and that has not ended, whatever group it moved to."""
    found: list[psutil.Process] = []
    with suppress(psutil.Error):
        found = psutil.Process(pid).children(recursive=True)
    return [process for process in found if alive(process.pid)]


def resident(pid: int, others: Iterable[psutil.Process]) -> int:
    """Return the resident memory of a process and of `others`, in bytes."""
    total = 0
    for process_id in (pid, *(process.pid for process in others)):
        with suppress(psutil.Error):
            total += psutil.Process(process_id).memory_info().rss
    return total


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to all of a process group that are left."""
    assert group > 0  # 0 is our own
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill those that are left; an id that now is another process's is left alone."""
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


def oom_kills() -> int:
    """Return how often this system has killed a process for memory (Linux; else 0)."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(psutil.Process().cpu_affinity() or [0]) if psutil.LINUX else os.cpu_count() or 1
