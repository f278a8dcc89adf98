"""What surrounds a worker process: its start, its output, its reaper, and the end of its descendants."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Condition, Thread

import psutil

_OUTPUT_BYTES = 2**16  # kept of the output; also the capacity of a pipe on Linux
_REASON_CHARACTERS = 160  # of a line that becomes part of a reason
_STACK = re.compile(r"^(?:Current thread|Thread) .*\(most recent call first\):\n +(.+)$", re.M)
_RETRY_INTERVAL_S = 0.001  # the thread of a `Capture` empties a full pipe within it
_KILL_TIMEOUT_S = 1.0  # a process that forks endlessly must not block us for longer


def start_python(
    function: Callable[..., object],
    *arguments: str | int,
    variables: Mapping[str, str] | None = None,
    leads_group: bool = True,
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.DEVNULL,
    stderr: int | None = subprocess.DEVNULL,
) -> subprocess.Popen[bytes]:
    """Start an interpreter that calls a function of a module.

    Parameters
    ----------
    variables : environment variables that it has in addition to ours.
    leads_group : whether Ctrl-C does not reach it, and its group can be killed.
    stdin, stdout, stderr : its standard streams, as `subprocess.Popen` takes them.
    """
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from {function.__module__} import {function.__name__} as call; call(*{arguments!r})"
    )
    executable, environment = sys.executable, {**os.environ, **(variables or {})}
    # on Windows, python.exe of an environment only starts the one that it is based on
    if sys.platform == "win32":
        executable, environment["__PYVENV_LAUNCHER__"] = sys._base_executable, sys.executable
    return subprocess.Popen(
        [executable, "-c", code],
        env=environment,
        stdin=stdin,
        start_new_session=leads_group,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if leads_group else 0,
        stdout=stdout,
        stderr=stderr,
    )


class Reaper:
    """A small process that kills a worker and its descendants if this process dies first.

    The worker is killed last: on Linux it is the subreaper of its descendants, and so the ancestor of
    all processes it started, even in other groups or sessions.

    Parameters
    ----------
    worker : its process id.
    files : the folder of its temporary files, which is then removed.
    """

    def __init__(self, worker: int, files: str) -> None:
        self._process = start_python(reap, worker, files)

    def dismiss(self) -> None:
        """End the reaper without killing the worker."""
        self._process.kill()
        self._process.communicate()


def reap(worker: int, files: str) -> None:
    """Wait for the end of standard input, as the process that wrote to it has died; kill the worker."""
    with suppress(psutil.Error):
        process = psutil.Process(worker)
        sys.stdin.read()
        kill_tree(process)
    remove(files)


def remove(folder: str) -> None:
    """Remove a folder as far as the system allows it."""
    with suppress(OSError):  # Windows has no rm, which removes deeper trees than Python can
        subprocess.run(["rm", "-rf", "--", folder], check=False)
    shutil.rmtree(folder, ignore_errors=True)


def alive(pid: int) -> bool:
    """Whether a process exists and has not ended."""
    with suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def descendants_and_zombies(process: psutil.Process) -> list[psutil.Process]:
    """Return all descendants of a process, in any group, including zombies."""
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def descendants(process: psutil.Process) -> list[psutil.Process]:
    """Return all descendants of a process that have not ended."""
    return [each for each in descendants_and_zombies(process) if alive(each.pid)]


def kill_tree(process: psutil.Process) -> None:
    """Kill a process that leads its group, and its descendants; of one that has ended, its group."""
    with suppress(psutil.Error):
        process.suspend()  # it starts nothing, and does not reap zombies
    _kill_descendants(process)
    signal_group(process.pid, "SIGKILL")
    with suppress(psutil.Error):
        process.kill()


def _kill_descendants(process: psutil.Process) -> None:
    """Kill all descendants of a stopped process, with their groups, until no new one is found.

    A process that forks and ends while processes are listed is missed, but its zombie is found, and has
    its group.
    """
    deadline, previous = time.monotonic() + _KILL_TIMEOUT_S, None
    while time.monotonic() < deadline:
        processes = descendants_and_zombies(process)
        for each in processes:
            kill_with_group(each)
        current = {each.pid for each in processes}
        if current == previous and not any(map(alive, current)):
            break
        previous = current


def kill_with_group(process: psutil.Process) -> None:
    """Kill a process and its group, unless that is ours; spare a process that has reused its id."""
    with suppress(psutil.Error, OSError):
        if not process.is_running():
            return
        if hasattr(os, "getpgid") and (group := os.getpgid(process.pid)) != os.getpgrp():
            signal_group(group, "SIGKILL")
        process.kill()


def signal_group(group: int, name: str) -> None:
    """Send a signal to the remaining members of a process group; Windows has none."""
    assert group > 0  # 0 is our own group
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(group, getattr(signal, name))


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

    Their standard output and error are a pipe, emptied by a thread. A file would fill the disk if a
    solver prints endlessly, and a pipe that nobody empties would block it.

    Attributes
    ----------
    writer : the descriptor that receives the output, given to the worker as its standard error.
    """

    def __init__(self) -> None:
        reader, self.writer = os.pipe()
        self._end, self._mark, self._changed = b"", b"", Condition()
        Thread(target=self._drain, args=(reader,), daemon=True).start()

    def _drain(self, reader: int) -> None:
        with open(reader, "rb", buffering=0) as pipe:
            while printed := pipe.read(_OUTPUT_BYTES):
                with self._changed:
                    output = self._end + printed
                    if self._mark and self._mark in output:
                        output, self._mark = output.replace(self._mark, b""), b""
                        self._changed.notify_all()
                    self._end = output[-_OUTPUT_BYTES:]

    def clear(self) -> None:
        """Discard the output so far."""
        self.text()
        with self._changed:
            self._end = b""

    def text(self) -> str:
        """Return the end of the output so far: all that was printed before a mark that we print."""
        with self._changed:
            self._mark = mark = secrets.token_bytes(16)
        while not self._print(mark):
            time.sleep(_RETRY_INTERVAL_S)
        with self._changed:
            self._changed.wait_for(lambda: not self._mark)
        return self._end.decode(errors="replace").replace("\0", "")

    def _print(self, mark: bytes) -> bool:
        """Print a mark; return False if the pipe is full and a solver has made it non-blocking."""
        with suppress(BlockingIOError):
            return bool(os.write(self.writer, mark))
        return False

    def close(self) -> None:
        """Let the thread end with the last process that may print."""
        os.close(self.writer)


def last_words(text: str) -> str:
    """Return the most informative line of a dead process's output: its top frame, or the last line."""
    stacks = _STACK.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (stacks or lines or [""])[-1].strip()[:_REASON_CHARACTERS]
