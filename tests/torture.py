"""Kills `dualgap run` at random moments, resumes it, and compares its table with an undisturbed one.

    python tests/torture.py [KILLS] [--seed N] [--forked]

Prints the kills, the recorded runs that were lost, the rows of finished tables that differ, and the
processes left behind; exits with 1 unless the last three are 0. Times are not compared. `--forked`
kills copies of this process, in which everything is imported, instead of new commands.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import psutil

from dualgap.experiments.cli import main as dualgap
from dualgap.experiments.store.manifest import is_results_folder
from dualgap.experiments.store.reading import RunFolder, load_results

EXPERIMENT = """\
name: torture
problems:
  - {formulation: soft_margin_dual, dataset: {name: four_gaussians, n: 24}, C: [1, 2, 4, 8, 16, 32]}
solvers:
  - {name: smo, tol: 1e-6}
"""
# the reason of a solved row, as all are here, only tells of its times
_TIMES = ["time_setup", "time_solve", "cpu_time", "peak_rss", "reason"]
_SLACK = 1.05  # of the undisturbed time, so that some runs come to their end


@dataclass
class Figures:
    kills: int = 0
    sessions: int = 0
    lost: int = 0
    differing: int = 0
    orphans: int = 0


def spawned(arguments: Sequence[str]) -> int:
    """Start a command; return its process id."""
    command = [sys.executable, "-m", "dualgap.experiments.cli", *arguments]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, stdout=nowhere, stderr=nowhere).pid


def forked(arguments: Sequence[str]) -> int:
    """Start a copy of this process that runs the command; return its process id."""
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        try:
            dualgap(list(arguments))
        except SystemExit as end:
            os._exit(int(end.code or 0))
        finally:
            os._exit(99)
    return pid


def torture(kills: int, seed: int, start: Callable[[Sequence[str]], int], folder: Path) -> Figures:
    """Kill and resume until there were `kills` kills; finish what is begun."""
    rng, figures = np.random.default_rng(seed), Figures()
    file, out = folder / "torture.yaml", folder / "out"
    file.write_text(EXPERIMENT)
    begun = time.monotonic()
    _end(start(["run", str(file), "--out", str(folder / "undisturbed")]), float("inf"))
    usual = time.monotonic() - begun
    expected = _rows(folder / "undisturbed")
    assert (expected["verdict"] == "solved").all()
    arguments = ["run", str(file), "--out", str(out), "--resume"]
    had: set[str] = set()
    while True:
        ending = figures.kills == kills
        patience = float("inf") if ending else rng.uniform(0, _SLACK * usual)
        killed = _session(start(arguments), patience, figures)
        has = set(RunFolder(out).lines) if is_results_folder(out) else set()
        figures.lost += len(had - has)
        had = has
        if not killed:
            figures.differing += _differing(_rows(out), expected)
            shutil.rmtree(out)
            had = set()
            if ending:
                return figures


def _session(pid: int, patience: float, figures: Figures) -> bool:
    """Let a command run for a while, then kill it; return whether it was killed."""
    workers = _end(pid, patience)
    figures.sessions += 1
    killed = workers is not None
    figures.kills += killed
    _, left = psutil.wait_procs(workers or [], timeout=10)
    figures.orphans += len(left)
    return killed


def _end(pid: int, patience: float) -> list[psutil.Process] | None:
    """Wait for a process, and kill it then; return what it had started, None if it ended itself."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return None
        time.sleep(0.005)
    started = psutil.Process(pid).children(recursive=True)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return started if os.WIFSIGNALED(status) else None


def _rows(folder: Path) -> pd.DataFrame:
    return load_results(folder).drop(columns=_TIMES)


def _differing(rows: pd.DataFrame, expected: pd.DataFrame) -> int:
    if len(rows) != len(expected):
        return abs(len(rows) - len(expected))
    same = (rows == expected) | (rows.isna() & expected.isna())
    return int((~same.all(axis=1)).sum())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forked", action="store_true")
    options = parser.parse_args()
    if options.forked:
        for name in ("executors.local", "operations.progress", "cases.judging", "tables.summary"):
            import_module(f"dualgap.experiments.{name}")
    with TemporaryDirectory() as folder:
        start = forked if options.forked else spawned
        figures = torture(options.kills, options.seed, start, Path(folder))
    sys.stdout.write(
        f"kills: {figures.kills}, sessions: {figures.sessions}, runs lost: {figures.lost}, "
        f"rows differing: {figures.differing}, processes left: {figures.orphans}\n"
    )
    sys.exit(bool(figures.lost or figures.differing or figures.orphans))


if __name__ == "__main__":
    main()
