"""What runs inside a worker process: case after case, each solved in a copy of the process.

A copy serves one run of one solver, and ends with it; its answer, plain arrays and numbers, is certified
in the worker itself, which loads samples and compiled code, but never runs a solver on them.

This module imports nothing numerical: the number of threads must be in the environment first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.workers.isolation import call_in_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.cases.plan import Case


def run(report: Callable[[str], object], case: Case, threads: int) -> bytes:
    """Run one case and return its outcome as a message; numerical libraries are first imported here."""
    from experiments.cases.case import run_case  # noqa: PLC0415 - after the environment is set
    from experiments.cases.records import packed  # noqa: PLC0415

    return packed(run_case(case, report, threads, call_in_copy))
