"""One run of a program: what it prints and writes is bounded, and nothing of it is left behind.

Its output is a pipe that is emptied all the time, of which the end is kept. What it writes in its folder
is measured while it runs, and no single file can become larger than is allowed: the system sees to that.
Whatever it has started is killed when it ends, or when nobody waits for it any more.
"""

import os
import resource
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Self

import psutil

_KEPT = 2**16  # bytes of what it prints
_CLOSING = 1.0  # seconds


class Child:
    """A program that runs in a folder; a context, at whose end all that it started has ended.

    Parameters
    ----------
    words : the program and its arguments.
    folder : its working folder, where its temporary files belong too.
    most : bytes that it may write there.

    Raises
    ------
    OSError
        If it cannot be started.
    """

    def __init__(self, words: Sequence[str], folder: Path, most: float) -> None:
        self._folder, self._most = folder, written_in(folder) + most
        self._started, self._printed = set[psutil.Process](), b""
        self._begun = perf_counter()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        bounded = int(self._most) if hard < 0 else min(int(self._most), hard)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bounded, hard))  # which the child inherits
        try:
            self._process = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=os.environ | {"TMPDIR": str(folder)},
                start_new_session=True,
            )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        self.seconds = float("nan")
        self._waiting = Thread(target=self._wait, daemon=True)
        self._reading = Thread(target=self._read, daemon=True)
        self._waiting.start()
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for process in self._started:  # in groups of their own
            with suppress(psutil.Error):
                process.kill()
        self._waiting.join()
        self._process.wait()
        self._reading.join(_CLOSING)  # it ends with the last process that may print

    def _wait(self) -> None:
        # it is left a zombie until all is killed, so that its group's number is nobody else's
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self.seconds = perf_counter() - self._begun

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout, suppress(OSError):
            while block := os.read(self._process.stdout.fileno(), _KEPT):
                self._printed = (self._printed + block)[-_KEPT:]

    def _look(self) -> None:
        with suppress(psutil.Error):
            self._started |= {*psutil.Process(self._process.pid).children(recursive=True)}

    def ended(self, seconds: float) -> bool:
        """Wait for its end, at most so many seconds; RuntimeError if it has written too much."""
        self._waiting.join(seconds)
        self._look()
        if written_in(self._folder) > self._most:
            raise RuntimeError("it wrote more than its disk_limit allows, and was killed")
        return not self._waiting.is_alive()

    @property
    def code(self) -> int:
        """The exit code of a program that has ended, negative for a signal."""
        return self._process.returncode

    @property
    def printed(self) -> str:
        """The end of what it printed."""
        return self._printed.decode(errors="replace")


def written_in(folder: Path) -> int:
    """Return the bytes on disk of all that is in a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += 512 * os.lstat(os.path.join(place, name)).st_blocks
    return total
