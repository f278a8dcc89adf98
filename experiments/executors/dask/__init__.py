"""Run cases with Dask: each is a task with an isolated process next to its Dask worker.

The limits and ends of a run are the same as on this machine (see `local`): a crash, a hang or too much
memory costs only that run, not the Dask worker. In addition:

- a Dask worker is lost: its runs start again elsewhere. Dask suspects every run that was queued there,
  so those it abandons run again at the end, one at a time: only a run that kills its workers even then
  is a `crashed` row;
- the scheduler is lost: `ExecutorError`; the runs in progress are killed;
- the command is interrupted or killed: the runs in progress are killed.

The scheduler and the workers need the same version of this package, and the experiment's files at the
same paths; a missing file is reported in the row. A run may use the cores of its host divided by the
number of threads of all Dask workers there.
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
    workers : number of Dask workers in a cluster on this machine, started for each `run` (default 1).
    address : of a running scheduler, `tcp://host:port`, whose workers are used instead.
    """

    name: ClassVar[str] = "dask"

    def check(self) -> None:
        """Find Dask, and connect to the scheduler if there is an address.

        Raises
        ------
        ExecutorError
            If it cannot be reached within a few seconds, or does not have this package.
        """
        try:
            from dualgap.experiments.executors.dask.tasks import check_address  # noqa: PLC0415 - optional
        except ModuleNotFoundError as error:
            raise ExecutorError(
                f"--executor dask: {error}. Install it with: pip install 'dualgap[dask]'"
            ) from None
        if self.address is not None and self.workers is not None:
            raise ExecutorError(
                "--workers and --scheduler exclude each other: a running scheduler has its own workers."
            )
        if self.address is not None:
            check_address(self.address)

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcomes of cases as they complete; all processes end with the iterator.

        Raises
        ------
        ExecutorError
            If the scheduler cannot be reached or is lost; the remaining cases are not run.
        """
        from dualgap.experiments.executors.dask.tasks import run_tasks  # noqa: PLC0415 - optional

        yield from run_tasks(cases, self.grace_period_s, self.workers or 1, self.address)
