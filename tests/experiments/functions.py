"""What tests of experiments share: experiment files, runs in this process, and waiting for others."""

import json
import os
import time
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from time import perf_counter, process_time

import psutil
import pytest

from dualgap.experiments.cases.case import run
from dualgap.experiments.cases.messages import read_outcome
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.files import user_classes
from dualgap.experiments.store.manifest import LOG, SESSION_FILE
from dualgap.experiments.workers.isolation import ChildResult
from dualgap.experiments.workers.machine import cores
from dualgap.experiments.workers.supervision import Worker

_OF_THE_FILE = ("kind", "memory_limit", "noise", "repetitions", "seed", "target", "target_gap")
_OF_THE_FILE += ("time_limit", "trace", "warm_start")


def yaml(value):
    """Return a value as YAML in flow style; text is taken for YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(yaml, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def posing(name="small", *, solvers=("smo",), **keys):
    """Return an experiment file of one problem: other keys are those of the file, or of its problem."""
    problem = {"formulation": "soft_margin_dual", "dataset": "{name: four_gaussians, n: 24}"}
    problem |= {key: value for key, value in keys.items() if key not in _OF_THE_FILE}
    content = {"name": name, "problems": [problem], "solvers": solvers}
    content |= {key: value for key, value in keys.items() if key in _OF_THE_FILE}
    return "".join(f"{key}: {yaml(value)}\n" for key, value in content.items())


def _call_here(function, *arguments, solving=None):
    start_times, computed = [perf_counter()], process_time()
    content = function(lambda: start_times.append(perf_counter()), *arguments)
    took = perf_counter() - start_times[:2][-1], 0.0, process_time() - computed
    return ChildResult(BytesIO(content), *took, psutil.Process().memory_info().rss)


def run_case(case, threads=None, isolated=_call_here):
    """Return the outcome of a case that is run in this process, as a worker sends it."""
    return read_outcome(run(str, case, threads or cores(), isolated), case)


class KeptWorker(Worker):
    """A process for files from outside that lasts for several commands, as its start takes a second."""

    def stop(self):
        pass

    def end(self):
        super().stop()


@contextmanager
def in_this_process(run=run_case, describer=None):
    """Let commands run their cases here, and describe what is outside in one process that is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalExecutor, "run", lambda self, cases: (run(case) for case in cases))
        if describer is not None:
            patch.setattr(user_classes, "Worker", lambda threads: describer)
        yield


class Failing:
    """Stands for `os` in `disk`; one of its operations fails."""

    def __init__(self, operation, number):
        self.operation, self.number = operation, number

    def __getattr__(self, name):
        return self._fail if name == self.operation else getattr(os, name)

    def _fail(self, *arguments):
        if self.operation == "write":
            os.write(arguments[0], arguments[1][:10])
        raise OSError(self.number, os.strerror(self.number))


def session_of(folder):
    """Return the folder of the last session of a results folder."""
    return max(Path(folder).glob("sessions/*"))


def log_of(folder):
    """Return the log of the last session of a results folder."""
    return session_of(folder) / LOG


def change_session(folder, **entries):
    """Change entries of the manifest of the last session of a results folder."""
    path = session_of(folder) / SESSION_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | entries))


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for_exit(pid):
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == "zombie")


def running_workers():
    """Return the process ids of workers of this process that are running."""
    children = psutil.Process().children(recursive=True)
    running = [c for c in children if c.status() != psutil.STATUS_ZOMBIE]
    return {c.pid for c in running if "workers.start import serve" in " ".join(c.cmdline())}
