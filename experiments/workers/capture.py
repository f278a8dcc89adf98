"""The output of a worker: its end is kept, the rest is dropped.

The worker's standard output and error are a pipe, emptied by whoever waits for the worker. A file would
fill the disk if a solver prints endlessly, and a pipe that nobody empties would block it.
"""

import os
import re
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext

_OUTPUT_BYTES = 2**16  # kept of the output; also the capacity of a pipe on Linux
_REASON_CHARACTERS = 160  # of a line that becomes part of a reason
_STACK = re.compile(r"^(?:Current thread|Thread) .*\(most recent call first\):\n +(.+)$", re.M)


class Capture:
    """The end of the output of one worker and of all processes that it starts.

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
