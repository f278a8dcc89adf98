"""How a run failed, in words that a file and a table can hold, whatever it raised."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import NamedTuple

from problems.validation import NoSuchProblem
from solvers.base import Status

_LONGEST = 1000  # characters of a reason


class Failure(NamedTuple):
    """How a run ended that gave no answer: status, reason, and its traceback."""

    status: Status
    reason: str
    output: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Return the failure that an exception is; what cannot be posed is unsupported, no crash."""
        if isinstance(error, NoSuchProblem):
            return cls(Status.UNSUPPORTED, sentence(str(error)), "")
        lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
        reason = sentence(next((line for line in reversed(lines) if line.strip()), ""))
        frames = traceback.extract_tb(error.__traceback__)
        if isinstance(error, SyntaxError):  # the last frame is the import's
            reason = f"{reason} ({Path(error.filename or '').name}:{error.lineno})"
        elif frames:
            reason = f"{reason} ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
        try:
            told = traceback.format_exc()
        except BaseException as other:  # of an exception whose own methods fail
            told = f"no traceback: {type(other).__name__}"
        lacking = isinstance(error, MemoryError)
        status = Status.OUT_OF_MEMORY if lacking else Status.CRASHED
        return cls(status, reason, _printable(told))


def _printable(text: str) -> str:
    """Return text with nothing that a file in UTF-8 cannot hold."""
    return text.encode(errors="backslashreplace").decode()


def sentence(text: str) -> str:
    """Return text on one line, without control characters, of a length that a table can show."""
    plain = "".join(c if c.isprintable() else " " for c in _printable(text[: 2 * _LONGEST]))
    line = " ".join(plain.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."
