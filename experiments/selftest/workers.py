"""The process in which a solver is tried, replaced when it dies or does not return in time."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache

from dualgap.experiments.selftest.bench import Bench, load
from dualgap.experiments.selftest.limits import Limits, WorkClock
from dualgap.experiments.selftest.outcome import Outcome, Property
from dualgap.experiments.selftest.problems import PROBLEMS, REGRESSION, SOFT
from dualgap.experiments.workers.errors import error_text
from dualgap.experiments.workers.start import STARTING
from dualgap.experiments.workers.supervision import Worker
from dualgap.experiments.workers.wire import Layout, Malformed, WorkerError, WorkerExit, pack
from dualgap.problems.compilation import compiled_apart
from dualgap.problems.registry import is_outside
from dualgap.solvers.base import NoSolver

LOADING = "loading the solver"
_THREADS = 2  # enough for a race to show


class Workers:
    """One process at a time that checks properties of `solver`."""

    def __init__(self, solver: str, limits: Limits) -> None:
        self.solver, self.limits, self.worker = solver, limits, Worker(_THREADS)
        self.left = limits.total

    def check(self, item: Property, digests: Mapping[str, str], deadline: float) -> Outcome:
        """Return the outcome of a property, also where the process hangs or dies in it.

        `deadline` counts from its first problem; `self.left` are the seconds left for everything.
        """
        if item.fresh:
            self.worker.stop()
        given = item, dict(digests), self.solver, self.limits
        self.worker.call(_check, *given, reporting=True)
        clock, at, begun, last = WorkClock(self.worker.cpu_seconds), LOADING, 0.0, self.left
        while not self.worker.ended():
            now = clock()
            self.left = last - now
            if at == LOADING != (at := self._place()):
                begun = now
            allowed = min(self.limits.loading if at == LOADING else deadline, last - begun)
            if now - begun >= allowed:
                self.worker.stop()
                return _failed(item, at, f"no end after {allowed:.0f} s, killed", hung=True)
            self.worker.wait()
        try:
            found, _ = Layout(Outcome).read(self.worker.result())
            return replace(found, name=item.name)
        except (WorkerExit, WorkerError, Malformed) as death:
            at = self._place()
            self.worker.stop()
            return _failed(item, at, str(death))

    def close(self) -> None:
        """Kill the process and all that it started."""
        self.worker.stop()

    def _place(self) -> str:
        phase, _ = self.worker.phase()
        return LOADING if phase == STARTING else phase


def _failed(item: Property, at: str, what: str, hung: bool = False) -> Outcome:
    loaded = at != LOADING
    tried = (at,) if loaded else ()
    return Outcome(item.name, "failed", tried, failures={at: what}, hung=hung, loaded=loaded)


def compile_references() -> None:
    """Compile the toolkit's own solvers, so that this is not counted as time of the solver under test.

    This is in a process of its own, as where user code has run nothing is compiled for later processes.
    What goes wrong here goes wrong again in the properties that need their answers, and is said there.
    """
    worker = Worker(_THREADS)
    worker.call(_solve_references)
    while not worker.ended():
        worker.wait()
    worker.stop()


def _solve_references() -> bytes:
    """Solve problems of each kind that answers are compared on."""
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
    """Check a property, and return the outcome as a message; this runs in the process."""
    report(LOADING)
    with compiled_apart(solver if is_outside(solver) else ""):
        try:
            bench = _bench(solver, limits)
        except BaseException as error:  # whatever importing and building it does
            failures = {LOADING: f"raised {error_text(error, with_source=True)}"}
            return pack(Outcome(item.name, "failed", failures=failures, loaded=False))
        return pack(bench.check(item, digests, report))


@cache
def _bench(solver: str, limits: Limits) -> Bench:
    return Bench(load(solver), limits)
