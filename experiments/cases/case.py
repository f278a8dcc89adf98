"""One run, inside a worker process: solve the problem, certify and measure the answer.

The solver runs in a child of this process that ends with the run. Its answer, plain arrays and numbers,
is certified here, where samples and compiled code are loaded but no solver has ever run; or in another
child if the problem itself needs user code.

This module imports nothing numerical: the environment must set the number of threads first.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from dualgap.experiments.workers.isolation import call_in_child
from dualgap.experiments.workers.start import SETTING_UP
from dualgap.experiments.workers.wire import MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable

    from dualgap.experiments.cases.plan import Case
    from dualgap.experiments.workers.isolation import ChildResult


def run(
    report: Callable[[str], object],
    case: Case,
    threads: int,
    isolated: Callable[..., ChildResult] = call_in_child,
) -> bytes:
    """Run one case and return its outcome as a message, whatever happens.

    Parameters
    ----------
    report : called as each phase begins.
    threads : number of threads that the solver may use.
    isolated : calls a function in a child process, see `workers.isolation.call_in_child`.
    """
    from dualgap.experiments.cases.judging import certify_run  # noqa: PLC0415 - after the environment is set
    from dualgap.experiments.cases.solving import load_shared, solve_case, user_code  # noqa: PLC0415

    report("loading")
    with suppress(Exception):  # raised again, and recorded, when the problem is solved
        load_shared(case, report)
    report(f"{SETTING_UP} {case.solver.name}")
    answer = isolated(solve_case, case, solving=partial(report, "solving"))
    report("certifying")
    with answer.file:
        if not user_code(case, "problem"):
            return certify_run(str, case, answer, threads)
        outcome = isolated(certify_run, case, answer, threads)
    with outcome.file:
        return outcome.file.read(MOST_BYTES)
