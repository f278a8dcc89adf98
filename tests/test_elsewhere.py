"""The library and the runner without what only POSIX has, as it is on Windows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.experiments.functions import posing
from tests.sources import FILES

from dualgap.experiments import load_results

SCRIPTS = ("dualgap.experiments.gallery", "dualgap.experiments.docs")  # they draw when imported
MODULES = [name for name in FILES if not name.startswith(SCRIPTS)]


def test_modules_are_imported_without_posix():
    code = (
        f"import importlib, tests.elsewhere\nfor name in {MODULES}: importlib.import_module(name)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.exhaustive
@pytest.mark.parametrize("tests", ["external/test_program.py", "near_rows", "running"])
def test_tests_of_solvers_pass_without_posix(tests):
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider"]
    command += ["-p", "tests.elsewhere", f"tests/solvers/{tests}"]
    subprocess.run(command, check=True, timeout=600)


SOLVERS = """
import os, sys, time
import numpy as np
from dualgap import SMO

class Prints(SMO):
    def iterates(self, form):
        print("x" * 10**6)
        yield from super().iterates(form)

class Raises(SMO):
    def iterates(self, form):
        raise RuntimeError("no")

class Exits(SMO):
    def iterates(self, form):
        os._exit(3)

class Aborts(SMO):
    def iterates(self, form):
        os.abort()

class Hangs(SMO):
    def iterates(self, form):
        time.sleep(600)

class Takes(SMO):
    def iterates(self, form):
        x = np.ones(2**26)
        time.sleep(600)
"""
ENDS = {  # the status of each, and what the reason says
    "Prints": ("finished", ""),
    "Raises": ("crashed", "RuntimeError: no"),
    "Exits": ("crashed", "exit code 3"),
    "Aborts": ("crashed", "SIGABRT"),
    "Hangs": ("time_limit", "ignored its time limit"),
    "Takes": ("out_of_memory", "memory_limit"),
}


@pytest.mark.exhaustive
def test_runs_survive_every_kind_of_fault_without_posix(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import tests.elsewhere\n")
    (tmp_path / "solvers.py").write_text(SOLVERS)
    solvers = ["smo", *(f"'solvers.py:{name}'" for name in ENDS)]
    text = posing(solvers=solvers, C=1, time_limit=5, memory_limit="400MiB")
    (tmp_path / "all.yaml").write_text(text)
    root = Path(__file__).parents[1]
    path = os.pathsep.join(map(str, (tmp_path, root, root / ".packaging")))
    command = [sys.executable, "-m", "dualgap.experiments.cli", "run", "all.yaml", "--out", "x"]
    environment = os.environ | {"PYTHONPATH": path}
    ended = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    rows = load_results(tmp_path / "x").set_index("solver")
    assert len(rows) == len(solvers), ended.stderr
    assert rows.loc["smo", "verdict"] == "solved"
    for name, (status, reason) in ENDS.items():
        row = rows.loc[f"solvers.py:{name}"]
        assert row["status"] == status, row["reason"]
        assert reason in row["reason"]
