"""Two commands at once on one folder lose no row and double none, and whichever is refused says so.

Each command is a fork of this process, whose operations on the disk are delayed at random, so that every
order of two operations comes up. Runs are made up: each has a time that no other run has.
"""

import os
import random
import shutil
import sys
import time
from itertools import count
from pathlib import Path

import pytest
from tests.experiments import rows
from tests.experiments.functions import in_this_process, posing
from tests.experiments.store.test_sequences import BESIDE

from dualgap.experiments.cases.records import Outcome, blank_record
from dualgap.experiments.cli import main
from dualgap.experiments.store import disk
from dualgap.experiments.store.reading import RunFolder

FILE, SMALL, GROWN = "small.yaml", {(1.0, "smo"), (2.0, "smo")}, {(4.0, "smo")}
COMMANDS = {  # by what they do; {out} is a new folder of a command, or one for both
    "run": ["run", FILE, "--out", "x", "--resume"],
    "extend": ["run", FILE, "--set", "C=4", "--out", "x", "--resume"],
    "rerun": ["run", "x", "--out", "x", "--rerun", "solver:smo"],
    "merge": ["merge", "x", "y", "--out", "{out}"],
    "archive": ["archive", "x", "--out", "{out}.zip"],
    "report": ["report", "x"],
}
REFUSED = "another process is", "by another command", "exists already", "runs are missing"
LONGEST_DELAY_S = 0.004  # an operation on the disk takes about a tenth of it


class Delaying:
    """Stands for `os` in `disk`, each of whose operations begins after a random delay."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def __getattr__(self, name):
        time.sleep(self.draw.random() * LONGEST_DELAY_S)
        return getattr(os, name)


def fabricated_run(numbers):
    def run(case):
        columns = {key: value for key, value in blank_record(case).items() if value is not None}
        columns |= {"claimed": "optimal", "verdict": "solved"}
        return Outcome(rows.run() | columns | {"time_solve": 1e6 * os.getpid() + next(numbers)}, [])

    return run


def start(arguments, seed, log):
    """Run a command in a fork, with its output in a file; return the process."""
    if pid := os.fork():
        return pid
    code = 70
    try:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        disk.os = Delaying(seed)
        main(arguments)
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def both(names, seed, same_out):
    """Run two commands at once; return by name and place the exit code and the output of each."""
    outs = ["out", "out"] if same_out else ["out0", "out1"]
    logs = [Path(f"log{i}") for i in range(2)]
    started = [
        start([word.format(out=out) for word in COMMANDS[name]], 2 * seed + i, logs[i])
        for i, (name, out) in enumerate(zip(names, outs, strict=True))
    ]
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started]
    return [(code, log.read_text()) for code, log in zip(codes, logs, strict=True)]


def times_of(folder):
    table = RunFolder(folder).results
    pairs = list(zip(table["C"], table["solver"], strict=True))
    assert len(pairs) == len(set(pairs))
    return dict(zip(pairs, table["time_solve"], strict=True))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders of runs, x and y, which commands find in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dualgap.experiments.report.report", lambda folder: f"{times_of(folder)}")
    for name, value in BESIDE.items():
        monkeypatch.setattr(f"dualgap.experiments.{name}", lambda *_, value=value: value)
    Path(FILE).write_text(posing(C=[1, 2], solvers=["smo"]))
    Path("other.yaml").write_text(posing(C=[8], solvers=["smo"]))
    with in_this_process(fabricated_run(count())):
        for file, folder in ((FILE, "x"), ("other.yaml", "y")):
            with pytest.raises(SystemExit):
                main(["run", file, "--out", folder, "--quiet"])
        yield


def check_pair(names, seed):
    shutil.copytree("x", "kept")
    before = times_of("x")
    results = both(names, seed, same_out=seed % 2 == 1)
    for name, (code, output) in zip(names, results, strict=True):
        assert "Traceback" not in output, output
        assert code in (0, 2), output
        assert code == 0 or any(why in output for why in REFUSED), output
        assert code == 0 or name != "report", output
    succeeded = {name for name, (code, _) in zip(names, results, strict=True) if code == 0}
    after = times_of("x")
    assert after.keys() == before.keys() | (GROWN if "extend" in succeeded else set())
    same = before.items() & after.items()
    assert len(same) == (0 if "rerun" in succeeded else len(before))
    tables = {line.split(",")[0] for line in Path("x/runs.csv").read_text().splitlines()[1:]}
    assert tables == set(RunFolder("x").lines)  # whichever wrote them last
    if "merge" in succeeded:
        merged = [out for out in ("out", "out0", "out1") if Path(out).is_dir()]
        assert len(merged) == [
            code for n, (code, _) in zip(names, results, strict=True) if n == "merge"
        ].count(0)
        for out in merged:
            times = times_of(out)
            assert times.keys() >= before.keys() | {(8.0, "smo")}
            assert times.items() <= before.items() | after.items() | times_of("y").items()
    shutil.rmtree("x")
    shutil.move("kept", "x")
    for leftover in Path().glob("out*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    assert not list(Path().glob(".*"))


PAIRS = [(a, b) for i, a in enumerate(COMMANDS) for b in [*COMMANDS][i:]]


@pytest.mark.usefixtures("folders")
@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(4, 104), marks=pytest.mark.exhaustive)], ids=str
)
def test_two_commands_at_once_lose_and_double_no_row(seeds):
    for seed in seeds:
        names = PAIRS[seed * 5 % len(PAIRS)]
        try:
            check_pair(names, seed)
        except BaseException as error:
            raise AssertionError(f"seed {seed}: {' and '.join(names)}") from error
