"""What is asked of SLURM: arrays are submitted by submitit, and its commands tell what became of them.

All that is pickled, into a folder that this user alone may enter, is a command, a list of text.
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

_COLUMNS = "%F|%K|%T|%r"  # of squeue: the array, the place in it, the state, the reason
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY")
_ENDED += ("PREEMPTED", "TIMEOUT")
_ANSWERED = 60.0  # seconds


def submit(folder: Path, commands: Sequence[list[str]], asked: Mapping[str, Any]) -> list[str]:
    """Submit an array with a job for each command; return the ids of the jobs.

    Parameters
    ----------
    folder : of scripts, pickles and logs; every node sees it. asked : see `files.keys.Slurm`.

    Raises
    ------
    ExecutorError
        If the queue refuses it, with what it says.
    """
    from submitit import SlurmExecutor  # noqa: PLC0415 - optional
    from submitit.core.utils import CommandFunction, FailedJobError  # noqa: PLC0415

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    executor, mem, time = SlurmExecutor(folder), asked.get("mem"), asked.get("time")
    executor.update_parameters(
        job_name="dualgap",
        use_srun=False,
        wckey=None,
        signal_delay_s=0,  # none before the end of its time: what is recorded is kept anyway
        additional_parameters={"requeue": True},
        cpus_per_task=asked.get("cpus"),
        mem=mem and f"{ceil(mem / 2**20)}M",
        time=time and ceil(time / 60),
        partition=asked.get("partition"),
    )
    try:
        with redirect_stderr(StringIO()):  # where it is printed too
            jobs = executor.submit_array([CommandFunction(command) for command in commands])
    except FailedJobError as error:
        lines = [line.removeprefix("sbatch: error: ") for line in str(error).splitlines()]
        told = f"the queue refuses a job that asks for {json.dumps(asked)}"
        raise ExecutorError(f"--executor slurm: {told}: {'; '.join(lines)}") from None
    return [job.job_id for job in jobs]


def states() -> dict[str, str]:
    """Return of each job of this user that SLURM remembers its state, and why it is in it, by its id.

    Raises
    ------
    ExecutorError
        If the queue cannot be asked.
    """
    command = ["squeue", "--me", "--array", "--noheader", "--states=all", f"--format={_COLUMNS}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_ANSWERED, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", "") or str(error)
        raise ExecutorError(f"the queue cannot be asked: {told.strip()}") from None
    found = dict[str, str]()
    for line in filter(None, done.stdout.splitlines()):
        array, place, state, reason = line.split("|", 3)
        job = array if place == "N/A" else f"{array}_{place}"
        found[job] = state if reason == "None" else f"{state}, {reason}"
    return found


def is_alive(state: str) -> bool:
    """Whether a job in a state, as of `states`, waits or runs; "" is that of one that is forgotten."""
    return state.partition(",")[0] not in ("", *_ENDED)


def cancel(jobs: Sequence[str]) -> None:
    """Take jobs out of the queue, and end those that run.

    Raises
    ------
    ExecutorError
        If the queue does not answer.
    """
    command, told = ["scancel", *jobs], ""
    try:
        if jobs:
            known: Any = {"capture_output": True, "text": True, "timeout": _ANSWERED}
            told = subprocess.run(command, check=False, **known).stderr
    except (OSError, subprocess.SubprocessError) as error:
        raise ExecutorError(f"jobs may still be in the queue: {error}") from None
    if "Unable to contact" in told:  # its exit code is that for jobs that have ended, too
        raise ExecutorError(f"jobs may still be in the queue: {told.strip()}")
