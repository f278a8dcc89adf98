"""The worker process that tries a solver, replaced if it dies or exceeds its time."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from dualgap.experiments.selftest.bench import Bench, load
from dualgap.experiments.selftest.limits import Limits, WorkClock
from dualgap.experiments.selftest.outcome import Property, PropertyOutcome
from dualgap.experiments.selftest.problems import PROBLEMS, REGRESSION, SOFT
from dualgap.experiments.workers.start import STARTING, error_text
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Layout, Malformed, WorkerError, WorkerExit, pack
from dualgap.solvers.base import NoSolver

LOADING = "loading the solver"
_THREADS = 2  # enough to expose a race


class Workers:
    """A process that checks properties of `solver`, replaced as needed."""

    def __init__(self, solver: str, limits: Limits) -> None:
        self.solver, self.limits, self.worker = solver, limits, Worker(_THREADS)
        self.remaining_s = limits.total

    def check(self, item: Property, digests: Mapping[str, str], deadline: float) -> PropertyOutcome:
        """Return the outcome of a property, even if the process hangs or dies.

        `deadline` counts from its first problem; `self.remaining_s` is left for all properties.
        """
        if item.fresh:
            self.worker.stop()
        arguments = item, dict(digests), self.solver, self.limits
        self.worker.call(_check, *arguments, reporting=True)
        clock, at, start, end = WorkClock(self.worker.cpu_seconds), LOADING, 0.0, self.remaining_s
        while not self.worker.has_ended():
            now = clock()
            self.remaining_s = end - now
            if at == LOADING != (at := self._phase()):
                start = now
            allowed = min(self.limits.loading if at == LOADING else deadline, end - start)
            if now - start >= allowed:
                self.worker.stop()
                return _failed(item, at, f"killed after {allowed:.0f} s", hung=True)
            self.worker.wait()
        try:
            outcome, _ = Layout(PropertyOutcome).read(self.worker.result())
            return replace(outcome, name=item.name)
        except (WorkerExit, WorkerError, Malformed) as death:
            at = self._phase()
            self.worker.stop()
            return _failed(item, at, str(death))

    def close(self) -> None:
        """Kill the process and all processes that it started."""
        self.worker.stop()

    def _phase(self) -> str:
        phase, _ = self.worker.phase()
        return LOADING if phase == STARTING else phase


def _failed(item: Property, at: str, message: str, hung: bool = False) -> PropertyOutcome:
    loaded = at != LOADING
    attempted, failures = (at,) if loaded else (), {at: message}
    return PropertyOutcome(
        item.name, "failed", attempted, failures=failures, hung=hung, loaded=loaded
    )


def compile_references() -> None:
    """Compile the toolkit's solvers, so that this does not count as time of the solver under test.

    This needs a separate process: after user code has run, compiled code is not cached for later
    processes. Errors are ignored here; the properties that need the reference answers report them.
    """
    worker = Worker(_THREADS)
    worker.call(_solve_references)
    while not worker.has_ended():
        worker.wait()
    worker.stop()


def _solve_references() -> bytes:
    """Solve one problem of each kind that has reference answers."""
    references = Bench(NoSolver(), Limits())
    for problem in (*SOFT, *REGRESSION):
        references.reference(PROBLEMS[problem]())
    return pack(None)


def _check(
    report: Callable[[str], object],
    item: Property,
    digests: Mapping[str, str],
    solver: str,
    limits: Limits,
) -> bytes:
    """Check a property in the worker process, and return the outcome as a message."""
    report(LOADING)
    try:
        bench = _bench(solver, limits)
    except BaseException as error:  # importing and building it may raise anything
        failures = {LOADING: f"raised {error_text(error, with_source=True)}"}
        return pack(PropertyOutcome(item.name, "failed", failures=failures, loaded=False))
    return pack(bench.check(item, digests, report))


@cache
def _bench(solver: str, limits: Limits) -> Bench:
    return Bench(load(solver), limits)
