"""Convex QPs in an experiment: read, solved, certified, and refused where samples are meant."""

import numpy as np
import pytest
from tests.experiments.functions import posing, run_case

from dualgap.experiments import load_results
from dualgap.experiments.files.experiment import ConfigError
from dualgap.experiments.files.settings import options_of
from dualgap.experiments.operations.dry_run import impossible
from dualgap.problems import ConvexQP

TEXT = posing(
    formulation="convex_qp",
    dataset="{name: quadratic_program, path: small.npz}",
    **{"solvers": ["{name: cvxopt_qp, tol: 1e-8}", "smo"]},
)


@pytest.fixture
def qp_file(tmp_path):
    np.savez(
        tmp_path / "small.npz",
        P=np.eye(2),
        q=[1.0, -1.0],
        A=[[1.0, 1.0]],
        b_eq=[1.0],
        lb=[0.0, 0.0],
    )


def test_a_file_is_solved_and_certified(planned, qp_file):
    solved, refused = (run_case(case) for case in planned(TEXT))
    record = solved.record
    assert (record["verdict"], record["status"], record["reason"]) == ("solved", "finished", "")
    assert (record["n"], record["d"], record["dataset"]) == (2, 1, "small.npz")
    assert record["bound_source"].startswith("proven: ")
    assert record["objective"] == pytest.approx(-0.5, abs=1e-6)
    assert record["n_support"] is None
    assert not solved.model
    assert refused.record["status"] == "unsupported"
    assert (
        "cannot be stated as a kernel QP, only as a quadratic program" in refused.record["reason"]
    )


def test_the_conditions_of_optimality_are_columns_of_convex_qps_alone(
    command, write, in_process, qp_file
):
    solvers = ["{name: qpsolvers_qp, settings: [low_accuracy, high_accuracy]}"]
    dataset = "{name: quadratic_program, path: small.npz}"
    qps = write(posing(formulation="convex_qp", dataset=dataset, solvers=solvers))
    command("run", qps, "--out", "qps")
    command("run", write(posing()), "--out", "samples")
    runs = load_results("qps")
    if (runs["status"] == "not_installed").any():
        pytest.skip("qpsolvers is not installed")
    conditions = runs[["primal_residual", "dual_residual", "duality_gap"]]
    assert (conditions.to_numpy() < 1e-3).all()
    assert "duality_gap" not in load_results("samples")


def test_an_unknown_name_of_settings_is_refused_with_those_accepted(planned, qp_file):
    unknown = TEXT.replace("cvxopt_qp, tol: 1e-8", "qpsolvers_qp, settings: exact")
    with pytest.raises(
        ConfigError, match="must be one of default, low_accuracy, mid_accuracy, high"
    ):
        planned(unknown)


def test_solvers_that_need_samples_are_refused_before_the_first_run(planned, qp_file):
    (refusal,) = impossible(planned(TEXT)).values()
    assert "cannot be stated as a kernel QP, only as a quadratic program" in refusal


def test_data_sets_of_samples_and_of_problems_are_not_interchangeable(planned, qp_file):
    with pytest.raises(
        ConfigError, match="soft_margin_dual cannot use quadratic_program, which contains whole"
    ):
        planned(TEXT.replace("convex_qp", "soft_margin_dual"))
    with pytest.raises(ConfigError, match="convex_qp cannot use two_moons, which contains samples"):
        planned(posing(formulation="convex_qp", dataset="two_moons"))
    assert not options_of(ConvexQP)  # what it is made of is in the file
