"""Runs, kills, extensions, reruns, merges and archives in any order lose no row and double none.

Every run that is executed has a time of its own, by which its row is known wherever it is later. A kill
is an exception that no command handles, raised by an operation on the disk and by all that follow.
"""

import os
import re
import shutil
from itertools import count, product
from pathlib import Path
from tempfile import mkdtemp

import pytest
from click.testing import CliRunner
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test
from tests.experiments import rows
from tests.experiments.functions import in_this_process, posing

from dualgap.experiments.cases.records import Outcome, blank_record
from dualgap.experiments.cli import main
from dualgap.experiments.store import disk
from dualgap.experiments.store.manifest import is_results_folder
from dualgap.experiments.store.reading import RunFolder

C, SOLVERS = (1.0, 2.0, 4.0), ("smo", "cvxopt_qp")
PARTS = st.tuples(
    st.lists(st.sampled_from(C), min_size=1, unique=True),
    st.lists(st.sampled_from(SOLVERS), min_size=1, unique=True),
)
KILLS = st.none() | st.integers(0, 80)  # the operation on the disk at which a command is killed
PLACES = st.integers(0, 10)  # of a folder among those there are


BESIDE = {  # what takes most of a command's time, and changes nothing of its rows
    "operations.conclusion.summarise": None,
    "operations.conclusion.to_markdown": "",
    "operations.conclusion.to_terminal": "",
    "operations.archive.summarise": None,
    "operations.archive.to_markdown": "",
    "operations.archive.distributions": [],
    "operations.archive.plot_all": [],
    "tables.summary.summarise": None,
    "tables.summary.to_markdown": "",
    "store.manifest.provenance": {},
}


class Killed(BaseException):
    """Ends a command as SIGKILL does: nothing it would still do is done."""


class Killing:
    """Stands for `os` in `disk`: its operations work until one is killed, in the middle if it writes."""

    def __init__(self, countdown):
        self.countdown = countdown

    def __getattr__(self, name):
        if name in ("open", "write", "replace", "unlink"):
            self.countdown -= 1
            if self.countdown < 0:
                return self._torn if self.countdown == -1 and name == "write" else self._killed
        return getattr(os, name)

    def _torn(self, file, data):
        os.write(file, data[: len(data) // 2])
        raise Killed

    def _killed(self, *arguments):
        raise Killed


class Folders(RuleBasedStateMachine):
    """Folders of runs, and the pairs of a C and a solver that each has to hold.

    Attributes
    ----------
    planned : the pairs of each folder. known : the times of those that it was last seen to have.
    begun : the command that began it. times : of all runs that were executed.
    """

    def __init__(self):
        super().__init__()
        self.home, self.numbers, self.times = Path(mkdtemp()), count(1), {}
        self.planned, self.times_of, self.command_of = {}, {}, {}
        self.file = self.home / "small.yaml"
        self.file.write_text(posing(C=list(C), solvers=list(SOLVERS)))
        self.patch = pytest.MonkeyPatch()
        for name, value in BESIDE.items():
            self.patch.setattr(f"dualgap.experiments.{name}", lambda *_, value=value: value)
        self.in_process = in_this_process(self.executed)
        self.in_process.__enter__()

    def teardown(self):
        for folder in self.planned:  # whatever has happened, each is completed from itself alone
            self.resume_one(folder)
        self.in_process.__exit__(None, None, None)
        self.patch.undo()
        shutil.rmtree(self.home)

    def executed(self, case):
        number = float(next(self.numbers))
        self.times.setdefault((case.problem.parameters["C"], case.solver.name), set()).add(number)
        columns = {key: value for key, value in blank_record(case).items() if value is not None}
        columns |= {"claimed": "optimal", "verdict": "solved", "time_solve": number}
        return Outcome(rows.run() | columns, [])

    def dualgap(self, *arguments, kill=None, code=0):
        """Run a command; return whether it came to its end, and what it said."""
        disk.os = os if kill is None else Killing(kill)
        try:
            result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        except Killed:
            return False, ""
        finally:
            disk.os = os
        assert result.exit_code == code, result.output
        return True, result.output

    def check_folder(self, folder, finished, again=(), plan=None):
        """Compare a folder with what it had before, and with the plan of a command that has ended."""
        now = {}
        if is_results_folder(folder):
            table = RunFolder(folder).results
            now = dict(
                zip(zip(table["C"], table["solver"], strict=True), table["time_solve"], strict=True)
            )
            assert len(now) == len(table)
        stable = {
            pair: time for pair, time in self.times_of[folder].items() if pair[1] not in again
        }
        assert stable.items() <= now.items()
        assert all(time in self.times[pair] for pair, time in now.items())
        assert now.keys() <= self.planned[folder]
        assert not finished or now.keys() >= (plan or self.planned[folder])
        self.times_of[folder] = now

    def new(self, planned):
        folder = self.home / f"folder{len(self.planned)}"
        self.planned[folder], self.times_of[folder] = set(planned), {}
        return folder

    def one(self, name_of):
        return [*self.planned][name_of % len(self.planned)]

    def options(self, part):
        Cs, solvers = part
        return [
            "--set",
            f"C={','.join(map(str, Cs))}",
            *(w for s in solvers for w in ("--solver", s)),
        ]

    @rule(part=PARTS, kill=KILLS)
    def run(self, part, kill):
        folder = self.new(product(*part))
        self.command_of[folder] = ["run", self.file, *self.options(part), "--out", folder]
        finished, _ = self.dualgap(*self.command_of[folder], kill=kill)
        self.check_folder(folder, finished)

    @precondition(lambda self: self.planned)
    @rule(name_of=PLACES, kill=KILLS)
    def resume(self, name_of, kill):
        self.resume_one(self.one(name_of), kill)

    def resume_one(self, folder, kill=None):
        itself = ["run", folder, "--out", folder]
        command = itself if is_results_folder(folder) else self.command_of[folder]
        finished, _ = self.dualgap(*command, "--resume", kill=kill)
        self.check_folder(folder, finished)

    @precondition(lambda self: self.planned)
    @rule(name_of=PLACES, part=PARTS, kill=KILLS)
    def extend(self, name_of, part, kill):
        folder, more = self.one(name_of), set(product(*part))
        before = self.planned[folder] if is_results_folder(folder) else set()
        extending = ["run", self.file, *self.options(part), "--out", folder]
        self.planned[folder] = before | more
        finished, _ = self.dualgap(*extending, "--resume", kill=kill)
        if not is_results_folder(folder):
            self.command_of[folder] = extending
        elif len(RunFolder(folder).manifest["run_ids"]) != len(before | more):
            self.planned[folder] = before  # killed before the plan was written
        self.check_folder(
            folder, finished, plan=more
        )  # what an earlier one lacks is left to --resume

    @precondition(lambda self: self.planned)
    @rule(name_of=PLACES, solver=st.sampled_from(SOLVERS), kill=KILLS)
    def rerun(self, name_of, solver, kill):
        folder = self.one(name_of)
        if not any(solver == other for _, other in self.planned[folder]) or not is_results_folder(
            folder
        ):
            return
        before = self.times_of[folder]
        finished, _ = self.dualgap(
            "run", folder, "--out", folder, "--rerun", f"solver:{solver}", kill=kill
        )
        self.check_folder(folder, finished, [solver])
        same = before.items() & self.times_of[folder].items()
        assert not (finished and any(other == solver for (_, other), _ in same))

    @precondition(lambda self: self.planned)
    @rule(places=st.lists(PLACES, min_size=2, max_size=3), kill=KILLS)
    def merge(self, places, kill):
        sources = [*dict.fromkeys(map(self.one, places))]
        if not all(is_results_folder(source) for source in sources):
            return
        pairs = [item for source in sources for item in self.times_of[source].items()]
        if len(dict(pairs)) < len(set(pairs)):
            _, output = self.dualgap("merge", *sources, "--out", self.home / "none", code=2)
            assert "differs from that in" in output
            assert not (self.home / "none").exists()
            return
        out = self.new(set().union(*(self.planned[source] for source in sources)))
        if not self.dualgap("merge", *sources, "--out", out, kill=kill)[0] and not out.exists():
            self.dualgap("merge", *sources, "--out", out)
        self.times_of[out] = dict(pairs)
        self.check_folder(out, finished=set(dict(pairs)) == self.planned[out])
        assert self.times_of[out] == dict(pairs)

    @precondition(lambda self: self.planned)
    @rule(name_of=PLACES)
    def archive(self, name_of):
        folder = self.one(name_of)
        if not is_results_folder(folder):
            return
        if self.times_of[folder].keys() != self.planned[folder]:
            self.dualgap("archive", folder, "--out", self.home / "none.zip", code=2)
            return
        archive = self.home / "archive.zip"
        self.dualgap("archive", folder, "--out", archive)
        again = self.new(self.planned[folder])
        _, output = self.dualgap("run", archive, "--check", "--out", again)
        _, _, counted = " ".join(output.split()).partition(
            "nothing became wrong, unsolved or broken: "
        )
        same = re.findall("([0-9]+) (?:slower|unclear|faster|same)", counted)
        assert sum(map(int, same)) == len(self.planned[folder])
        self.check_folder(again, finished=True)
        self.check_folder(folder, finished=True)


def sequences(examples, steps):
    profile = settings(max_examples=examples, stateful_step_count=steps)
    run_state_machine_as_test(Folders, settings=profile)


@pytest.mark.exhaustive
def test_2_sequences_of_commands_and_kills_lose_and_double_no_row():
    sequences(2, 5)


@pytest.mark.exhaustive
def test_no_sequence_of_commands_and_kills_loses_or_doubles_a_row():
    sequences(6, 8)
