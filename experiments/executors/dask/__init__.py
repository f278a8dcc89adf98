"""Cases are run with Dask: each as a task that has an isolated process beside its Dask worker.

What a run may take and how it ends are the same as on this machine alone (see `slot`): a crash, a hang
or too much memory costs the run in which it happened, and no Dask worker. What else may happen:

- a Dask worker is lost: its runs are begun again elsewhere. Dask suspects every run that was waiting
  there, so those it gives up on run again at the end, one at a time: only one that takes its workers
  with it even then is a row `crashed`;
- the scheduler is lost: `ExecutorError`; the runs in progress are ended;
- the command is interrupted, or killed: the runs in progress are ended.

The scheduler and the workers import this package: they need the same version of it, and the files that
an experiment names at the same paths; a run that does not find its file says so. A run has its share
of the cores of its host: the cores, divided by the threads of all Dask workers there.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.executors.base import Executor, ExecutorError


@dataclass(frozen=True)
class DaskExecutor(Executor):
    """Runs cases as tasks of Dask, an optional package.

    Attributes
    ----------
    workers : Dask workers of a cluster on this machine, which is started and ended with each `run`
        (1 by default).
    address : that of a scheduler that runs already, `tcp://host:port`, whose own workers are used then.
    """

    name: ClassVar[str] = "dask"

    def check(self) -> None:
        """Find Dask, and reach the scheduler, if there is an address.

        Raises
        ------
        ExecutorError
            If it cannot be reached within a few seconds, or does not have this package.
        """
        try:
            from dualgap.experiments.executors.dask.tasks import check_address  # noqa: PLC0415 - optional
        except ModuleNotFoundError as error:
            raise ExecutorError(
                f"--executor dask: {error}; install it with: pip install 'dualgap[dask]'"
            ) from None
        if self.address is not None and self.workers is not None:
            raise ExecutorError(
                "--workers: the one at --scheduler has its own workers; leave out one of the two"
            )
        if self.address is not None:
            check_address(self.address)

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all processes end with the iterator.

        Raises
        ------
        ExecutorError
            If the scheduler cannot be reached or is lost; cases without an outcome are not run.
        """
        from dualgap.experiments.executors.dask.tasks import run_tasks  # noqa: PLC0415 - optional

        yield from run_tasks(cases, self.grace, self.workers or 1, self.address)
