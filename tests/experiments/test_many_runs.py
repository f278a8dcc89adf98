"""A folder of many small runs: each command reads it once, and in seconds."""

from __future__ import annotations

import io
import time
from dataclasses import replace

import pytest

from experiments import load_results
from experiments.cases.case import run_case
from experiments.cases.plan import plan
from experiments.cases.records import blank_record
from experiments.files.experiment import read_experiment
from experiments.store.folder import Store

TEXT = """\
name: many
trace: false
repetitions: {repetitions}
problems:
  - formulation: soft_margin_dual
    dataset: {{name: two_gaussians, n: 50, seed: [1, 2, 3, 4]}}
    kernel: {{name: rbf, gamma: {gammas}}}
    C: [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
solvers:
  - {{name: smo, tol: [1e-1, 1e-3, 1e-6]}}
  - {{name: simplified_smo, tol: [1e-3, 1e-6]}}
"""


@pytest.fixture
def recorded(write, tmp_path, monkeypatch):
    """Record every run of an experiment with the answer of one run; return its file."""

    def _recorded(repetitions, gammas):
        file = write(TEXT.format(repetitions=repetitions, gammas=list(gammas)))
        experiment = read_experiment(file)
        cases = plan(experiment)
        like = run_case(cases[0])
        given = ("claimed", "verdict", "bound_source")
        with monkeypatch.context() as patch:
            patch.setattr("os.fsync", lambda _: None)
            ids = [case.run_id for case in cases]
            store = Store.open(tmp_path / "out", experiment.text, ids)
            for place, case in enumerate(cases):
                own = {k: v for k, v in blank_record(case).items() if v is not None}
                own |= {k: like.record[k] for k in given} | {"problem_hash": case.problem_id}
                own |= {"family_hash": case.problem_id, "time_solve": 1e-3 * (1 + place % 7)}
                store.append(replace(like, record=like.record | own, trace=[], model={}))
            store.close()
        return file

    return _recorded


@pytest.fixture
def opened(monkeypatch):
    """The names of the files that were opened through pathlib."""
    names, really = [], io.open

    def noted(file, *arguments, **options):
        names.append(getattr(file, "name", ""))
        return really(file, *arguments, **options)

    monkeypatch.setattr(io, "open", noted)
    return names


def test_a_command_reads_the_log_once(command, recorded, opened):
    file = recorded(1, [0.5])
    for arguments in (
        ["report", "out"],
        ["plot", "out"],
        ["run", file, "--out", "out", "--resume"],
    ):
        opened.clear()
        assert command(*arguments).exit_code == 0
        assert opened.count("runs.jsonl") == 1


@pytest.mark.exhaustive
@pytest.mark.parametrize("repetitions", [1, 5])
def test_ten_thousand_runs_are_read_in_seconds(command, recorded, repetitions):
    """In seconds of CPU time, as the machine may be busy; half of the wall time that it would take."""
    file = recorded(repetitions, range(1, 1 + 50 // repetitions))
    limits = {("report", "out"): 20, ("run", file, "--out", "out", "--resume"): 5}
    load_results("out")  # imports what it needs
    begun = time.process_time()
    assert len(load_results("out")) == 10_000
    assert time.process_time() - begun < 1
    for arguments, limit in limits.items():
        begun = time.process_time()
        done = command(*arguments)
        assert done.exit_code == 0, done.output
        assert time.process_time() - begun < limit
