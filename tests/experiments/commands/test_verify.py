"""`dualgap verify` and `dualgap selftest` of a student's SMO: its fault is named once."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.experiments.functions import in_this_process, run_case
from tests.halves import quick_cases

from dualgap.experiments import load_results
from dualgap.experiments.cli import main
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.selftest import PROPERTIES, Limits
from dualgap.experiments.selftest.bench import Bench, load
from dualgap.experiments.selftest.outcome import Report
from dualgap.experiments.selftest.report import to_terminal
from dualgap.experiments.store.reading import RunFolder
from dualgap.solvers import SOLVERS

STUDENT = Path(__file__).parents[2] / "zoo" / "student_smo.py"
BUGS = ["WrongEnds", "OneEnds", "SwappedEnds", "SwappedClip", "WrongCurvature", "ForgottenPartner"]
BUGS += ["WrongBias", "FrozenBias", "StaleErrors", "NeverRefreshed", "OppositeSigns"]
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
time_limit: 20
"""


@pytest.fixture(scope="module")
def verify(tmp_path_factory, describer):
    """Run `dualgap verify` with students' solvers; return the exit code, what it prints, its folder."""
    out = {}

    def run(case):
        """Run a case that no command before has run."""
        if case.run_id not in out:
            out[case.run_id] = run_case(case)
        return out[case.run_id]

    def _verify(names, *options, text=EXPERIMENT):
        folder = tmp_path_factory.mktemp("verify")
        (folder / "small.yaml").write_text(text)
        solvers = [part for name in names for part in ("--solver", f"{STUDENT}:{name}")]
        arguments = [str(folder / "small.yaml"), *solvers, "--out", str(folder / "runs"), *options]
        with in_this_process(run, describer):
            result = CliRunner().invoke(main, ["verify", *arguments])
        assert result.exit_code in (0, 1), result.output
        output = result.stdout if "--json" in options else result.output
        return result.exit_code, output, folder / "runs"

    return _verify


@pytest.fixture(scope="module")
def diagnoses(verify):
    """Return what is said of each student's solver, on one line, and the folder of the runs."""
    code, output, folder = verify(BUGS)
    assert code == 1
    _, *parts = " ".join(output.split()).split("Diagnosis of ")
    return parts, folder


@pytest.mark.parametrize("name", BUGS)
def test_the_step_of_a_students_fault_is_named_in_one_diagnosis(name, diagnoses):
    student = SOLVERS.find(f"{STUDENT}:{name}")
    (diagnosis,) = (text for text in diagnoses[0] if text.startswith(f"student_smo.py:{name},"))
    assert f", {student.condition}: " in diagnosis
    assert student.words in diagnosis


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_a_verification_is_printed_as_json_alone(verify):
    code, output, folder = verify(["ForgottenPartner"], "--json")
    parsed = json.loads(output, parse_constant=refuse_constant)
    assert (code, parsed["passed"], parsed["experiment"], parsed["ended"]) == (
        1,
        False,
        "small",
        None,
    )
    assert len(parsed["checks"]) == 4 * 4
    assert {check["solver"] for check in parsed["checks"] if not check["passed"]} == {
        diagnosis["solver"] for diagnosis in parsed["diagnoses"]
    }
    assert all(check["reason"] for check in parsed["checks"] if not check["passed"])
    assert (folder / "verification.md").is_file()


@pytest.mark.exhaustive
def test_a_selftest_lists_failed_and_untried_properties():
    chosen = ["--property", "claims", "--property", "answers"]
    result = CliRunner().invoke(main, ["selftest", f"{STUDENT}:ForgottenPartner", *chosen])
    parts = " ".join(result.stdout.split())
    assert result.exit_code == 1
    assert "✗ answers on " in parts
    assert "1 were not tried, as nothing can be judged without 'answers'" in parts
    assert "Σαᵢyᵢ" in parts.partition("Diagnosis, from ")[2]


def test_the_diagnosis_is_recorded_with_the_run(diagnoses):
    _, folder = diagnoses
    results = load_results(folder)
    students = results[results["solver"].str.endswith("ForgottenPartner")]
    assert (
        students["reason"].str.contains(r"violates its constraints by .* \(Σαᵢyᵢ must be 0\)").all()
    )
    parsed = RunFolder(folder).diagnoses
    assert {parsed[run_id]["condition"] for run_id in students["run_id"]} == {"equality"}
    assert parsed.keys().isdisjoint(results["run_id"][results["solver"] == "smo"])
    assert "violates its constraints by" in (folder / "summary.md").read_text()
    assert (folder / "verification.md").read_text().count("Diagnosis of ") == len(BUGS)


def test_a_correct_student_solver_has_no_diagnosis_and_passes_within_the_tolerance(verify):
    code, output, _ = verify(["Student"])
    text = " ".join(output.split())
    assert code == 1
    assert re.search(r"FAILED in \d runs? of student_smo.py:Student \(\d inaccurate\)", text)
    assert "wrong" not in text
    assert "Diagnosis" not in text
    assert verify(["Student"], "--tolerance", "1e-1")[0] == 0


@pytest.mark.exhaustive
def test_a_failure_lists_its_5_worst_problems_with_their_verdicts(verify):
    grid = EXPERIMENT.replace("C: [1, 100]", "C: [1, 2, 3, 4, 5, 6]")
    _, output, _ = verify(["SwappedEnds"], text=grid)
    differences, more, counts = output.partition("3 more problems have failed runs.")
    table = differences[differences.index("Relative difference") :]
    assert table.count("soft_margin_dual") == table.count("wrong") == 5
    assert more
    text = " ".join(counts.split())
    assert "FAILED in 8 runs of" in text
    assert "(8 wrong)" in text


def report_of(name: str) -> Report:
    """Try the first problems of two properties in this process."""
    bench = Bench(load(f"{STUDENT}:{name}"), Limits(solving=10.0))
    chosen = [item for item in PROPERTIES if item.name in ("claims", "sign")]
    outcomes = [bench.check(replace(p, problems=p.problems[:3]), {}, str) for p in chosen]
    return Report(name, tuple(outcomes))


@pytest.mark.parametrize("name", quick_cases(BUGS, BUGS[::4]))
def test_the_selftest_names_the_faulty_step_too(name):
    report = report_of(name)
    assert report.failed
    *_, diagnosis, verdict = map(str, to_terminal(report).renderables)
    assert diagnosis.startswith("Diagnosis, from ")
    assert SOLVERS.find(f"{STUDENT}:{name}").words in diagnosis
    assert "does not conform" in verdict


def test_the_selftest_passes_a_correct_student_solver():
    report = report_of("Student")
    assert report.passed, report.sentences
    assert "Diagnosis" not in str(list(map(str, to_terminal(report).renderables)))


@pytest.mark.parametrize(
    ("line", "option", "error"),
    [
        ("path: {C: [1, 100], gap: 1e-2}", [], "path: `verify` compares single answers"),
        ("C: 1", ["--solver", "smoo"], "did you mean 'smo'"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(command, write, tmp_path, line, option, error):
    file = write(EXPERIMENT.replace("C: [1, 100]", line))
    refused = command("verify", file, "--out", "runs", *option, code=2)
    assert error in refused.output
    assert not (tmp_path / "runs").exists()


@pytest.mark.exhaustive
def test_warm_starts_are_verified_and_every_bound_is_proven(verify):
    text = EXPERIMENT.replace("C: [1, 100]", "C: [1, 2]") + "warm_start: true\n"
    code, output, folder = verify([], "--rigorous", text=text)
    assert code == 0, output
    assert "every bound is proven" in " ".join(output.split())
    assert load_results(folder)["warm_start"].any()
    assert "target: proven" in (folder / "experiment.yaml").read_text()


@pytest.mark.exhaustive
def test_a_stored_verification_has_the_experiment_that_ran(verify):
    _, _, folder = verify(["Student"])
    description = read_experiment(folder / "experiment.yaml")
    assert description.solvers[-1].name.endswith(":Student")
