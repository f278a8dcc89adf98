"""The interface of executors, which run cases within their limits.

An executor is one file with a subclass of `Executor`: in this folder, found by its `name`, or the
user's, given as `path/to/file.py:ClassName`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.records import Refusal
from dualgap.problems.registry import Registry

GRACE_PERIOD_S = 10.0  # beyond the time limit, for a long iteration


class ExecutorError(Refusal):
    """Cases cannot be run, or no longer; those recorded so far are kept."""


@dataclass(frozen=True)
class Executor(ABC):
    """Runs cases somewhere.

    Attributes
    ----------
    name : its name for `--executor`.
    workers : number of processes that run cases in parallel; None for the executor's default.
    address : of a running service, if any.
    on_status : called with any other activity that a run waits for, such as "compiling smo".
    grace_period_s : seconds beyond 1.5 times its time limit after which a solver is killed.
    folder : results folder; None if runs are not recorded.
    """

    name: ClassVar[str] = ""
    workers: int | None = None
    address: str | None = None
    on_status: Callable[[str], object] = str
    grace_period_s: float = GRACE_PERIOD_S
    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers must be at least 1, got {self.workers}")

    @abstractmethod
    def check(self) -> None:
        """Check that cases can be run, before the first one is.

        Raises
        ------
        ExecutorError
            If not; the message names the command-line option at fault.
        """
        ...

    @abstractmethod
    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcomes of cases as they complete; all processes end with the iterator.

        The consumer of an outcome may add a case before requesting the next one: an exhausted `cases`
        then has another element. An executor need not check for it; it is run again for added cases.

        Raises
        ------
        ExecutorError
            If some cases cannot be run.
        """
        ...


EXECUTORS = Registry(Executor, "executor", "dualgap.experiments.executors", skip="dask.")
