"""What a worker prints: the end of it is kept, the rest is dropped.

The worker's standard output and error are a pipe, emptied by whoever waits for the worker. A file would
fill the disk under a solver that prints without end, and a pipe that nobody empties would block it.
"""

import os
import re
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

_PIPE = 2**16  # bytes: what a pipe holds on Linux
_KEPT = 2**16  # bytes
_LINE = 160  # characters of a line that becomes part of a reason
_STACK = re.compile(r"^(?:Current thread|Thread) .*\(most recent call first\):\n +(.+)$", re.M)


class Capture:
    """The end of what one worker, and all that it starts, prints.

    Attributes
    ----------
    writer : where they print to; passed to the worker when it is started, and kept open here, so that
        `reader` never ends.
    reader : has something to be read as soon as they print.
    """

    def __init__(self, context: BaseContext) -> None:
        self.writer: Connection
        self.reader, self.writer = context.Pipe(duplex=False)
        os.set_blocking(self.reader.fileno(), False)
        self._end = b""

    def read(self) -> None:
        """Take what the pipe holds; one read takes all of it, so a flood does not block us."""
        with suppress(BlockingIOError):
            self._end = (self._end + os.read(self.reader.fileno(), _PIPE))[-_KEPT:]

    def clear(self) -> None:
        """Forget what was printed so far."""
        self.read()
        self._end = b""

    def text(self) -> str:
        """Return the end of what was printed, up to this moment."""
        self.read()
        return self._end.decode(errors="replace").replace("\0", "")

    def close(self) -> None:
        """Stop reading; whatever still prints gets an error."""
        self.writer.close()
        self.reader.close()


def last_words(text: str) -> str:
    """Return the most informative line of a dead process's output: where it was, else the last one."""
    stacks = _STACK.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return (stacks or lines or [""])[-1].strip()[:_LINE]
