"""Run cases in SLURM jobs: an array of slots, each of which runs cases as on one machine.

The limits and ends of a run are the same as on this machine (see `executors.slot`): a crash, a hang or
too much memory costs only that run, not the job. In addition:

- a job is killed, preempted or out of time, or its node is lost: SLURM or the command submits it again,
  and it resumes after its last record; the interrupted run starts again, and is a `crashed` row if its
  job was ended three times while it ran;
- a job ends three times before starting a run: `ExecutorError`, with the last line of its log;
- the queue refuses a job: `ExecutorError` with its message, and no job stays in the queue;
- the command is interrupted: its jobs are cancelled.

All nodes must share the results folder, and need the same version of this package and the experiment's
files at the same paths. A run may use the cores that its job requests.
"""

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from shutil import which
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.schedule import Schedule
from dualgap.experiments.executors.base import Executor, ExecutorError
from dualgap.experiments.executors.slurm import queue
from dualgap.experiments.executors.slurm.slots import Slots

MAX_REQUEUES = 2  # of a run whose job was killed
SLOTS = 16  # of one array
_RECORDS_INTERVAL_S = 0.5  # of polling the records of slots
_QUEUE_INTERVAL_S = 5.0  # of polling the queue, which many users share


@dataclass(frozen=True)
class SlurmExecutor(Executor):
    """Runs cases in at most `workers` slots per kind of resources, by default 16."""

    name: ClassVar[str] = "slurm"

    def check(self) -> None:
        """Find submitit and SLURM; refuse an address, as `sbatch` knows its cluster."""
        if self.address is not None:
            raise ExecutorError("--scheduler is for Dask only. Add --executor dask.")
        if find_spec("submitit") is None:
            raise ExecutorError(
                "--executor slurm needs submitit. Install it with: pip install 'dualgap[slurm]'"
            )
        if which("sbatch") is None:
            raise ExecutorError(
                "--executor slurm: sbatch not found on PATH. Run this on a login node."
            )

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcomes of cases as they complete; all jobs end with the iterator.

        Jobs of an earlier command are cancelled, and what they have recorded comes first.

        Raises
        ------
        ExecutorError
            If the queue refuses the jobs, or one makes no progress.
        """
        if self.folder is None:
            raise ExecutorError("--executor slurm needs a results folder.")
        slots = Slots(self.folder)
        slots.cancel()
        yield from slots.new_outcomes()
        schedule = cases if isinstance(cases, Schedule) else Schedule(cases, {})
        slots.submit(schedule, self.workers or SLOTS, MAX_REQUEUES)
        due, states = 0.0, dict[str, str]()
        try:
            while slots.unfinished():
                if polled := time.monotonic() > due:
                    due = time.monotonic() + _QUEUE_INTERVAL_S
                    try:
                        states = queue.states()
                    except ExecutorError as error:  # try again later
                        polled = False
                        self.on_status(str(error))
                yield from slots.new_outcomes()
                if polled:
                    alive, failures = slots.resubmit(states)
                    if failures:
                        raise ExecutorError("; ".join(failures))
                    self.on_status(f"{len(alive)} jobs: {', '.join(sorted(set(alive)))}")
                time.sleep(_RECORDS_INTERVAL_S)
        finally:
            slots.cancel()
