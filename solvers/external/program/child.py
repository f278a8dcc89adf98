"""One run of a program: what it prints and writes is bounded, and nothing of it is left behind.

Its output is a pipe that is emptied all the time, of which the end is kept. What it writes in its folder
is measured while it runs, and no single file can become larger than is allowed: the system sees to that.
Whatever it has started is killed when it ends, or when nobody waits for it any more: its group, and
every process that has the folder for its temporary files, or works in it. One that hides both is the
caller's to find; an experiment's worker does.
"""

import errno
import os
import resource
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from threading import Lock, Thread
from time import perf_counter

import psutil

_KEPT = 2**16  # bytes of what it prints
_CLOSING = 1.0  # seconds
_PAGE = 4096  # bytes
_STARTING = Lock()


@contextmanager
def _file_size(most: int) -> Generator[None]:
    """Let no file that is written become larger, by one thread at a time: the limit is the process's."""
    with _STARTING:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most if hard < 0 else min(most, hard), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Child:
    """A program that runs in a folder, until it ends or is ended.

    Parameters
    ----------
    words : the program and its arguments.
    folder : its working folder, where its temporary files belong too.
    most : bytes that it may write there.

    Attributes
    ----------
    seconds : from its start to its end, NaN before.

    Raises
    ------
    OSError
        If it cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path, most: float) -> None:
        self._folder, self._most, self._printed = folder, written_in(folder) + most, b""
        self._begun, self.seconds = perf_counter(), float("nan")
        with _file_size(int(self._most)):  # which the child inherits
            self._process = subprocess.Popen(
                words,
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
        # it is left a zombie until all is killed, so that its group's number is nobody else's
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.seconds = perf_counter() - self._begun

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout, suppress(OSError):
            while block := os.read(self._process.stdout.fileno(), _KEPT):
                self._printed = (self._printed + block)[-_KEPT:]

    def ended(self, seconds: float) -> bool:
        """Wait for its end, at most so many seconds; RuntimeError if it has written too much."""
        self._waiting.join(seconds)
        if self._waiting.is_alive():
            self.check_written()
            return False
        self._end_group()
        return True

    def check_written(self) -> None:
        """Raise RuntimeError if it has written more than it may."""
        if written_in(self._folder) > self._most:
            raise RuntimeError("it wrote more than its disk_limit allows, and was killed")

    def _end_group(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._waiting.join()
            self._process.wait()

    def end(self) -> None:
        """Kill it, if it still runs, and all that it started."""
        self._end_group()
        last, known = perf_counter() + _CLOSING, set[int]()
        while perf_counter() < last:
            started, ended = self._started()
            if not started and ended <= known:
                break
            known |= ended
            for process in started:
                with suppress(psutil.Error):
                    process.kill()
        self._reading.join(_CLOSING)  # it ends with the last process that may print

    def _started(self) -> tuple[list[psutil.Process], set[int]]:
        """Return what it started and still runs, and which processes ended after they were listed.

        One of the latter may have started another one meanwhile, which is not listed.
        """
        started: list[psutil.Process] = []
        ended: set[int] = set()
        for pid in psutil.pids():
            try:
                process = psutil.Process(pid)
                working, temporary = process.cwd(), process.environ().get("TMPDIR", "")
            except psutil.NoSuchProcess:
                ended.add(pid)
                continue
            except (psutil.Error, OSError):  # somebody else's
                continue
            if any(place.startswith(str(self._folder)) for place in (working, temporary)):
                started.append(process)
            elif not working:  # it is just ending, or the system's own
                ended.add(pid)
        return started, ended

    @property
    def code(self) -> int:
        """The exit code of a program that has ended, negative for a signal."""
        return self._process.returncode

    @property
    def printed(self) -> str:
        """The end of what it printed."""
        return self._printed.decode(errors="replace")


def written_in(folder: Path) -> float:
    """Return the bytes on disk of all that is in a folder, at least a page for each file.

    They are infinite where a path is too long for the system, and nobody could tell.
    """
    total, folders = 0.0, [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for each in found:
                    with suppress(FileNotFoundError):
                        total += max(_PAGE, 512 * each.stat(follow_symlinks=False).st_blocks)
                    if each.is_dir(follow_symlinks=False):
                        folders.append(each.path)
        except OSError as error:
            total += inf if error.errno == errno.ENAMETOOLONG else 0
    return total


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep that is and whoever may read it."""
    for command in (
        ["chmod", "-R", "u+rwX"],
        ["rm", "-rf"],
    ):  # unlike Python's, they go to any depth
        subprocess.run([*command, "--", folder], capture_output=True, check=False)
