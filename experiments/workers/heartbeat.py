"""A worker's heartbeat file: the phase it is in, and since when."""

from __future__ import annotations

import contextlib
import os
import struct
from dataclasses import dataclass
from time import monotonic  # by value: a solver may replace that of the module
from typing import NamedTuple

STARTING = "starting"
_LAYOUT = struct.Struct("d64s")  # the last is the phase, padded with zeros


class Beat(NamedTuple):
    """One entry: the phase, and when it began."""

    phase: str = STARTING
    since: float = 0.0


@dataclass(frozen=True)
class Heartbeat:
    """The file in which a worker notes its phase.

    It is a file and not a queue: a worker that hangs or is killed can neither block it nor hold its
    lock.
    """

    path: str

    def write(self, phase: str) -> None:
        """Note that `phase`, of at most 64 bytes, begins now."""
        entry = _LAYOUT.pack(monotonic(), phase.encode())
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, entry, 0)
        finally:
            os.close(file)

    def read(self) -> Beat:
        """Return the last entry."""
        with contextlib.suppress(OSError), open(self.path, "rb") as file:
            entry = file.read(_LAYOUT.size)
            if len(entry) == _LAYOUT.size:
                since, phase = _LAYOUT.unpack(entry)
                return Beat(phase.rstrip(b"\0").decode(), since)
        return Beat()
