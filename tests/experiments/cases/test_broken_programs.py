"""Programs that break in ways drawn at random: each is one row, and nothing of it is left."""

import os
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy.io import savemat
from tests.experiments.functions import run_case

from dualgap.experiments.cases.plan import RunKey
from dualgap.experiments.cases.solving import load_problem
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.files.specs import SolverSpec
from dualgap.experiments.records.columns import COLUMNS
from dualgap.solvers import SMO, solve
from dualgap.solvers.external.program.child import Child

SCRIPT = Path(__file__).parents[2] / "solvers/external/broken_program.py"
MARK = str(10**8 + os.getpid())  # seconds
# what does not keep a good answer from being read
HARMLESS = "child session orphan deaf bare writing flood bytes locked unread silent"
HARMFUL = "file sparse deleted files many nested homeless"
NO_ANSWERS = "nan inf large negative zero short long endless junk empty words folder pipe zeros "
NO_ANSWERS += "nowhere other closed none"
ENDS = "0 0 0 0 0 0 0 0 0 0 3 255 raise wait print stop SIGKILL SIGSEGV SIGABRT SIGTERM SIGRTMIN"
ENDLESS = ("wait", "print", "stop")
NO_PROGRAMS = ["nowhere", "{folder}/closed", "{folder}/junk", "{folder}/lost", "{folder}", "''"]
FORMATS = {"csv": "csv", "npz": "npz", "mat": "mat", "libsvm_model": "model"}


@pytest.fixture
def folder(tmp_path, case):
    """A folder of good answers, and of what are no programs."""
    folder = tmp_path / "given"
    folder.mkdir()
    problem, _ = load_problem(case)
    alpha = solve(problem, SMO(tol=1e-9)).alpha
    np.savetxt(folder / "good.csv", alpha, header="alpha", comments="")
    np.savez(folder / "good.npz", alpha=alpha)
    savemat(folder / "good.mat", {"alpha": alpha})
    support = np.flatnonzero(alpha)
    lines = ["svm_type c_svc", "kernel_type rbf", f"gamma {problem.kernel.gamma}", "nr_class 2"]
    lines += [f"total_sv {support.size}", "rho 0", "label 1 -1", "SV"]
    for i in support:
        entries = " ".join(f"{j + 1}:{v:.8g}" for j, v in enumerate(problem.X[i]))
        lines.append(f"{alpha[i] * problem.y[i]:.17g} {entries}")
    (folder / "good.model").write_text("\n".join(lines) + "\n")
    for name, text in {"closed": "#!/bin/sh", "junk": "\0", "lost": "#!/nowhere/sh\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600 if name == "closed" else 0o700)
    return folder


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    """The only folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def case(case_of):
    return case_of()


def drawn(seed, case, folder, ceiling, alone):
    """Return a case of a broken program, which may have a process to itself, and whether it is good."""
    rng = random.Random(seed)
    kind, harmful = rng.choice([*FORMATS]), HARMFUL.split() + ["parricide"] * alone
    words = rng.choices([*HARMLESS.split(), *["hidden"] * alone], k=rng.choice([0, 1, 2]))
    words += rng.choices(harmful, k=rng.choice([0, 0, 0, 0, 1]))
    good, torn = (f"{name}={{folder}}/good.{FORMATS[kind]}" for name in ("good", "torn"))
    answer = rng.choice([good, good, good, torn, *rng.choices(NO_ANSWERS.split(), k=2)])
    end = rng.choice(ENDS.split())
    words = rng.choice([[answer, *words], [*words, answer]])
    is_good = answer in (good, torn) and end == "0" and not {*words} & {*harmful}
    command = (
        f"{sys.executable} -SI {SCRIPT} {{answer}} {{n}} {ceiling} {MARK} {' '.join([*words, end])}"
    )
    if rng.random() < 0.1:
        command, is_good = rng.choice(NO_PROGRAMS), False
    if is_good and answer == torn:
        is_good = None  # it may lack a few digits only, and is judged as it deserves
    settings = {
        "command": command,
        "answer": kind,
        "folder": str(folder),
        "disk_limit": ceiling / 4,
    }
    solver = SolverSpec("program", settings, label=f"{seed}")
    limit = 0.3 if end in ENDLESS else 60.0
    return replace(case, key=RunKey(f"{seed}"), solver=solver, time_limit=limit), is_good


def leftovers(folder):
    """Return what is left of programs: processes, and files in the folder."""
    procs = [p.info for p in psutil.process_iter(["cmdline", "status"])]
    running = [one["cmdline"] or [] for one in procs if one["status"] != "zombie"]
    return [command for command in running if MARK in command], [*folder.iterdir()]


def judge(record, case, is_good):
    context = case.solver.settings["command"], record["status"], record["verdict"], record["reason"]
    assert {*COLUMNS} <= {*record}, context
    assert record["status"] in ("finished", "crashed", "time_limit", "not_installed"), context
    assert is_good is None or (record["verdict"] == "solved") == is_good, context
    assert record["status"] == "finished" or record["reason"], context


@pytest.mark.exhaustive
def test_a_broken_program_is_one_row_and_leaves_no_process_or_file(case, folder, temporary_folder):
    n_solved = 0
    for seed in range(24):
        one, is_good = drawn(seed, case, folder, 4e6, alone=False)
        judge(record := run_case(one).record, one, is_good)
        n_solved += record["verdict"] == "solved"
        assert leftovers(temporary_folder) == ([], []), one.solver.settings["command"]
    assert n_solved > 1


@pytest.mark.exhaustive
def test_broken_programs_in_workers_are_one_row_each_and_leave_no_process_or_file(
    case, folder, temporary_folder
):
    cases = {}
    for seed in range(50):
        one, is_good = drawn(seed, case, folder, 4e6, alone=True)
        cases[one.run_id] = one, is_good
    outcomes = LocalExecutor(workers=2).run(one for one, _ in cases.values())
    rows = [outcome.record for outcome in outcomes]
    assert sorted(row["run_id"] for row in rows) == sorted(cases)
    for row in rows:
        judge(row, *cases[row["run_id"]])
    assert leftovers(temporary_folder) == ([], [])


@pytest.mark.exhaustive
def test_a_process_forked_during_the_listing_is_killed(tmp_path):
    """A fork in a fork whose parents have ended, as the program has: of 400 such, 12 were once left."""
    words = [sys.executable, "-SI", str(SCRIPT), "answer", "2", "4e6", MARK, "writing", "0"]
    for i in range(60):
        (folder := tmp_path / f"{i}").mkdir()
        child = Child(words, folder, 1e8)
        while not child.wait_for_end(1.0):
            pass
        child.end()
        assert leftovers(folder)[0] == []
