"""`dualgap verify` and `dualgap selftest` of a student's SMO: its fault is named once."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import load_results
from experiments.selftest import PROPERTIES, Limits
from experiments.selftest.bench import Bench, load
from experiments.selftest.outcome import Report
from experiments.selftest.report import to_terminal
from experiments.store.folder import load_diagnoses
from solvers import SOLVERS

STUDENT = Path(__file__).parents[2] / "zoo" / "student_smo.py"
BUGS = ["WrongEnds", "OneEnds", "SwappedEnds", "SwappedClip", "WrongCurvature", "ForgottenPartner"]
BUGS += ["WrongBias", "FrozenBias", "StaleErrors", "NeverRefreshed"]
EXPERIMENT = """
name: small
problems:
  - formulation: soft_margin_dual
    dataset: {name: two_moons, n: 40, noise: 0.2}
    kernel: {name: rbf, gamma: 1}
    C: [1, 100]
  - formulation: soft_margin_dual
    dataset: {name: two_gaussians, n: 30, d: 3, distance: 2}
    C: [0.1, 1]
solvers: [cvxopt_qp, cvxpy_qp, {name: smo, tol: 1e-8}]
trace: false
time_limit: 1
"""


@pytest.fixture
def verified(command, write, in_process):
    """Run `dualgap verify` with a student's solver; return the exit code and the text on one line."""

    def _verified(name, *options):
        result = command("verify", write(EXPERIMENT), "--solver", f"{STUDENT}:{name}", *options)
        assert result.exit_code in (0, 1), result.output
        return result.exit_code, " ".join(result.output.split())

    return _verified


@pytest.mark.parametrize("name", BUGS)
def test_the_step_of_a_students_fault_is_named_in_one_diagnosis(name, verified):
    student = SOLVERS.find(f"{STUDENT}:{name}")
    code, text = verified(name)
    assert code == 1
    assert text.count("Diagnosis of ") == 1
    diagnosis = text[text.index("Diagnosis of ") :]
    assert f"student_smo.py:{name}" in diagnosis
    assert f", {student.condition}: " in diagnosis
    assert student.words in diagnosis


def test_a_right_student_has_no_diagnosis_and_passes_within_the_tolerance(verified):
    code, text = verified("Student")
    assert code == 1
    assert "(3 inaccurate)" in text
    assert "wrong" not in text
    assert "Diagnosis" not in text
    assert verified("Student", "--tolerance", "1e-1")[0] == 0


def test_only_the_worst_problems_of_a_failure_are_shown_and_each_has_its_verdict(
    command, write, in_process
):
    many = EXPERIMENT.replace("C: [1, 100]", "C: [1, 2, 3, 4, 5, 6]")
    result = command("verify", write(many), "--solver", f"{STUDENT}:SwappedEnds")
    differences, _, counts = result.output.partition("worst difference")
    shown = differences[differences.index("Difference to the QP optimum") :]
    assert shown.count("soft_margin_dual") == shown.count("wrong") == 5
    text = " ".join(counts.split())
    assert "FAILED in 8 runs of" in text
    assert "(8 wrong)" in text
    assert "3 more problems have failed runs." in differences


def test_what_is_wrong_is_recorded_with_the_run(verified, tmp_path):
    verified("ForgottenPartner", "--out", str(tmp_path / "runs"))
    results = load_results(tmp_path / "runs").set_index("solver")
    students = results[results.index.str.endswith("ForgottenPartner")]
    assert students["reason"].str.contains(r"off its constraints by .* \(Σαᵢyᵢ must be 0\)").all()
    found = load_diagnoses(tmp_path / "runs")
    assert set(found) == set(students["run_id"])
    assert {diagnosis["condition"] for diagnosis in found.values()} == {"equality"}
    assert "off its constraints by" in (tmp_path / "runs" / "summary.md").read_text()
    assert "Diagnosis of" in (tmp_path / "runs" / "verification.md").read_text()


def tried(name: str) -> Report:
    """Try the first problems of two properties in this process."""
    bench = Bench(load(f"{STUDENT}:{name}"), Limits(solving=0.5))
    chosen = [item for item in PROPERTIES if item.name in ("claims", "sign")]
    outcomes = [bench.check(replace(p, problems=p.problems[:3]), {}, str) for p in chosen]
    return Report(name, tuple(outcomes))


@pytest.mark.parametrize("name", BUGS)
def test_the_selftest_names_it_too(name):
    report = tried(name)
    assert report.failed
    *_, diagnosis, verdict = map(str, to_terminal(report).renderables)
    assert diagnosis.startswith("Diagnosis, from ")
    assert SOLVERS.find(f"{STUDENT}:{name}").words in diagnosis
    assert "does not conform" in verdict


def test_the_selftest_finds_nothing_wrong_with_a_right_student():
    report = tried("Student")
    assert report.passed, report.sentences
    assert "Diagnosis" not in str(list(map(str, to_terminal(report).renderables)))
