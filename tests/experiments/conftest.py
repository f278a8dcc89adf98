"""What the tests of experiments share: experiment files, and solvers from outside."""

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import dedent, indent

import pytest
from click.testing import CliRunner
from tests.experiments.functions import (
    KeptWorker,
    in_this_process,
    posing,
    running_workers,
)

from dualgap.experiments.executors import local

GOOD = posing(kernel="{name: rbf, gamma: 0.05}", C=1, solvers="[{name: smo, tol: 1e-6}]")


@pytest.fixture(autouse=True, scope="session")
def _without_syncing():
    """Leave what is written in the system's cache, as no test cuts the power: a sync waits for 2 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


@pytest.fixture
def write(tmp_path):
    """Write an experiment file; return its path."""

    def _write(text=GOOD, name="small.yaml"):
        path = tmp_path / name
        path.write_text(dedent(text))
        return path

    return _write


SOLVER = """\
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar
import os, signal, sys, time
import numpy as np
from dualgap.problems import BoxQP, FormPoint
from dualgap.solvers import NotInstalled, Solver
{before}

@dataclass(frozen=True)
class Strange(Solver):
    tol: float = 1e-3
    seed: int = 0
    form: ClassVar = BoxQP

    def refuses(self, form):
        {refuses}

    def prepare(self, form):
        {prepare}
        return form

    def iterates(self, form):
        x = np.zeros(form.n)
{iterates}
"""


@pytest.fixture
def strange(tmp_path):
    """Write a solver file with the given bodies; return its name for experiment files."""

    def _strange(
        iterates="yield FormPoint(x)", *, prepare="pass", before="", refuses="return None"
    ):
        path = tmp_path / "strange.py"
        body = indent(dedent(iterates), " " * 8)
        text = SOLVER.format(before=before, refuses=refuses, prepare=prepare, iterates=body)
        path.write_text(text)
        return f"{path}:Strange"

    return _strange


@pytest.fixture
def planned(write):
    """Return the cases of an experiment."""
    from dualgap.experiments.cases.plan import plan
    from dualgap.experiments.files.experiment import read_experiment

    return lambda text, name="small.yaml": plan(read_experiment(write(text, name)))


@pytest.fixture
def case_of(planned):
    """Return the first case of an experiment, its solver replaced by another."""
    from dualgap.experiments.cases.plan import RunKey
    from dualgap.experiments.files.specs import SolverSpec

    def _case(solver=None, text=GOOD, **head):
        case = planned(text + "".join(f"{key}: {value}\n" for key, value in head.items()))[0]
        if solver is None:
            return case
        return replace(case, key=RunKey(Path(solver).parent.name), solver=SolverSpec(solver, {}))

    return _case


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Run `dualgap` in a folder of its own, to an exit code; return what click's runner returns."""
    from dualgap.experiments.cli import main

    def _command(*arguments, code=0):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return result

    monkeypatch.chdir(tmp_path)
    return _command


@pytest.fixture(scope="session")
def describer():
    worker = KeptWorker(threads=1)
    yield worker
    worker.end()


@pytest.fixture(scope="session")
def runs_of(describer, tmp_path_factory):
    """Run an experiment file in this process, once in a session; return its folder of runs."""
    from dualgap.experiments.cli import main

    @cache
    def _runs_of(text):
        folder = tmp_path_factory.mktemp("runs")
        (folder / "small.yaml").write_text(text)
        arguments = ["run", str(folder / "small.yaml"), "--out", str(folder / "runs")]
        with in_this_process(describer=describer):
            result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return folder / "runs"

    return _runs_of


@pytest.fixture
def finished(write, runs_of, tmp_path):
    """Write an experiment file, and its runs into a folder beside it; return the file's path."""

    def _finished(text=GOOD, out="x"):
        shutil.copytree(runs_of(text), tmp_path / out)
        return write(text)

    return _finished


@pytest.fixture
def in_process(describer):
    with in_this_process(describer=describer):
        yield


@pytest.fixture
def short_grace(monkeypatch):
    """Kill solvers that ignore their time limit after 3 s instead of 10."""
    limit_of = local.limit_of
    monkeypatch.setattr(local, "limit_of", lambda case, phase, _: limit_of(case, phase, 3.0))


@pytest.fixture
def no_leaked_worker():
    """Fail if a worker that a test started is running at its end."""
    before = running_workers()
    yield
    assert not running_workers() - before


@pytest.fixture(scope="session")
def browser():
    """Open Chromium, where it and its driver are installed."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    binary = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
    with api.sync_playwright() as play:
        if binary is None and not Path(play.chromium.executable_path).exists():
            pytest.skip("no Chromium: install it, or run `playwright install chromium`")
        opened = play.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def outcome(tmp_path):
    """Read an experiment file of any content: an Experiment, or the lines of the refusal."""
    from dualgap.experiments.files.experiment import ConfigError, Experiment, read_experiment

    path = tmp_path / "any.yaml"

    def _outcome(content):
        path.write_bytes(content)
        lines = []
        try:
            experiment = read_experiment(path)
        except ConfigError as refusal:
            lines = str(refusal).splitlines()
        if not lines:
            assert isinstance(experiment, Experiment)
            return experiment
        assert all(line.startswith(str(path)) for line in lines), lines
        assert len(lines) <= 21
        assert max(map(len, lines)) <= 700 + len(str(path))
        return lines

    return _outcome


@pytest.fixture
def readme(tmp_path):
    file = tmp_path / "README.md"
    file.write_text("a\n<!-- benchmarks table -->\nold\n<!-- end of table -->\nb\n")
    return file
