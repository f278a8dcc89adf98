"""Any program as a solver: real ones where they are there, a small one in C, and broken ones."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from tests.halves import quick_cases
from tests.small_problems import SPARSE, TARGETS, X, Y

from dualgap.problems import RBF, ConvexQP, NuSVC, SoftMarginDual, SoftMarginPrimal, SVRDual
from dualgap.problems.exchange.samples import write_qps
from dualgap.solvers import SMO, Program, Status, solve

KERNEL = SoftMarginDual(X, Y, 2.0, RBF(0.3))
FLIPPED = replace(KERNEL, y=-Y)  # the first sample has another label
LINEAR = SoftMarginPrimal(X, Y, 0.5, intercept=False)
HERE = Path(__file__).parent
PYTHON = f"{sys.executable} -c"
SVM_TRAIN = "svm-train -s 0 -t 2 -c {C} -g {kernel.gamma} -e {tol} {samples} {answer}"
BY_E1071 = "Rscript {folder}/e1071_svm.R {samples} {answer} {C} {kernel.gamma} {tol}"
BY_KERNLAB = "Rscript {folder}/kernlab_ksvm.R {samples} {answer} {C} {kernel.gamma} {tol}"
BY_OCTAVE = "octave-cli -qf {folder}/octave_qp.m {samples} {answer}"
SCRIPTS = str(HERE.parents[2] / "experiments/configs/programs")
REAL = [
    (KERNEL, Program(SVM_TRAIN, tol=1e-6, claims="optimization finished")),
    (replace(KERNEL, X=SPARSE), Program(SVM_TRAIN, tol=1e-6, claims="optimization finished")),
    (
        SVRDual(X, TARGETS, 1.0, 0.1, RBF(0.3)),
        Program(SVM_TRAIN.replace("-s 0", "-s 3 -p {epsilon}"), tol=1e-6),
    ),
    (
        LINEAR,
        Program(
            "liblinear-train -s 3 -c {C} -e {tol} {samples} {answer}",
            answer="liblinear_model",
            tol=1e-8,
        ),
    ),
    (KERNEL, Program(BY_E1071, "csv", "csv", tol=1e-6, folder=SCRIPTS)),
    (FLIPPED, Program(BY_E1071, "csv", "csv", tol=1e-6, folder=SCRIPTS)),
    (KERNEL, Program(BY_KERNLAB, "csv", "csv", tol=1e-6, folder=SCRIPTS)),
    (FLIPPED, Program(BY_KERNLAB, "csv", "csv", tol=1e-6, folder=SCRIPTS)),
    (FLIPPED, Program(SVM_TRAIN, tol=1e-6)),
    (
        KERNEL,
        Program(BY_OCTAVE, "qp_mat", "mat", folder=SCRIPTS),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("problem", "program"), quick_cases(REAL, REAL[::3]), ids=lambda each: type(each).__name__
)
def test_a_real_program_is_certified(problem, program):
    name = program.command.split()[0]
    if shutil.which(name) is None:
        pytest.skip(f"{name} is no program on this machine")
    solution = solve(problem, program, target_gap=1e-4)
    assert solution.verdict == "solved", solution.reason
    assert solution.claimed == ("optimal" if program.claims else "stopped")
    assert 0 < solution.counters["time_startup"] < 60


C_CODE = (HERE / "descent.c").read_text()


def test_a_program_in_c_is_a_solver(tmp_path):
    assert len(C_CODE.splitlines()) <= 60
    (tmp_path / "descent.c").write_text(C_CODE)
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("cc is no program on this machine")
    subprocess.run([compiler, "-O2", "descent.c", "-o", "descent", "-lm"], cwd=tmp_path, check=True)
    program = Program(
        "{folder}/descent {samples} {answer} {C} {n} {d}",
        "csv",
        "csv",
        claims="violation",
        time="seconds ([0-9.]+)",
        version="{folder}/descent",
        folder=str(tmp_path),
    )
    solution = solve(LINEAR, program)
    assert solution.verdict == "solved"
    assert solution.claimed == "optimal"
    assert solution.version == "descent 1.0"
    assert solution.counters["time_reported"] <= solution.time_solve


BY_SIGNS = """
import sys, numpy as np, scipy
given = scipy.io.loadmat(sys.argv[1])
assert (given["P"] != scipy.sparse.eye(given["q"].size)).nnz == 0
np.savez(sys.argv[2], x=np.maximum(-given["q"], given["lb"]))
print("optimal")
"""


def test_a_program_is_a_solver_of_any_convex_qp(tmp_path):
    (tmp_path / "by_signs.py").write_text(BY_SIGNS)
    line = f"{sys.executable} {{folder}}/by_signs.py {{samples}} {{answer}}"
    program = Program(line, "qp_mat", "npz", claims="optimal", folder=str(tmp_path))
    problem = ConvexQP(P=np.eye(3), q=[1.0, 0.0, -1 / 3], lb=[-np.inf, 0.25, 0.0])
    solution = solve(problem, program)
    assert solution.verdict == "solved", solution.reason
    assert solution.claimed == "optimal"
    assert 0 < solution.counters["time_startup"] < 60
    refused = solve(problem, replace(program, samples="csv"))
    assert refused.status is Status.UNSUPPORTED
    assert "no samples to write as csv" in refused.note


def script(code):
    return Program(f'{PYTHON} "import os, sys, time; {code}" {{samples}} {{answer}}', answer="csv")


BROKEN = {
    "no answer": ("pass", "wrote no answer: expected csv in {answer}"),
    "fails": ("print('bad luck'); sys.exit(3)", "exit code 3; its last output: 'bad luck'"),
    "killed": ("os.kill(os.getpid(), 11)", "was killed by SIGSEGV"),
    "torn": ("open(sys.argv[2], 'w').write('alpha\\n1\\n')", "alpha: has 1 entries, expected 42"),
    "NaN": ("open(sys.argv[2], 'w').write('alpha\\n' + 'nan\\n' * 42)", "must be a finite number"),
    "no columns": ("open(sys.argv[2], 'w').write('hello')", "read as csv: answer.csv: "),
    "a pipe": ("os.mkfifo(sys.argv[2])", "must be a regular file"),
    "endless": ("os.symlink('/dev/zero', sys.argv[2])", "must be a regular file"),
    "a folder": ("os.mkdir(sys.argv[2])", "must be a regular file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_an_invalid_answer_of_a_program_is_reported(name):
    code, message = BROKEN[name]
    with pytest.raises(RuntimeError) as error:
        solve(KERNEL, script(code))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "code",
    [
        "open('one', 'wb').write(bytes(9_000_000))",
        "[open(str(i), 'wb').write(bytes(900_000)) for i in range(99)]; time.sleep(9)",
    ],
)
def test_the_output_of_a_program_is_limited(code):
    with pytest.raises(RuntimeError, match=r"disk_limit|File too large"):
        solve(KERNEL, replace(script(code), disk_limit=1e6))


def test_descendants_of_a_program_are_killed_with_it():
    code = "[os.spawnlp(os.P_NOWAIT, 'sleep', 'sleep', '86399') for i in range(3)]; time.sleep(0.4)"
    with pytest.raises(RuntimeError, match="wrote no answer"):
        solve(KERNEL, script(code))
    commands = [p.info["cmdline"] or [] for p in psutil.process_iter(["cmdline"])]
    assert not any("86399" in words for words in commands)


@pytest.mark.exhaustive
def test_a_time_limit_ends_a_program():
    solution = solve(KERNEL, Program("sleep 86398"), time_limit=0.2)
    assert solution.status is Status.TIME_LIMIT
    assert solution.time_solve < 60


def test_a_program_leaves_no_files_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for program in (script("open('more', 'w')"), script("os.mkdir('a')"), Program("nowhere {tol}")):
        with suppress(RuntimeError):
            assert solve(KERNEL, program).status is Status.NOT_INSTALLED
    assert [*tmp_path.iterdir()] == []


def test_arguments_are_not_interpreted_by_a_shell(tmp_path):
    program = Program(
        f'{PYTHON} "import sys; sys.exit(str(sys.argv[1:]))" "$HOME; {{C}}" {{{{x}}}}'
    )
    with pytest.raises(RuntimeError) as error:
        solve(KERNEL, program)
    assert "['$HOME; 2.0', '{x}']" in str(error.value)


def test_digits_lost_in_text_are_in_the_reason(tmp_path):
    exact = solve(KERNEL, SMO(tol=1e-9)).alpha
    np.savetxt(tmp_path / "known.csv", exact, "%.8g", header="alpha", comments="")
    program = Program("cp {folder}/known.csv {answer}", answer="csv", folder=str(tmp_path))
    assert "its answer has only 8 of the 17 digits of a double" in solve(KERNEL, program).reason


def test_a_problem_that_the_entry_does_not_take_is_unsupported():
    weights = np.linspace(1, 2, Y.size)
    for problem, program, reason in [
        (KERNEL, Program("x", takes={"kernel": ["linear"]}), "takes kernel linear only, not rbf"),
        (KERNEL, Program("x", takes={"intercept": [False]}), "takes intercept False only"),
        (KERNEL, Program("x {lam}"), "has {lam}, which has no single value for this problem"),
        (replace(KERNEL, C=weights), Program("x {C}"), "has {C}, which"),
        (NuSVC(X, Y, 0.3, RBF(0.3)), Program("x {epsilon}"), "has {epsilon}, which"),
    ]:
        solution = solve(problem, program)
        assert solution.status is Status.UNSUPPORTED
        assert reason in solution.note


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"command": "a {gama}"}, "command: unknown placeholder 'gama'; did you mean"),
        ({"command": "a {} {answer}"}, "command: unknown placeholder ''; accepted are"),
        ({"command": " "}, "command: must name a program"),
        ({"command": "a 'b"}, "command: No closing quotation"),
        ({"command": "a", "version": "{x}"}, "version: unknown placeholder 'x'"),
        ({"command": "a", "claims": "("}, "claims: must be a regular expression"),
        ({"command": "a", "time": "b"}, r"time: must have one group \(...\) around the seconds"),
        ({"command": "a", "tol": 0.1}, "tol: is not used; write {tol}"),
        ({"command": "a", "takes": {"kernl": []}}, "takes: unknown part of a problem 'kernl'; did"),
        ({"command": "a", "samples": "txt"}, "samples: must be one of libsvm, npz, csv, mat"),
        ({"command": "a", "answer": "txt"}, "answer: must be one of libsvm_model"),
        ({"command": "a", "disk_limit": 0}, "disk_limit"),
    ],
)
def test_a_setting_of_a_program_that_is_wrong_is_named(settings, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        Program(**settings)


def test_qps_is_the_dual_with_all_digits(tmp_path):
    highspy = pytest.importorskip("highspy", reason="highspy is not installed")
    write_qps(KERNEL, tmp_path / "p.qps")
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    os.link(tmp_path / "p.qps", tmp_path / "p.mps")
    assert solver.readModel(str(tmp_path / "p.mps")) == highspy.HighsStatus.kOk
    solver.run()
    exact = solve(KERNEL, SMO(tol=1e-9)).certificate
    assert solver.getInfo().objective_function_value == pytest.approx(-exact.dual_objective, 1e-5)
