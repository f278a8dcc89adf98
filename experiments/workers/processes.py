"""Processes of this machine: which descends from which, how much memory they use, how they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path

import psutil

# Reads the ids of workers until its input ends, as it does when whoever holds the other end dies; then
# stops the last of them, kills its descendants as long as it finds more, then its group.
_REAPER = r"""
while read -r line; do worker=$line; done
descendants() {
    grep -ls "^PPid:.$1\$" /proc/[0-9]*/status | while IFS=/ read -r _ _ child _; do
        echo "$child"
        descendants "$child"
    done
}
if [ -n "$worker" ]; then
    kill -s STOP "$worker" 2>/dev/null
    before=
    while found=$(descendants "$worker"); [ "$found" != "$before" ]; do
        kill -s KILL $found 2>/dev/null
        before=$found
    done
    kill -s KILL -- "-$worker" 2>/dev/null
fi
"""


class Reaper:
    """A small process that kills a worker and all that it started, if this process dies before.

    The worker goes last: as the subreaper of what it started it keeps that together, whatever group
    or session it moved to. Without /proc only the worker's group is killed.

    Attributes
    ----------
    writer : where a worker writes its id, which is its group's too, as a line; passed to it when it
        is started.
    """

    def __init__(self, context: BaseContext) -> None:
        reader, self.writer = context.Pipe(duplex=False)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _REAPER],
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


def resident(pids: Iterable[int]) -> int:
    """Return the resident memory of processes, in bytes."""
    total = 0
    for process_id in pids:
        with suppress(psutil.Error):
            total += psutil.Process(process_id).memory_info().rss
    return total


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process, its descendants and those they waited for, in seconds."""
    total = 0.0
    with suppress(psutil.Error):
        for process in (psutil.Process(pid), *descendants(pid)):
            with suppress(psutil.Error):
                total += sum(process.cpu_times()[:4])  # user, system, and both of children
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


def oom_kills(root: Path = Path("/")) -> int:
    """Return how often the kernel has killed a process for want of memory (Linux; else 0).

    The count is of our control group where that has one, else of the whole machine;
    `root` is where /proc and /sys are.
    """
    for path in (*_group_counters(root), root / "proc/vmstat"):
        with suppress(OSError):
            for line in path.read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0


def _group_counters(root: Path) -> Iterator[Path]:
    """Yield where our control group may count the kills, in version 2 and version 1."""
    groups, mounted = "", root / "sys/fs/cgroup"
    with suppress(OSError):
        groups = (root / "proc/self/cgroup").read_text()
    for line in groups.splitlines():  # number:controllers:/path
        _, controllers, group = line.split(":", 2)
        if not controllers:
            yield mounted / group.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield mounted / "memory" / group.lstrip("/") / "memory.oom_control"
