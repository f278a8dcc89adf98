"""What a worker prints: the end of it is kept, the rest is dropped.

The worker's standard output and error are a pipe that a thread of this process empties. A file would
fill the disk under a solver that prints without end, and a pipe that nobody empties would block it.
"""

from __future__ import annotations

import os
import re
import select
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from threading import Lock, Thread

_PIPE = 2**16  # bytes: what a pipe holds on Linux
_KEPT = 2**16  # bytes
_LINE = 160  # characters of a line that becomes part of a reason
_STACK = re.compile(r"^(?:Current thread|Thread) .*\(most recent call first\):\n +(.+)$", re.M)


class Capture:
    """The end of what one worker, and all that it starts, prints.

    Attributes
    ----------
    writer : where they print to; passed to the worker when it is started.
    """

    def __init__(self, context: BaseContext) -> None:
        self.writer: Connection
        self._reader, self.writer = context.Pipe(duplex=False)
        os.set_blocking(self._reader.fileno(), False)
        self._end, self._lock, self._closed = b"", Lock(), False
        self._thread = Thread(target=self._drain, daemon=True)
        self._thread.start()

    def clear(self) -> None:
        """Forget what was printed so far."""
        self._read()
        with self._lock:
            self._end = b""

    def text(self) -> str:
        """Return the end of what was printed, up to this moment."""
        self._read()
        return self._end.decode(errors="replace").replace("\0", "")

    def close(self) -> None:
        """Stop reading; whatever still prints gets an error."""
        self._closed = True
        os.write(self.writer.fileno(), b"\n")  # wakes the thread
        self._thread.join()
        self.writer.close()
        self._reader.close()

    def _drain(self) -> None:
        poll = select.poll()
        poll.register(self._reader.fileno(), select.POLLIN)
        while not self._closed:
            poll.poll()
            self._read()

    def _read(self) -> None:
        """Take what the pipe holds; one read takes all of it, so a flood does not block us."""
        with self._lock, suppress(BlockingIOError):
            self._end = (self._end + os.read(self._reader.fileno(), _PIPE))[-_KEPT:]


def last_words(text: str) -> str:
    """Return the most informative line of a dead process's output: where it was, else the last one."""
    stacks = _STACK.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (stacks or lines or [""])[-1].strip()[:_LINE]
