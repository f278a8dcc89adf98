"""What runs inside a worker process: one case.

This module imports nothing numerical: the number of threads must be in the environment first.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from experiments.cases.plan import Case
    from experiments.cases.records import Outcome
    from experiments.workers.heartbeat import Heartbeat


def run(case: Case, heartbeat: Heartbeat, threads: int) -> Outcome:
    """Run one case; the numerical libraries are imported here, for the first time."""
    # anew, as a solver may have closed or replaced them
    sys.stdout, sys.stderr = (_text(stream) for stream in (1, 2))
    from experiments.cases.case import run_case  # noqa: PLC0415 - after the environment is set
    from experiments.cases.integrity import ProcessState  # noqa: PLC0415 - it is not needed before

    found = ProcessState()
    try:
        outcome = run_case(case, heartbeat.write, threads)
        return replace(outcome, changed=found.changed())
    finally:
        _flush()


def _text(stream: int) -> TextIO:
    """Return a stream that writes line by line: a death does not take with it what was printed."""
    return os.fdopen(stream, "w", buffering=1, errors="backslashreplace", closefd=False)


def _flush() -> None:
    """Write out what Python and C still hold of what was printed, so that it counts to this run."""
    for text in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or replaced
            text.flush()
    ctypes.CDLL(None).fflush(None)
