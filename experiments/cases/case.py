"""One run, inside a worker process: solve the problem, certify and measure the answer.

The solver runs in a copy of this process, which serves one run and ends with it. Its answer, plain
arrays and numbers, is certified here, where samples and compiled code are loaded, but no solver has ever
run; or in another copy, if the problem itself needs code from outside.

This module imports nothing numerical: the number of threads must be in the environment first.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dualgap.experiments.workers.isolation import call_in_copy
from dualgap.experiments.workers.start import SETTING_UP
from dualgap.experiments.workers.wire import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dualgap.experiments.cases.plan import Case
    from dualgap.experiments.workers.isolation import Returned


def run(
    report: Callable[[str], object],
    case: Case,
    threads: int,
    apart: Callable[..., Returned] = call_in_copy,
) -> bytes:
    """Run one case and return what is recorded of it as a message, whatever happens.

    Parameters
    ----------
    report : called as each phase begins.
    case : what to run.
    threads : how many the solver may use.
    apart : calls a function with arguments, see `workers.isolation.call_in_copy`.
    """
    from dualgap.experiments.cases.judging import judged  # noqa: PLC0415 - after the environment is set
    from dualgap.experiments.cases.plan import code_from_outside  # noqa: PLC0415
    from dualgap.experiments.cases.solving import load_shared, solved  # noqa: PLC0415

    report("loading")
    with suppress(Exception):  # it is met again, and recorded, where the problem is solved
        load_shared(case, report)
    report(f"{SETTING_UP} {case.solver.name}")
    given = apart(solved, case, solving=partial(report, "solving"))
    report("certifying")
    with given.file:
        if not code_from_outside(case, "problem"):
            return judged(str, case, given, threads)
        found = apart(judged, case, given, threads)
    with found.file:
        return found.file.read(MOST_BYTES)
