"""What surrounds a worker process: its output, its reaper, and the killing of its descendants."""

import os
import re
import signal
import subprocess
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path

import psutil

_OUTPUT_BYTES = 2**16  # kept of the output; also the capacity of a pipe on Linux
_REASON_CHARACTERS = 160  # of a line that becomes part of a reason
_STACK = re.compile(r"^(?:Current thread|Thread) .*\(most recent call first\):\n +(.+)$", re.M)
_KILL_TIMEOUT_S = 1.0  # a process that forks endlessly must not block us for longer
# Reads the ids of workers until its input ends, as the process at the other end has died; then
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
    """A small process that kills a worker and its descendants if this process dies first.

    The worker is killed last: as their subreaper it stays the ancestor of all processes it started,
    even in other groups or sessions. Without /proc only the worker's group is killed.

    Parameters
    ----------
    files : the folder of the worker's temporary files, which is then removed.

    Attributes
    ----------
    writer : receives a line with the worker's process id, which is also its group id; passed to the
        worker when it is started.
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
        """End the reaper without killing the worker."""
        self._process.kill()
        self._process.wait()
        self.writer.close()


def alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def descendants_and_zombies(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process, in any group, including zombies."""
    with suppress(psutil.Error):
        return psutil.Process(pid).children(recursive=True)
    return []


def descendants(pid: int) -> list[psutil.Process]:
    """Return all descendants of a process that have not ended."""
    return [process for process in descendants_and_zombies(pid) if alive(process.pid)]


def kill_descendants(pid: int) -> None:
    """Kill all descendants of a process, with their groups, until no new one is found.

    A process that forks and ends while processes are listed is missed, but its zombie is found, and has
    its group. Stop the process itself before, so that it starts nothing and does not reap zombies.
    """
    deadline, previous = time.monotonic() + _KILL_TIMEOUT_S, None
    while time.monotonic() < deadline:
        processes = descendants_and_zombies(pid)
        for process in processes:
            kill_with_group(process)
        current = {process.pid for process in processes}
        if current == previous and not any(map(alive, current)):
            break
        previous = current


def kill_with_group(process: psutil.Process) -> None:
    """Kill a process and its group, unless that is ours; spare a process that has reused its id."""
    with suppress(psutil.Error, OSError):
        if process.is_running() and (group := os.getpgid(process.pid)) != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
        process.kill()


def signal_group(group: int, number: signal.Signals) -> None:
    """Send a signal to the remaining members of a process group."""
    assert group > 0  # 0 is our own group
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def oom_kills(root: Path = Path("/")) -> int:
    """Return how often the kernel has killed a process for lack of memory (Linux; else 0).

    The count is that of our control group if it has one (version 2 or 1), otherwise of the whole
    machine; `root` contains /proc and /sys.
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


class Capture:
    """The end of the output of one worker and of all processes that it starts; the rest is dropped.

    Their standard output and error are a pipe, emptied by whoever waits for the worker. A file would
    fill the disk if a solver prints endlessly, and a pipe that nobody empties would block it.

    Attributes
    ----------
    writer : receives the output; passed to the worker when it is started, and kept open here, so that
        `reader` never ends.
    reader : becomes readable as soon as something is printed.
    """

    def __init__(self, context: BaseContext) -> None:
        self.writer: Connection
        self.reader, self.writer = context.Pipe(duplex=False)
        os.set_blocking(self.reader.fileno(), False)
        self._end = b""

    def read(self) -> None:
        """Empty the pipe by a single read, so that a flood of output does not block us."""
        with suppress(BlockingIOError):
            output = self._end + os.read(self.reader.fileno(), _OUTPUT_BYTES)
            self._end = output[-_OUTPUT_BYTES:]

    def clear(self) -> None:
        """Discard the output so far."""
        self.read()
        self._end = b""

    def text(self) -> str:
        """Return the end of the output so far."""
        self.read()
        return self._end.decode(errors="replace").replace("\0", "")

    def close(self) -> None:
        """Stop reading; processes that still print get an error."""
        self.writer.close()
        self.reader.close()


def last_words(text: str) -> str:
    """Return the most informative line of a dead process's output: its top frame, or the last line."""
    stacks = _STACK.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (stacks or lines or [""])[-1].strip()[:_REASON_CHARACTERS]
