"""A folder of many small runs: each command reads it once, and in seconds."""

from __future__ import annotations

import io
import shutil
import sys
from dataclasses import replace

import pytest

from experiments import load_results
from experiments.cases.plan import plan
from experiments.cases.records import blank_record
from experiments.files.experiment import read_experiment
from experiments.store.folder import Store
from tests.experiments.functions import run_case

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


def calls_of(do):
    """Return how many functions `do` calls, those written in C included."""
    count = 0

    def noted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(noted)
    try:
        do()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.exhaustive
@pytest.mark.parametrize("repetitions", [1, 5])
def test_each_further_run_costs_few_calls(command, recorded, repetitions):
    """Calls are counted, not seconds, which are those of one machine: a thousand take some 0.1 ms."""
    limits = {"load_results": 60, "report": 4000, "resume": 2000}
    spent = []
    for gammas in (1, 3):
        file = recorded(repetitions, range(1, 1 + gammas))
        commands = {
            "load_results": lambda: load_results("out"),
            "report": lambda: command("report", "out"),
            "resume": lambda file=file: command("run", file, "--out", "out", "--resume"),
        }
        for do in commands.values():
            do()  # imports what it needs
        spent.append({"runs": len(load_results("out"))})
        spent[-1] |= {name: calls_of(do) for name, do in commands.items()}
        shutil.rmtree("out")
    few, many = spent
    for name, limit in limits.items():
        assert (many[name] - few[name]) / (many["runs"] - few["runs"]) < limit, name
