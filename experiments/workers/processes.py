"""Processes of this machine: which descends from which, and how they are ended."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from multiprocessing.context import BaseContext
from pathlib import Path

import psutil

_ENDING = 1.0  # seconds in which processes are looked for that have to be killed
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
    before=none
    while found=$(descendants "$worker"); [ "$found" != "$before" ]; do
        kill -s KILL $found 2>/dev/null
        before=$found
    done
    kill -s KILL -- "-$worker" 2>/dev/null
    rm -rf -- "$1"
fi
"""


class Reaper:
    """A small process that kills a worker and all that it started, if this process dies before.

    The worker goes last: as the subreaper of what it started it keeps that together, whatever group
    or session it moved to. Without /proc only the worker's group is killed.

    Parameters
    ----------
    files : the folder of the worker's temporary files, which is removed then.

    Attributes
    ----------
    writer : where a worker writes its id, which is its group's too, as a line; passed to it when it
        is started.
    """

    def __init__(self, context: BaseContext, files: str) -> None:
        reader, self.writer = context.Pipe(duplex=False)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", _REAPER, "reaper", files],
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


def started_by(pid: int) -> list[psutil.Process]:
    """Return all that a process has started, whatever group it moved to, and their zombies."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def descendants(pid: int) -> list[psutil.Process]:
    """Return all that a process has started and that has not ended."""
    return [process for process in started_by(pid) if alive(process.pid)]


def end_descendants(pid: int) -> None:
    """Kill all that a process has started, and the groups it moved to, until no other one is found.

    What forks and ends while processes are listed is not found, but its zombies are, and have its group.
    The process itself should be stopped, so that it starts nothing and leaves its zombies.
    """
    last, known = time.monotonic() + _ENDING, None
    while time.monotonic() < last:
        found = started_by(pid)
        for process in found:
            end_with_group(process)
        before, known = known, {process.pid for process in found}
        if before == known and not any(alive(each) for each in known):
            break


def end_with_group(process: psutil.Process) -> None:
    """Kill a process and its group, unless that is ours; not one that has its id now."""
    with suppress(psutil.Error, OSError):
        if process.is_running() and (group := os.getpgid(process.pid)) != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
        process.kill()


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to all of a process group that are left."""
    assert group > 0  # 0 is our own
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def oom_kills(root: Path = Path("/")) -> int:
    """Return how often the kernel has killed a process for want of memory (Linux; else 0).

    The count is of our control group where that has one (of version 2 or 1), else of the whole
    machine; `root` is where /proc and /sys are.
    """
    mounted, counters = root / "sys/fs/cgroup", [root / "proc/vmstat"]
    with suppress(OSError):
        for line in reversed((root / "proc/self/cgroup").read_text().splitlines()):
            _, controllers, group = line.split(":", 2)  # number:controllers:/path
            if not controllers:
                counters.insert(0, mounted / group.lstrip("/") / "memory.events")
            elif "memory" in controllers.split(","):
                counters.insert(0, mounted / "memory" / group.lstrip("/") / "memory.oom_control")
    for path in counters:
        with suppress(OSError):
            for line in path.read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    return 0
