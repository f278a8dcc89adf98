"""One run of a program: its output and disk usage are bounded, and all its processes are killed.

A thread drains its output and keeps the end. The disk usage of its folder is measured while it runs, and
the system limits the size of each file. When it ends or is abandoned, all that it has started is killed:
its process group, and every process with this folder as TMPDIR or working directory. The caller must
find a process that hides both; an experiment's worker does.

Windows limits no file's size and has no process groups: there the usage of the folder alone counts, and
processes are found by their folder.
"""

import errno
import os
import shutil
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import Lock, Thread
from time import perf_counter

import psutil

from dualgap.solvers.numerics.timing import resource_module

_start_lock = Lock()


@contextmanager
def _file_size(limit: int) -> Generator[None]:
    """Limit the size of files written; by one thread at a time, as the limit is that of the process."""
    if (resource := resource_module()) is None:
        yield
        return
    with _start_lock:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit if hard < 0 else min(limit, hard), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Child:
    """A program that runs in a folder, until it ends or is killed.

    Parameters
    ----------
    command_line : the program and its arguments.
    folder : its working directory, also for temporary files.
    limit : bytes that it may write there.

    Attributes
    ----------
    seconds : from its start to its end; NaN while it runs.

    Raises
    ------
    OSError
        If it cannot be started.
    """

    def __init__(self, command_line: Sequence[str], folder: Path, limit: float) -> None:
        self._folder, self._disk_limit, self._printed = folder, disk_usage(folder) + limit, b""
        self._started_at, self.seconds = perf_counter(), float("nan")
        with _file_size(int(self._disk_limit)):  # inherited by the child
            self._process = subprocess.Popen(
                command_line,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=os.environ | {"TMPDIR": str(folder)},
                start_new_session=True,
            )
        self._waiting = Thread(target=self._wait, daemon=True)
        self._reading = Thread(target=self._read, daemon=True)
        self._waiting.start()
        self._reading.start()

    def _wait(self) -> None:
        if hasattr(os, "waitid"):
            # it stays a zombie until all is killed, so that its group's id is not reused
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
        self.seconds = perf_counter() - self._started_at

    def _read(self) -> None:
        assert self._process.stdout is not None
        size = 2**16  # bytes kept of its output
        with self._process.stdout, suppress(OSError):
            while block := os.read(self._process.stdout.fileno(), size):
                self._printed = (self._printed + block)[-size:]

    def wait_for_end(self, seconds: float = 0.1) -> bool:
        """Whether it ends within the given seconds; RuntimeError if it has written too much."""
        self._waiting.join(seconds)
        if self._waiting.is_alive():
            self.check_written()
            return False
        self._end_group()
        return True

    def check_written(self) -> None:
        """Raise RuntimeError if it has written more than its limit."""
        if disk_usage(self._folder) > self._disk_limit:
            raise RuntimeError("the program was killed, as it wrote more than its disk_limit")

    def _end_group(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            self._waiting.join()
            self._process.wait()

    def end(self) -> None:
        """Kill it and all that it started, within a second, and read their output for another."""
        self._end_group()
        deadline, pending = perf_counter() + 1.0, set[int]()
        while perf_counter() < deadline:
            started, vanished = self._list_started()
            if not started and vanished <= pending:
                break
            pending |= vanished
            for process in started:
                with suppress(psutil.Error):
                    process.kill()
        self._reading.join(1.0)  # ends with the last process that may print

    def _list_started(self) -> tuple[list[psutil.Process], set[int]]:
        """Return its running descendants, and the processes that ended after they were listed.

        One of the latter may have started another one meanwhile, which is not listed.
        """
        started: list[psutil.Process] = []
        vanished: set[int] = set()
        for pid in psutil.pids():
            try:
                process = psutil.Process(pid)
                directory, tmpdir = process.cwd(), process.environ().get("TMPDIR", "")
            except psutil.NoSuchProcess:
                vanished.add(pid)
                continue
            except (psutil.Error, OSError):  # of another user
                continue
            if any(path.startswith(str(self._folder)) for path in (directory, tmpdir)):
                started.append(process)
            elif not directory:  # ending, or a kernel thread
                vanished.add(pid)
        return started, vanished

    @property
    def code(self) -> int:
        """The exit code once it has ended, negative for a signal."""
        return self._process.returncode

    @property
    def printed(self) -> str:
        """The end of its output."""
        return self._printed.decode(errors="replace")


def disk_usage(folder: Path) -> float:
    """Return the bytes on disk of all files in a folder, at least a page per file.

    Infinity if a path is too long for the system to follow.
    """
    total, folders = 0.0, [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        file = entry.stat(follow_symlinks=False)
                        total += max(4096, 512 * getattr(file, "st_blocks", file.st_size // 512))
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError as error:
            total += inf if error.errno == errno.ENAMETOOLONG else 0
    return total


def remove(folder: Path) -> None:
    """Remove a folder with its contents, on POSIX at any depth and with any permissions."""
    if os.name == "nt":
        shutil.rmtree(folder, ignore_errors=True)
        return
    # unlike Python's removal, at any depth
    for command in (["chmod", "-R", "u+rwX"], ["rm", "-rf"]):
        subprocess.run([*command, "--", folder], capture_output=True, check=False)
