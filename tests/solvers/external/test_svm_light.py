"""SVMlight's program: what it is given, and how its answer is read."""

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from problems import SoftMarginDual
from solvers import SMO, Status, SVMLight, solve
from tests.solvers.external.baseline_problems import KERNEL

FAKE = """#!{python}
import shutil, sys
arguments = sys.argv[1:]
open({folder!r} + "/arguments", "w").write("\\n".join(arguments))
shutil.copy(arguments[-2], {folder!r} + "/samples")
shutil.copy({folder!r} + "/known", arguments[arguments.index("-a") + 1])
print("Optimizing....done. (17 iterations)")
sys.exit({code})
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program `svm_learn` that answers with the file `known`, first on PATH."""
    return _install(tmp_path, monkeypatch, 0)


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> Path:
    program = folder / "svm_learn"
    program.write_text(FAKE.format(python=sys.executable, folder=str(folder), code=code))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    (folder / "known").write_text("0\n")
    return folder


def test_svm_light_reads_the_answer_of_the_program(fake: Path) -> None:
    problem = KERNEL["rbf, a C for each"]
    known = solve(problem, SMO(tol=1e-8)).alpha
    np.savetxt(fake / "known", problem.y * known, fmt="%.18g")

    solution = solve(problem, SVMLight(tol=1e-5))

    assert solution.iterations == 17
    assert solution.claimed == "optimal"
    assert solution.verdict == "solved"
    assert np.array_equal(solution.point.alpha, known)
    given = (fake / "arguments").read_text().split("\n")
    pairs = dict(zip(given[0::2], given[1::2], strict=False))
    wanted = {"-z": "c", "-c": "1.0", "-b": "1", "-t": "2", "-g": "0.3", "-e": "1e-05"}
    assert {key: pairs[key] for key in wanted} == wanted


def test_svm_light_writes_samples_labels_and_costs(fake: Path) -> None:
    n = KERNEL["linear"].n
    (fake / "known").write_text("0\n" * n)
    for problem in (KERNEL["rbf, a C for each"], KERNEL["polynomial, sparse"]):
        solve(problem, SVMLight())
        rows = [line.split() for line in (fake / "samples").read_text().splitlines()]
        read = np.zeros((n, 4))
        for i, row in enumerate(rows):
            for entry in row[1:]:
                name, value = entry.split(":")
                if name != "cost":
                    read[i, int(name) - 1] = float(value)
        costs = [float(e[5:]) for row in rows for e in row[1:] if e.startswith("cost:")]
        X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
        assert np.array_equal(read.astype(np.float32), X)
        assert [float(row[0]) for row in rows] == list(problem.y)
        assert costs == (list(problem.upper) if np.ptp(problem.upper) else [])


def test_svm_light_for_regression_has_the_starred_variables_in_reverse(fake: Path) -> None:
    problem = KERNEL["regression"]
    known = solve(problem, SMO(tol=1e-9)).alpha
    both = np.append(np.maximum(known, 0), np.minimum(known, 0)[::-1])
    np.savetxt(fake / "known", both, fmt="%.18g")
    solution = solve(problem, SVMLight())
    assert np.array_equal(solution.point.alpha, known)
    assert solution.verdict == "solved"


def test_svm_light_without_intercept_says_so_to_the_program(fake: Path) -> None:
    X, y = KERNEL["linear"].X, KERNEL["linear"].y
    (fake / "known").write_text("0\n" * y.size)
    solve(SoftMarginDual(X, y, 2.0, intercept=False), SVMLight())
    given = (fake / "arguments").read_text().split("\n")
    assert given[given.index("-b") + 1] == "0"
    assert given[given.index("-c") + 1] == "2.0"


def test_a_program_that_fails_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tmp_path, monkeypatch, 3)
    with pytest.raises(RuntimeError, match=r"ended with 3: Optimizing"):
        solve(KERNEL["linear"], SVMLight())


def test_an_absent_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    solution = solve(KERNEL["linear"], SVMLight())
    assert solution.status is Status.NOT_INSTALLED
    assert "https://svmlight.joachims.org" in solution.note
