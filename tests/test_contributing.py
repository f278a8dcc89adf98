"""The steps that CONTRIBUTING gives a newcomer, taken in a copy of the repository."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from tests.shown import GUIDE, GUIDES_SOLVER, ROOT

COMMANDS = [
    shlex.split(line, comments=True) for line in re.findall(r"^\$ (.*)", GUIDE, re.MULTILINE)
]
PYTHON = [sys.executable, "-m"]
PROGRAMS = {  # of the virtual environment, as this one runs them
    ".venv/bin/dualgap": [*PYTHON, "dualgap.experiments.cli"],
    ".venv/bin/python": [sys.executable],
    ".venv/bin/ruff": [*PYTHON, "ruff"],
}
CONCERNED = [
    "tests/experiments/plots/test_solver_styles.py",
    "tests/test_dualgap.py",
    "tests/experiments/test_docs.py",
    "tests/test_imports.py",
]  # other tests that see every solver
DRAWN = np.random.default_rng(10).choice([*"abcdefghijklmnopqrstuvwxyz"], (3, 2, 5))
NAMES = ["_".join("".join(word) for word in words) for words in DRAWN.tolist()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """Write the example into a copy of what git tracks, under other names; run commands there."""
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
    for name in NAMES:
        code = GUIDES_SOLVER.replace("FixedStep", name.title().replace("_", ""))
        (folder / "solvers" / f"{name}.py").write_text(code, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(folder / ".packaging")}

    def _run(arguments):
        command = [*PROGRAMS[arguments[0]], *arguments[1:]]
        result = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return result.returncode, result.stdout, result.stdout + result.stderr

    return _run


def step(*words):
    """Return the one command of the guide that has these words."""
    (match,) = [command for command in COMMANDS if set(words) <= set(command)]
    return match


def test_the_generated_file_passes_the_linter(clone):
    for options in (["check"], ["format", "--check"]):
        code, _, output = clone(
            [*step(".venv/bin/ruff")[:1], *options, *(f"solvers/{n}.py" for n in NAMES)]
        )
        assert code == 0, output


@pytest.mark.exhaustive
def test_a_new_solver_passes_the_tests_under_any_name(clone):
    command = [part.replace("fixed_step", " or ".join(NAMES)) for part in step("pytest", "-k")]
    code, _, output = clone([*command, "-q", "-p", "no:cacheprovider"])
    assert code == 0, output
    assert int(re.findall(r"(\d+) passed", output)[-1]) > 18 * len(NAMES), output
    code, _, output = clone([*step("pytest", "-k")[:3], "-q", "-p", "no:cacheprovider", *CONCERNED])
    assert code == 0, output


@pytest.mark.exhaustive
def test_an_experiment_uses_a_new_solver(clone):
    code, _, output = clone(step("run", "--dry-run"))
    assert code == 0, output
    listed = clone([".venv/bin/dualgap", "list", "solvers"])[1]
    assert all(name in listed for name in NAMES)


@pytest.mark.exhaustive
def test_a_new_solver_conforms(clone):
    command = [part.replace("fixed_step", NAMES[0]) for part in step("selftest")]
    output = clone(command)[2]
    counted = Counter(re.findall(r" (passed|failed|unsupported) *$", output, re.MULTILINE))
    sentences = " ".join(output.split())
    assert counted["failed"] <= sentences.count(": killed after "), output
    starved = " were not tried, as " in sentences  # on a busy machine, whose time ran out
    assert counted["passed"] > (0 if starved else 20), output
