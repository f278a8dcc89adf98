"""The interface to SLURM: submit arrays with submitit, and query and cancel jobs by its commands.

submitit only pickles commands, lists of text, into a folder that only this user may enter.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from io import StringIO
from math import ceil
from pathlib import Path
from typing import Any

from dualgap.experiments.executors.base import ExecutorError

_COLUMNS = "%F|%K|%T|%r"  # of squeue: array, index, state, reason
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY")
_ENDED += ("PREEMPTED", "TIMEOUT")
_QUERY_TIMEOUT_S = 60.0


def submit(folder: Path, commands: Sequence[list[str]], resources: Mapping[str, Any]) -> list[str]:
    """Submit an array with one job per command; return the ids of the jobs.

    Parameters
    ----------
    folder : of scripts, pickles and logs, shared by all nodes. resources : see `files.models.Slurm`.

    Raises
    ------
    ExecutorError
        If the queue refuses it, with its message.
    """
    from submitit import SlurmExecutor  # noqa: PLC0415 - optional
    from submitit.core.utils import CommandFunction, FailedJobError  # noqa: PLC0415

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    executor, mem, time = SlurmExecutor(folder), resources.get("mem"), resources.get("time")
    executor.update_parameters(
        job_name="dualgap",
        use_srun=False,
        wckey=None,
        signal_delay_s=0,  # no signal before the time limit: records are kept anyway
        additional_parameters={"requeue": True},
        cpus_per_task=resources.get("cpus"),
        mem=mem and f"{ceil(mem / 2**20)}M",
        time=time and ceil(time / 60),
        partition=resources.get("partition"),
    )
    try:
        with redirect_stderr(StringIO()):  # the error is printed there as well
            jobs = executor.submit_array([CommandFunction(command) for command in commands])
    except FailedJobError as error:
        lines = [line.removeprefix("sbatch: error: ") for line in str(error).splitlines()]
        message = f"the queue refused a job that requests {json.dumps(resources)}"
        raise ExecutorError(f"--executor slurm: {message}: {'; '.join(lines)}") from None
    return [job.job_id for job in jobs]


def states() -> dict[str, str]:
    """Return the state and its reason, by id, of all jobs of this user that SLURM remembers.

    Raises
    ------
    ExecutorError
        If the queue does not answer.
    """
    command = ["squeue", "--me", "--array", "--noheader", "--states=all", f"--format={_COLUMNS}"]
    try:
        query = subprocess.run(
            command, capture_output=True, text=True, timeout=_QUERY_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        message = getattr(error, "stderr", "") or str(error)
        raise ExecutorError(f"the queue does not answer: {message.strip()}") from None
    states = dict[str, str]()
    for line in filter(None, query.stdout.splitlines()):
        array, index, state, reason = line.split("|", 3)
        job = array if index == "N/A" else f"{array}_{index}"
        states[job] = state if reason == "None" else f"{state}, {reason}"
    return states


def is_alive(state: str) -> bool:
    """Whether a job in this state, see `states`, waits or runs; "" is an unknown job."""
    return state.partition(",")[0] not in ("", *_ENDED)


def cancel(jobs: Sequence[str]) -> None:
    """Cancel jobs, waiting or running.

    Raises
    ------
    ExecutorError
        If the queue does not answer.
    """
    command, message = ["scancel", *jobs], ""
    try:
        if jobs:
            options: Any = {"capture_output": True, "text": True, "timeout": _QUERY_TIMEOUT_S}
            message = subprocess.run(command, check=False, **options).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise ExecutorError(f"jobs may still be in the queue: {error}") from None
    if "Unable to contact" in message:  # the exit code is the same for jobs that have ended
        raise ExecutorError(f"jobs may still be in the queue: {message.strip()}")
