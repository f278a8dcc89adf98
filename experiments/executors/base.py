"""What every executor is: it runs cases somewhere, each within its limits.

An executor is one file that defines a subclass of `Executor`: in this folder, where it is found by its
`name`, or from outside, named `path/to/file.py:ClassName`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.records import Refusal
from dualgap.problems.registry import Registry

GRACE = 10.0  # seconds beyond what the time limit explains, for an iteration that takes long
_LOADING = _SETTING_UP = _CERTIFYING = (
    600.0  # seconds; compiling with Numba may take a minute or two
)
_INSPECTED = 1.5  # solving with the evaluations of its trace, over solving alone


class ExecutorError(Refusal):
    """Cases cannot be run, or not any more, with what to do; those recorded so far are kept."""


def limit_of(case: Case, phase: str, grace: float = GRACE) -> float:
    """Return after how many seconds of a phase the worker that runs a case is killed."""
    if phase != "solving":
        other = {"certifying": _CERTIFYING, "loading": _LOADING}
        return other.get(phase, _SETTING_UP)
    if case.time_limit is None:
        return inf
    # answers on a path are certified as they are found, which its time limit does not count
    certifying = _CERTIFYING if case.problem.path else 0.0
    return _INSPECTED * case.time_limit + grace + certifying


@dataclass(frozen=True)
class Executor(ABC):
    """Runs cases somewhere.

    Attributes
    ----------
    name : how `--executor` calls it.
    workers : processes that run cases at the same time; None for the executor's own number.
    address : of a service that runs already; None where there is none.
    told : called with what a run waits for besides its solver, such as "compiling smo".
    grace : seconds beyond 1.5 times its time limit after which a solver that does not stop is killed.
    folder : where the runs are recorded; None if they are not.
    """

    name: ClassVar[str] = ""
    workers: int | None = None
    address: str | None = None
    told: Callable[[str], object] = str
    grace: float = GRACE
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers: must be 1 or more, got {self.workers}")

    @abstractmethod
    def check(self) -> None:
        """Find out whether cases can be run, before the first one is.

        Raises
        ------
        ExecutorError
            If not; the message names the option of the command line that is at fault.
        """
        ...

    @abstractmethod
    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator.

        Whoever takes an outcome may add a case before taking the next one: `cases`, at its end, has
        another one then. An executor need not ask again: it is run once more for what was added.

        Raises
        ------
        ExecutorError
            If cases are left that cannot be run.
        """
        ...


EXECUTORS = Registry("dualgap.experiments.executors", Executor, "executor", skip="dask.")
