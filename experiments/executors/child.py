"""What runs inside a worker process: case after case, each solved in a copy of the process.

A copy serves one run of one solver, and ends with it; its answer, plain arrays and numbers, is certified
in another copy, in which no solver has run. The worker itself only loads samples and compiled code.

This module imports nothing numerical: the number of threads must be in the environment first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.workers.isolation import call_in_copy

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.cases.plan import Case
    from experiments.cases.records import Outcome


def run(report: Callable[[str], object], case: Case, threads: int) -> Outcome:
    """Run one case; the numerical libraries are imported here, for the first time."""
    from experiments.cases.case import run_case  # noqa: PLC0415 - after the environment is set

    return run_case(case, report, threads, call_in_copy)
