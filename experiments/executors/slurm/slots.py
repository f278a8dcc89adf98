"""The slots of a results folder: their cases, their jobs, and the outcomes that have arrived.

slots/jobs.json     the job of each slot, and how often it was submitted again without progress
slots/jobs/         scripts and logs of the jobs
slots/0, slots/1, ...   see `slot`
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from dualgap.experiments.cases.plan import Case
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.run_key import RunKey
from dualgap.experiments.cases.schedule import Schedule
from dualgap.experiments.executors.base import ExecutorError
from dualgap.experiments.executors.slurm import queue
from dualgap.experiments.executors.slurm.slot import Slot
from dualgap.experiments.store import disk
from dualgap.experiments.store.log import LOG
from dualgap.experiments.store.manifest import read_manifest
from dualgap.experiments.store.reading import RunFolder
from dualgap.experiments.workers.capture import last_words

_JOBS = "jobs.json"
# not `-m`: spawned processes would import that module, and NumPy, before their environment is set
_START = (
    "import sys; from dualgap.experiments.executors.slurm.slot import fill; fill(*sys.argv[1:])"
)


class Job(BaseModel):
    """The job of one slot.

    Attributes
    ----------
    slurm : requested resources. again : how often a run whose job was killed is requeued, and a job
        without progress submitted again. id : of SLURM. words : how the previous job ended.
    got : number of runs started plus recorded when it was submitted. tries : submissions without
        progress.
    sessions : of the results folder when the slot was created; runs restarted later are not collected.
    """

    slurm: dict[str, Any]
    again: int
    sessions: int = 0
    id: Annotated[str, Field(pattern="^([0-9]+(_[0-9]+)?)?$")] = ""
    words: str = ""
    got: int = 0
    tries: int = 0


_JOBS_FILE = TypeAdapter(dict[Annotated[str, Field(pattern="^[0-9]+$")], Job])


class Slots:
    """The slots of a results folder whose jobs were submitted last."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path, self.jobs = folder, folder / "slots", dict[str, Job]()
        try:
            self.jobs = _JOBS_FILE.validate_json((self.path / _JOBS).read_bytes())
        except FileNotFoundError:
            pass
        except (OSError, ValidationError) as error:
            raise ExecutorError(f"Cannot read {self.path / _JOBS}: {error}") from None
        self._log_sizes = dict[str, int]()  # in bytes, when last read
        self._complete = set[str]()  # slots whose cases are all recorded
        recorded = RunFolder(folder)
        self._collected, self._restarted = set(recorded.lines), recorded.restarted

    def submit(self, schedule: Schedule, slots: int, again: int) -> None:
        """Submit all cases: an array of at most `slots` slots per kind of resources.

        Raises
        ------
        ExecutorError
            If the queue refuses any of them; then all are cancelled.
        """
        manifest, number = read_manifest(self.folder), len([*self.path.glob("[0-9]*")])
        sessions = len(manifest["sessions"])
        self.jobs, self._collected = {}, set()  # restarted runs have old records
        tasks_by_resources = dict[str, list[list[Case]]]()
        for task in schedule.tasks():
            resources = json.dumps(task[0].solver.slurm, sort_keys=True)
            tasks_by_resources.setdefault(resources, []).append(task)
        try:
            for request, tasks in tasks_by_resources.items():
                jobs = dict[str, Job]()
                for i in range(min(slots, len(tasks))):
                    cases = [case for task in tasks[i::slots] for case in task]
                    Slot(self.path / str(number)).write(manifest, cases, schedule)
                    jobs[str(number)] = Job(
                        slurm=json.loads(request), again=again, sessions=sessions
                    )
                    number += 1
                self._submit(jobs)
        except BaseException:  # an interrupt, too
            self.cancel()
            raise

    def _submit(self, jobs: Mapping[str, Job]) -> None:
        """Submit jobs that request the same resources as one array."""
        start = [sys.executable, "-c", _START]
        commands = [
            [*start, str(self.path.absolute() / name), str(job.again), job.words]
            for name, job in jobs.items()
        ]
        ids = queue.submit(self.path / "jobs", commands, next(iter(jobs.values())).slurm)
        for (name, job), job_id in zip(jobs.items(), ids, strict=True):
            self.jobs[name] = job.model_copy(update={"id": job_id})
        disk.replace(self.path / _JOBS, _JOBS_FILE.dump_json(self.jobs, indent=1))

    def new_outcomes(self) -> Iterator[Outcome]:
        """Yield outcomes recorded by slots since the last call that the folder does not have yet."""
        for name in self.unfinished():
            folder = RunFolder(self.path / name)
            log = folder.path / LOG
            size = log.stat().st_size if log.exists() else 0
            if size == self._log_sizes.get(name, 0):
                continue
            self._log_sizes[name] = size
            if not len(Slot(folder.path).schedule(folder.records())):
                self._complete.add(name)
            for run_id in [key for key in folder.lines if key not in self._collected]:
                self._collected.add(run_id)
                if self._restarted.get(RunKey.parse(run_id).round, -1) < self.jobs[name].sessions:
                    yield folder.outcome(run_id)

    def unfinished(self) -> list[str]:
        """Return the names of the slots with missing outcomes."""
        return [name for name in self.jobs if name not in self._complete]

    def resubmit(self, states: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Submit again the jobs that have ended before their cases.

        Parameters
        ----------
        states : of jobs, queried before the last call of `new_outcomes`.

        Returns
        -------
        list, list
            The states of jobs that wait or run, and a message for each job without progress.

        Raises
        ------
        ExecutorError
            If the queue refuses them.
        """
        alive, failures, again = list[str](), list[str](), dict[str, dict[str, Job]]()
        for name in self.unfinished():
            job, slot = self.jobs[name], Slot(self.path / name)
            state = states.get(job.id, "")
            got = slot.start_counts().total() + len(RunFolder(slot.path).lines)
            tries = 0 if got > job.got else job.tries + 1
            if queue.is_alive(state):
                alive.append(state)
            elif tries > job.again:
                log = self.path / "jobs" / f"{job.id}_0_log.err"
                words = last_words(log.read_text(errors="replace")) if log.exists() else ""
                failures.append(f"job {job.id} of slot {name} ended ({state}), see {log}: {words}")
            else:
                changed = {"tries": tries, "got": got, "words": f"the last one, {job.id}, {state}"}
                again.setdefault(str(job.slurm), {})[name] = job.model_copy(update=changed)
        for jobs in again.values():
            self._submit(jobs)
            alive += ["submitted again"] * len(jobs)
        return alive, failures

    def cancel(self) -> None:
        """Cancel the jobs with missing outcomes."""
        queue.cancel([self.jobs[name].id for name in self.unfinished()])
