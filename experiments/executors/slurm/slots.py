"""The slots of a run, in its folder: which cases each has, which job fills it, and what has arrived.

slots/jobs.json     the job of each slot, and how often it is submitted again without getting further
slots/jobs/         scripts and logs of the jobs
slots/0, slots/1, ...   see `slot`
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dualgap.experiments.cases.plan import Case, search_of
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.search import PendingCases
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.slurm import queue
from dualgap.experiments.executors.slurm.slot import Slot
from dualgap.experiments.store import disk
from dualgap.experiments.store.log import LOG
from dualgap.experiments.store.manifest import read_manifest
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.workers.capture import last_words

_JOBS = "jobs.json"
# no module, which the processes of its runs would import, with NumPy, before their environment is set
_START = (
    "import sys; from dualgap.experiments.executors.slurm.slot import fill; fill(*sys.argv[1:])"
)


class Job(BaseModel):
    """The job of one slot.

    Attributes
    ----------
    slurm : what it asks for. again : how often a run whose job was ended is begun again, and a job that
        got no further submitted. id : as SLURM calls it. words : how the one before it ended.
    got : the runs that were begun and recorded when it was submitted. tries : since that has grown.
    sessions : that the folder had when its slot was made; what a later one begins anew is not taken.
    """

    slurm: dict[str, Any]
    again: int
    sessions: int = 0
    id: Annotated[str, Field(pattern="^([0-9]+(_[0-9]+)?)?$")] = ""
    words: str = ""
    got: int = 0
    tries: int = 0


_KNOWN = TypeAdapter(dict[Annotated[str, Field(pattern="^[0-9]+$")], Job])


class Slots:
    """The slots of a folder of runs, with those of its jobs that were submitted last."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.jobs = folder, folder / "slots", dict[str, Job]()
        try:
            self.jobs = _KNOWN.validate_json((self.path / _JOBS).read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, ValidationError) as error:
            raise ExecutorError(f"{self.path / _JOBS}: cannot be read: {error}") from None
        self._read = dict[str, int]()  # bytes of a slot's log
        self._over = set[str]()  # slots with all records
        recorded = RunFolder(folder)
        self._taken, self._restarted = set(recorded.lines), recorded.restarted

    def submit(self, waiting: PendingCases, slots: int, again: int) -> None:
        """Submit all cases: an array of at most `slots` slots for each kind of resources.

        Raises
        ------
        ExecutorError
            If the queue refuses any of them; then none is in the queue.
        """
        manifest, number = read_manifest(self.folder), len([*self.path.glob("[0-9]*")])
        sessions = len(manifest["sessions"])
        self.jobs, self._taken = {}, set()  # what is begun anew was recorded before
        alike = dict[str, list[list[Case]]]()
        for chain in waiting.chains():
            alike.setdefault(json.dumps(chain[0].solver.slurm, sort_keys=True), []).append(chain)
        try:
            for asked, chains in alike.items():
                jobs = dict[str, Job]()
                for i in range(min(slots, len(chains))):
                    cases = [case for chain in chains[i::slots] for case in chain]
                    Slot(self.path / str(number)).write(manifest, cases, waiting)
                    jobs[str(number)] = Job(slurm=json.loads(asked), again=again, sessions=sessions)
                    number += 1
                self._submit(jobs)
        except BaseException:  # an interrupt, too
            self.end()
            raise

    def _submit(self, jobs: Mapping[str, Job]) -> None:
        """Submit the jobs of slots that ask for the same as one array."""
        start = [sys.executable, "-c", _START]
        commands = [
            [*start, str(self.path.absolute() / name), str(job.again), job.words]
            for name, job in jobs.items()
        ]
        ids = queue.submit(self.path / "jobs", commands, next(iter(jobs.values())).slurm)
        for (name, job), own in zip(jobs.items(), ids, strict=True):
            self.jobs[name] = job.model_copy(update={"id": own})
        disk.replace(self.path / _JOBS, _KNOWN.dump_json(self.jobs, indent=1))

    def arrived(self) -> Iterator[Outcome]:
        """Yield what slots have recorded since it was last asked, and the folder does not have yet."""
        for name in self.left():
            folder = RunFolder(self.path / name)
            log = folder.path / LOG
            size = log.stat().st_size if log.exists() else 0
            if size == self._read.get(name, 0):
                continue
            self._read[name] = size
            if not len(Slot(folder.path).waiting(folder.records())):
                self._over.add(name)
            for run_id in [own for own in folder.lines if own not in self._taken]:
                self._taken.add(run_id)
                if self._restarted.get(search_of(run_id), -1) < self.jobs[name].sessions:
                    yield folder.outcome(run_id)

    def left(self) -> list[str]:
        """Return the slots of which not all has arrived."""
        return [name for name in self.jobs if name not in self._over]

    def go_on(self, states: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Submit again the jobs that have ended before their cases.

        Parameters
        ----------
        states : of jobs, before it was last asked what has arrived.

        Returns
        -------
        list, list
            The states of jobs that wait or run, and what is said of those that got no further.

        Raises
        ------
        ExecutorError
            If the queue refuses them.
        """
        alive, given_up, again = list[str](), list[str](), dict[str, dict[str, Job]]()
        for name in self.left():
            job, slot = self.jobs[name], Slot(self.path / name)
            state = states.get(job.id, "")
            got = slot.begun().total() + len(RunFolder(slot.path).lines)
            tries = 0 if got > job.got else job.tries + 1
            if queue.is_alive(state):
                alive.append(state)
            elif tries > job.again:
                log = self.path / "jobs" / f"{job.id}_0_log.err"
                words = last_words(log.read_text(errors="replace")) if log.exists() else ""
                given_up.append(f"job {job.id} of slot {name} ended ({state}), see {log}: {words}")
            else:
                changed = {"tries": tries, "got": got, "words": f"the last one, {job.id}, {state}"}
                again.setdefault(str(job.slurm), {})[name] = job.model_copy(update=changed)
        for jobs in again.values():
            self._submit(jobs)
            alive += ["submitted again"] * len(jobs)
        return alive, given_up

    def end(self) -> None:
        """Take the jobs of which not all has arrived out of the queue."""
        queue.cancel([self.jobs[name].id for name in self.left()])
