"""`target: proven`, from the file to the record; `dualgap verify --rigorous`."""

import math

import pandas as pd
import pytest
from click.testing import CliRunner

from experiments import load_results
from experiments.analysis.verify import compare
from experiments.cases.case import run_case
from experiments.cases.plan import plan
from experiments.cli import main
from experiments.files.experiment import ConfigError, find_experiments, read_experiment
from experiments.output.tables import summarise, to_markdown

# float64 says of this answer that its bounds are equal, and they are 1e-4 above the optimum
OPTIMISTIC = """\
name: small
problems:
  - formulation: soft_margin_dual
    dataset: {name: two_moons, n: 40}
    kernel: {name: rbf, gamma: 1e-14}
    C: 1e12
solvers:
  - {name: smo, tol: 1e-10}
trace: false
"""
PROVEN = OPTIMISTIC + "target: proven\n"


def first_case(write, text):
    return plan(read_experiment(write(text)))[0]


def test_a_run_is_another_one_when_its_bounds_are_to_be_proven(write):
    plain, said, proven = (
        first_case(write, OPTIMISTIC + line).run_id
        for line in ("", "target: certified\n", "target: proven\n")
    )
    assert plain == said != proven


def test_an_unknown_target_is_refused(write):
    with pytest.raises(ConfigError, match=r"must be .certified. or .proven., got .prove."):
        read_experiment(write(OPTIMISTIC + "target: prove\n"))


def test_the_record_has_proven_bounds_where_float64_is_too_optimistic(write):
    plain, proven = (run_case(first_case(write, t)).record for t in (OPTIMISTIC, PROVEN))
    assert plain["gap"] == 0.0
    assert plain["dual_objective"] > (1 + 1e-5) * proven["primal_objective"]
    assert (plain["bound_source"], proven["bound_source"]) == ("alpha", "proven: alpha")
    assert (proven["verdict"], proven["reason"]) == ("solved", "")
    assert proven["objective"] == -proven["dual_objective"]


def test_what_cannot_be_proven_is_uncertified_with_its_reason(write):
    kernel = "{name: sigmoid, gamma: 0.1, coef0: 0}"
    record = run_case(first_case(write, PROVEN.replace("{name: rbf, gamma: 1e-14}", kernel))).record
    assert record["verdict"] == "uncertified"
    assert "not proven: the kernel is not known to be positive semidefinite" in record["reason"]
    assert math.isnan(record["dual_objective"])


def test_an_interrupted_proof_is_resumed_and_the_summary_says_proven(write, tmp_path, in_process):
    path = write(PROVEN + "repetitions: 2\n")
    arguments = ["run", str(path), "--out", str(tmp_path / "out")]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    runs = tmp_path / "out" / "runs.jsonl"
    runs.write_text(runs.read_text().splitlines()[0] + "\n")
    assert CliRunner().invoke(main, [*arguments, "--resume"]).exit_code == 0
    results = load_results(tmp_path / "out")
    assert list(results["bound_source"]) == ["proven: alpha"] * 2
    assert "solved, proven" in to_markdown(summarise(results), "small")
    path.write_text(path.read_text().replace("proven", "certified"))
    changed = CliRunner().invoke(main, [*arguments, "--resume"])
    assert changed.exit_code == 2


def test_the_published_experiment_is_proven():
    cases = plan(read_experiment(find_experiments("proven")[0]))
    assert all(case.proven for case in cases)


ROW = {
    "problem_id": "p",
    "params": "{}",
    "status": "finished",
    "verdict": "solved",
    "reason": "",
    "objective": -1.0,
    "primal_objective": 1.0 + 1e-9,
    "dual_objective": 1.0,
    "relative_gap": 1e-9,
    "bound_source": "proven: alpha",
}
QP = [ROW | {"solver": "cvxopt_qp"}, ROW | {"solver": "cvxpy_qp"}]


def verification(**change):
    return compare(pd.DataFrame([*QP, ROW | {"solver": "smo"} | change]), proven=True)


def test_proven_intervals_with_a_number_in_common_pass():
    result = verification()
    assert result.passed
    assert "every bound is proven, and all agree" in result.sentence


def test_proven_intervals_apart_fail_however_near_they_are():
    apart = {"dual_objective": 1.0 + 2e-9, "primal_objective": 1.0 + 3e-9}
    assert compare(pd.DataFrame([*QP, ROW | {"solver": "smo"} | apart])).passed
    result = verification(**apart)
    assert not any(check.passed for check in result.checks)
    assert "smo proves [1.000000002, 1.000000003]" in result.checks[0].reason


def test_bounds_that_are_not_proven_fail():
    result = verification(bound_source="alpha")
    assert [check.passed for check in result.checks] == [True, True, False]
    assert "its bounds are not proven" in result.sentence


def test_the_command_proves_every_bound(write, in_process):
    solvers = "solvers: [cvxopt_qp, cvxpy_qp, {name: smo, tol: 1e-8}]"
    text = PROVEN.replace("solvers:\n  - {name: smo, tol: 1e-10}", solvers)
    path = write(
        text.replace("1e-14", "1").replace("C: 1e12", "C: 1").replace("target: proven", "")
    )
    result = CliRunner().invoke(main, ["verify", str(path), "--rigorous"])
    assert result.exit_code == 0, result.output
    assert "every bound is proven" in " ".join(result.output.split())
