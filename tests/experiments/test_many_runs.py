"""A folder of many small runs: each command reads it once, and in seconds."""

import io
import shutil
import sys
from dataclasses import replace

import pytest
from tests.experiments.functions import in_this_process, posing, run_case

from dualgap.experiments import load_results
from dualgap.experiments.cases.records import blank_record

SMO = "{name: smo, tol: [1e-1, 1e-3, 1e-6]}"
MANY = {"C": [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100], "seeds": [1, 2, 3, 4]}


@pytest.fixture
def recorded(command, write):
    """Record every run of an experiment with the answer of one run; return its file."""

    def _recorded(repetitions=1, gammas=(0.5,), C=(1, 2), seeds=(1,)):
        data = {"name": "two_gaussians", "n": 50, "seed": seeds}
        kernel = {"name": "rbf", "gamma": gammas}
        solvers = [SMO, "{name: simplified_smo, tol: [1e-3, 1e-6]}"]
        head = {"trace": False, "repetitions": repetitions, "solvers": solvers}
        file = write(posing(dataset=data, kernel=kernel, C=C, **head))
        like = []

        def run(case):
            like.append(like[0] if like else run_case(case))
            row = {key: value for key, value in blank_record(case).items() if value is not None}
            row |= {key: like[0].record[key] for key in ("claimed", "verdict", "bound_source")}
            row |= {"problem_hash": case.problem_id, "family_hash": case.problem_id}
            row["time_solve"] = 1e-3 * (1 + len(like) % 7)
            return replace(like[0], record=like[0].record | row, trace=[], model={})

        with in_this_process(run):
            command("run", file, "--out", "out")
        return file

    return _recorded


@pytest.fixture
def opened(monkeypatch):
    """The paths of the files that were opened through pathlib."""
    names, really = [], io.open

    def noted(file, *arguments, **options):
        names.append(str(file))
        return really(file, *arguments, **options)

    monkeypatch.setattr(io, "open", noted)
    return names


@pytest.mark.exhaustive
def test_a_command_reads_each_log_once(command, recorded, opened):
    file = recorded()
    for arguments in (
        ["report", "out"],
        ["plot", "out"],
        ["run", file, "--out", "out", "--resume"],
    ):
        opened.clear()
        command(*arguments)
        logs = [path for path in opened if path.endswith("runs.jsonl")]
        assert len(logs) == len(set(logs)) > 0


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
def test_the_number_of_calls_per_further_run_is_bounded(command, recorded, repetitions):
    """Calls are counted, not seconds, which are those of one machine: a thousand take some 0.1 ms."""
    limits = {"load_results": 100, "report": 4000, "resume": 2000}
    spent = []
    for gammas in (1, 3):
        file = recorded(repetitions, list(range(1, 1 + gammas)), **MANY)
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
    one, three = spent
    for name, limit in limits.items():
        assert (three[name] - one[name]) / (three["runs"] - one["runs"]) < limit, name
