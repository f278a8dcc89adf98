"""Cases are run by jobs of SLURM: an array of slots, each of which runs whole cases as on one machine.

What a run may take and how it ends are the same as on this machine alone (see `slot` of the room): a
crash, a hang or too much memory costs the run in which it happened, and no job. What else may happen:

- a job is killed, preempted or out of time, or its node is lost: SLURM or the command submits it again,
  and it goes on where its records end; a run that was running is begun again, and is a row `crashed` if
  its job was ended under it three times;
- a job ends three times before it has begun a run: `ExecutorError`, with the last line of its log;
- the queue refuses a job: `ExecutorError`, in the queue's words, and nothing is left in the queue;
- the command is interrupted: its jobs are taken out of the queue.

All nodes see the folder of the run, and need the same version of this package and the files that an
experiment names at the same paths. A run has the cores that its job asks for.
"""

import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from shutil import which
from typing import ClassVar

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.search import PendingCases
from dualgap.experiments.executors.base import Executor, ExecutorError
from dualgap.experiments.executors.slurm import queue
from dualgap.experiments.executors.slurm.slots import Slots

AGAIN = 2  # times a run whose job was ended is begun again
SLOTS = 16  # of one array
_LOOKS, _ASKS = 0.5, 5.0  # seconds between two looks at the records, and two questions to the queue


@dataclass(frozen=True)
class SlurmExecutor(Executor):
    """Runs cases in `workers` slots for each kind of resources, at most; by default 16."""

    name: ClassVar[str] = "slurm"

    def check(self) -> None:
        """Find submitit and SLURM; refuse an address: `sbatch` knows its cluster."""
        if self.address is not None:
            raise ExecutorError("--scheduler: is that of a Dask scheduler; add --executor dask")
        if find_spec("submitit") is None:
            raise ExecutorError(
                "--executor slurm: needs submitit; install it with: pip install 'dualgap[slurm]'"
            )
        if which("sbatch") is None:
            raise ExecutorError(
                "--executor slurm: there is no sbatch on PATH; run it where jobs are submitted"
            )

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Yield the outcome of every case, as they complete; all jobs end with the iterator.

        What slots of an earlier command have recorded comes first, and their jobs are ended.

        Raises
        ------
        ExecutorError
            If the queue refuses the jobs, or one gets no further.
        """
        if self.folder is None:
            raise ExecutorError("--executor slurm: needs a folder where the runs are recorded")
        slots = Slots(self.folder)
        slots.end()
        yield from slots.arrived()
        waiting = cases if isinstance(cases, PendingCases) else PendingCases(cases, {})
        slots.submit(waiting, self.workers or SLOTS, AGAIN)
        due, states = 0.0, dict[str, str]()
        try:
            while slots.left():
                if asked := time.monotonic() > due:
                    due = time.monotonic() + _ASKS
                    try:
                        states = queue.states()
                    except ExecutorError as error:  # it is asked again
                        asked = False
                        self.told(str(error))
                yield from slots.arrived()
                if asked:
                    alive, given_up = slots.go_on(states)
                    if given_up:
                        raise ExecutorError("; ".join(given_up))
                    self.told(f"{len(alive)} jobs: {', '.join(sorted(set(alive)))}")
                time.sleep(_LOOKS)
        finally:
            slots.end()
