"""One run, inside a worker: solve the problem, certify and measure the answer, return what is recorded.

The solver runs in a copy of this process and ends with it; its answer is certified here, where no solver
has ever been, or in another copy, if the problem itself needs code from outside.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter, process_time
from typing import Any

import psutil

from experiments.cases.judging import judged, judged_apart
from experiments.cases.plan import Case, problem_needs_outside
from experiments.cases.records import Outcome, failed, read_outcome
from experiments.cases.solving import load_shared, solved
from experiments.workers.isolation import Returned
from experiments.workers.machine import cores
from experiments.workers.wire import Malformed


def _here(function: Callable[..., bytes], *arguments: Any) -> Returned:
    begun, computed = [perf_counter()], process_time()
    content = function(lambda: begun.append(perf_counter()), *arguments)
    took = perf_counter() - begun[-1], 0.0, process_time() - computed
    return Returned(io.BytesIO(content), *took, psutil.Process().memory_info().rss)


def run_case(
    case: Case,
    report: Callable[[str], object] = lambda _: None,
    threads: int | None = None,
    apart: Callable[..., Returned] = _here,
) -> Outcome:
    """Run one case and return what is recorded of it, whatever happens.

    Parameters
    ----------
    case : what to run.
    report : called as each phase begins.
    threads : how many the solver may use; None for as many as there are cores.
    apart : calls a function with arguments, see `workers.isolation.call_in_copy`.
    """
    report("loading")
    with suppress(Exception):  # it is met again, and recorded, where the problem is solved
        load_shared(case, report)
    report("solving")
    given = apart(solved, case)
    report("certifying")
    with given.file:
        if not problem_needs_outside(case):
            return judged(case, given, threads or cores())
        found = apart(judged_apart, case, given, threads or cores())
    with found.file:
        try:
            return read_outcome(found.file, case)
        except Malformed as error:
            return failed(case, "crashed", f"what certified it gave no outcome: {error}")
