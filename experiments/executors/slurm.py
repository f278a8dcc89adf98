"""Run cases in jobs of SLURM: arrays of `dualgap run FOLDER --resume --shard I/N`.

Each job is a session of the results folder, which all nodes must see, and records its share of the
missing runs. Solvers that request different resources are in different arrays. The runs that a job did
not reach when it was killed, preempted or out of time stay missing until SLURM requeues it or it is
submitted again.
A run during which jobs were killed three times is recorded as crashed.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from pathlib import Path
from shutil import which
from typing import Any, ClassVar

from dualgap.experiments.cases.plan import Case, RunKey
from dualgap.experiments.cases.records import Outcome
from dualgap.experiments.cases.schedule import Round, Schedule
from dualgap.experiments.cases.shard import Shard, resources_of, tasks_of
from dualgap.experiments.executors.base import Executor, ExecutorError
from dualgap.experiments.store.logs import RecordedRuns, valid_lines
from dualgap.experiments.store.manifest import LOG, SESSIONS
from dualgap.experiments.store.plan import planned_cases
from dualgap.experiments.workers.processes import last_words

MAX_JOBS = 16  # of one array
_MAX_SUBMISSIONS = 3  # in a row without a new record
_POLL_INTERVAL_S = 5.0  # of the queue, which many users share
_QUERY_TIMEOUT_S = 60.0
_JOBS = "jobs"  # folder of the logs of jobs


@dataclass(frozen=True)
class SlurmExecutor(Executor):
    """Runs cases in arrays of at most `workers` jobs, by default 16, one for each kind of resources."""

    name: ClassVar[str] = "slurm"

    def check(self) -> None:
        """Find SLURM; refuse an address, as `sbatch` knows its cluster."""
        if self.address is not None:
            raise ExecutorError("--scheduler is for Dask only. Add --executor dask.")
        if which("sbatch") is None:
            raise ExecutorError(
                "--executor slurm: sbatch not found on PATH. Run this on a login node."
            )

    def run(self, cases: Iterable[Case]) -> Generator[Outcome]:
        """Submit the missing runs of the folder and wait; jobs record the outcomes, so none is yielded.

        Raises
        ------
        ExecutorError
            If the queue refuses the jobs, or they end without recording anything.
        """
        for _ in cases:  # those of the folder that are missing
            pass
        watch, attempts = _Watch(self._results), 0
        missing = watch.missing()
        try:
            while missing:
                self.submit()
                self._wait(watch)
                before, missing = missing, watch.missing()
                attempts = attempts + 1 if missing == before else 0
                if missing and attempts == _MAX_SUBMISSIONS:
                    raise ExecutorError(f"jobs end without recording a run; {self._last_log()}")
        finally:
            _cancel(self._job_name)
        yield from ()

    def submit(self) -> tuple[int, int]:
        """Submit the missing runs of the folder; jobs submitted before are cancelled.

        Returns
        -------
        tuple of int
            The number of runs, or of searches, that are missing, and that of jobs.

        Raises
        ------
        ExecutorError
            If the queue refuses an array, with its message; then none is submitted.
        """
        _cancel(self._job_name)
        cases, records = planned_cases(self._results), RecordedRuns(self._results).records()
        tasks, count, jobs = tasks_of(cases), self.workers or MAX_JOBS, 0
        (self._results / _JOBS).mkdir(exist_ok=True)
        kinds = resources_of(tasks)
        try:
            for kind, resources in enumerate(kinds, 1):
                shards = [Shard(i + 1, count, kind) for i in range(count)]
                numbers = [s.number for s in shards if len(Schedule(s.cases_of(cases), records))]
                if numbers:
                    shard = f"$SLURM_ARRAY_TASK_ID/{count}:{kind}"
                    self._submit_array(numbers, shard, resources)
                jobs += len(numbers)
        except BaseException:  # an interrupt, too
            _cancel(self._job_name)
            raise
        return len(Schedule(cases, records)), jobs

    @property
    def _results(self) -> Path:
        """The results folder, in which jobs record runs."""
        if self.folder is None:
            raise ExecutorError("--executor slurm needs a results folder.")
        return self.folder

    @property
    def _job_name(self) -> str:
        """The name of all jobs of the folder."""
        path = str(self._results.absolute())
        return f"dualgap-{sha256(path.encode()).hexdigest()[:12]}"

    def _submit_array(
        self, numbers: Sequence[int], shard: str, resources: Mapping[str, Any]
    ) -> None:
        folder = self._results.absolute()
        program = Path(sys.executable).with_name("dualgap")
        command = shlex.join([str(program), "run", str(folder), "--resume", "--quiet", "--shard"])
        mem, limit = resources.get("mem"), resources.get("time")
        requested = {
            "array": ",".join(map(str, numbers)),
            "job-name": self._job_name,
            "output": str(folder / _JOBS / "%A_%a.log"),
            "open-mode": "append",
            "cpus-per-task": resources.get("cpus"),
            "mem": mem and f"{ceil(mem / 2**20)}M",
            "time": limit and ceil(limit / 60),
            "partition": resources.get("partition"),
            "wrap": f"exec {command} {shard}",
        }
        options = [f"--{key}={value}" for key, value in requested.items() if value is not None]
        try:
            _call("sbatch", "--parsable", "--requeue", *options)
        except ExecutorError as error:
            request = json.dumps(dict(resources))
            raise ExecutorError(
                f"--executor slurm: the queue refused jobs that request {request}: {error}"
            ) from None

    def _wait(self, watch: _Watch) -> None:
        """Return when no job of the folder is in the queue."""
        total = watch.missing()
        while True:
            try:
                states = Counter(
                    _call("squeue", "--me", "--array", f"--name={self._job_name}", "-h", "-o%T")
                    .lower()
                    .split()
                )
            except ExecutorError as error:  # ask again later
                states = Counter([str(error)])
            if not states:
                return
            jobs = ", ".join(f"{count} {state}" for state, count in states.items())
            self.on_status(f"{total - watch.missing()} of {total} runs recorded; jobs: {jobs}")
            time.sleep(_POLL_INTERVAL_S)

    def _last_log(self) -> str:
        """Return the path and the last words of the newest log."""
        folder = self._results / _JOBS
        logs = folder.glob("*.log")
        newest = max(logs, key=lambda path: path.stat().st_mtime, default=None)
        if newest is None:
            return f"they wrote no log to {folder}"
        return f"see {newest}: {last_words(newest.read_text(errors='replace'))}"


class _Watch:
    """A results folder to which jobs append: each line of their logs is read once."""

    def __init__(self, path: Path) -> None:
        self._path, self._read = path, dict[Path, int]()  # bytes of each log
        self._appended()  # before the folder is read, so that no line is missed
        recorded = RecordedRuns(path)
        self._records = recorded.records()
        keys = map(RunKey.parse, recorded.manifest["run_ids"])
        self._rounds = [Round(key, self._records) for key in keys]

    def missing(self) -> int:
        """Return the number of runs, or of searches, that are missing now."""
        records = (line["record"] for line in valid_lines(self._appended()))
        self._records.update((record["run_id"], record) for record in records)
        self._rounds = [each for each in self._rounds if each.next_run() is not None]
        return len(self._rounds)

    def _appended(self) -> bytes:
        """Return the complete lines that were appended to the logs since the last call."""
        parts = list[bytes]()
        for log in self._path.glob(f"{SESSIONS}/*/{LOG}"):
            # a session that recorded nothing removes its log
            with suppress(FileNotFoundError), log.open("rb") as file:
                start = file.seek(self._read.get(log, 0))
                content = file.read()
                parts.append(content[: content.rfind(b"\n") + 1])
                self._read[log] = start + len(parts[-1])
        return b"".join(parts)


def _call(*command: str) -> str:
    """Return the output of a command of SLURM; ExecutorError with its message if it fails."""
    options: Any = {"capture_output": True, "text": True, "timeout": _QUERY_TIMEOUT_S}
    try:
        return subprocess.run(command, check=True, **options).stdout
    except (OSError, subprocess.SubprocessError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).splitlines()
        text = "; ".join(line.removeprefix(f"{command[0]}: error: ") for line in lines)
        raise ExecutorError(text) from None


def _cancel(name: str) -> None:
    """Cancel all jobs with a name; ExecutorError if they may still be in the queue."""
    try:
        _call("scancel", "--me", f"--name={name}")
    except ExecutorError as error:
        raise ExecutorError(f"jobs may still be in the queue: {error}") from None
