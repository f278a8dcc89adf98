"""What a supervised process sends, received by a thread: the phases of a call, and its answer."""

import os
import time
from contextlib import suppress
from threading import Event, Thread
from typing import IO

from dualgap.experiments.workers.start import STARTING
from dualgap.experiments.workers.wire import (
    ENDED,
    PHASE,
    RETURNED,
    Frames,
    Malformed,
    WorkerError,
    WorkerExit,
)

_RECEIVE_BYTES = 2**20  # buffer of one read from the pipe
_PHASE_CHARACTERS = 200  # a phase is shown in one line


class Inbox:
    """The frames of one process, received by a thread.

    Attributes
    ----------
    phase : of the current call, and the time at which it began.
    answer : to the current call; None before.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self._changed = Event()
        self.clear()
        self._thread = Thread(target=self._receive, args=(pipe,), daemon=True)
        self._thread.start()

    def clear(self) -> None:
        """Begin another call."""
        self.phase = STARTING, time.monotonic()
        self.answer: bytes | WorkerError | WorkerExit | None = None

    def wait(self, seconds: float) -> None:
        """Wait for a frame, or for the end of the pipe."""
        self._changed.wait(seconds)
        self._changed.clear()

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Whether the pipe ends within a number of seconds."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _receive(self, pipe: IO[bytes]) -> None:
        frames = Frames()
        # a socket may be reset as its process dies; after bytes that are not a frame, none follows
        with pipe, suppress(ConnectionResetError):
            try:
                while received := os.read(pipe.fileno(), _RECEIVE_BYTES):
                    for kind, content in frames.of(received):
                        self._take(kind, content)
                    self._changed.set()
            except Malformed as error:
                self.answer = WorkerError(str(error))
        self._changed.set()

    def _take(self, kind: bytes, content: bytes) -> None:
        if kind == PHASE:
            text = content[:_PHASE_CHARACTERS].decode(errors="replace")
            self.phase = text, time.monotonic()
        elif kind == RETURNED:
            self.answer = content
        else:
            text = content.decode(errors="replace")
            answer = WorkerError(text)
            with suppress(ValueError):  # content that is not an exit code stays text
                answer = WorkerExit(int(text)) if kind == ENDED else answer
            self.answer = answer
