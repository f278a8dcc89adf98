"""Samples in blocks in an experiment: certified from their files, never whole, with what it took."""

import io
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from tests.experiments.functions import posing, run_case

from dualgap.experiments.cases.messages import (
    SolverAnswer,
    SolverReport,
    pack_answer,
    unpack_answer,
)
from dualgap.experiments.executors.local import LocalExecutor
from dualgap.experiments.records.columns import COLUMNS, COUNTED
from dualgap.experiments.workers.isolation import call_in_child
from dualgap.experiments.workers.wire import Malformed
from dualgap.problems import SoftMarginPrimal, SVRPrimal, certify
from dualgap.problems.blocks import ArraySource, Blocks
from dualgap.problems.datasets import open_blocks
from dualgap.solvers import solve
from dualgap.solvers.near_rows import NearRows

COUNTERS = [column.name for column in COUNTED if not column.name.startswith("time_")]
GENERATED = "{name: generated_blocks, n: 90, d: 3, rows: 40, task: %s}"


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "data").mkdir()
    for k in range(2):
        X = rng.standard_normal((60, 3))
        frame = pd.DataFrame(X, columns=list("abc"))
        frame["label"] = np.where(X[:, 0] + 0.3 * rng.standard_normal(60) > 0, "yes", "no")
        frame.to_parquet(tmp_path / "data" / f"{k}.parquet", row_group_size=30)
    return posing(
        formulation="soft_margin_primal",
        dataset='{name: blocks, path: "data/*.parquet", target: label, rows: 30, positive: yes}',
        **{"C": 1, "solvers": ["{name: near_rows, tol: 1e-8}", "liblinear"]},
    )


def test_an_answer_on_files_is_solved_and_reports_its_resource_usage(planned, files):
    row, other = (run_case(case).record for case in planned(files))
    assert list(row) == [*COLUMNS, *COUNTERS]
    assert (row["verdict"], row["status"], row["reason"]) == ("solved", "finished", "")
    assert (row["n"], row["d"]) == (120, 3)
    assert row["bound_source"] == "alpha and w"
    assert row["rounds"] == row["iterations"] > 1
    assert row["bytes_moved"] == 0  # in one process
    assert row["worker_cpu_time"] > 0
    assert row["worker_peak_rss"] > 2**20
    assert other["status"] == "unsupported"
    assert "use near_rows" in other["reason"]


def test_a_rule_is_received_unchanged_or_refused():
    X = np.eye(6)[:, :3]
    blocks = Blocks.checked(ArraySource(X, np.array([1.0, -1.0] * 3), None, 3))
    problem = SoftMarginPrimal(blocks, None)
    solution = solve(problem)
    rule = solution.point.rule
    answer = SolverAnswer([SolverReport.of(solution)])
    _, [point] = unpack_answer(io.BytesIO(pack_answer(answer, [solution.point])), problem)
    np.testing.assert_array_equal(point.rule.to_vector(), rule.to_vector())
    cut = replace(solution.point, rule=replace(rule, w=rule.w[:-1]))
    with pytest.raises(Malformed, match="do not form a dual rule for 3 features"):
        unpack_answer(io.BytesIO(pack_answer(answer, [cut])), problem)


def test_a_file_that_changes_after_solving_leaves_nothing_solved(planned, files, tmp_path):
    case = planned(files)[0]

    def changed(function, *arguments, **named):
        returned = call_in_child(function, *arguments, **named)
        path = tmp_path / "data" / "1.parquet"
        frame = pd.read_parquet(path)
        frame.loc[7, "a"] += 1e-9
        frame.to_parquet(path, row_group_size=30)
        return returned

    record = run_case(case, isolated=changed).record
    assert record["verdict"] == "uncertified"
    assert "1.parquet, rows 0 to 29: has changed since it was checked" in record["reason"]
    assert np.isnan(record["dual_objective"])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{name: blocks, path: "none/*.parquet", target: label}', "no such file"),
        ('{name: blocks, path: "data/*.parquet"}', "target: name the column"),
        ('{name: blocks, path: "data/*.parquet", target: lable}', "has no 'lable'"),
        ('{name: blocks, path: "data/*.parquet", target: label, rows: 0}', "rows: must be"),
        ('{name: blocks, path: "data/*.parquet", target: label, limit: 9}', "unknown setting"),
        (GENERATED % "regression", "needs labels, but generated_blocks is a regression data set"),
    ],
)
def test_invalid_blocks_are_refused_before_the_first_run(files, outcome, data, message):
    text = posing(formulation="soft_margin_primal", dataset=data, C=1, solvers=["near_rows"])
    (error,) = outcome(text.encode())
    assert message in error


def test_an_absent_label_is_named_in_the_rows_that_fail(planned, files):
    record = run_case(planned(files.replace("positive: yes", "positive: maybe"))[0]).record
    assert record["status"] == "crashed"
    assert "positive: no sample has the label 'maybe'" in record["reason"]


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("distributed") is None, reason="dask is not installed")
def test_a_cluster_started_for_the_run_gives_a_bitwise_equal_answer(planned):
    text = posing(
        formulation="svr_primal",
        dataset=GENERATED % "regression",
        **{"C": 1, "epsilon": 0.1, "trace": False},
        solvers=["near_rows", "{name: near_rows, engine: dask, workers: 1}"],
    )
    cases = planned(text)
    rows = {column.run_id: column.record for column in LocalExecutor(workers=1).run(cases)}
    ours, dask = (rows[case.run_id] for case in cases)
    assert (ours["verdict"], dask["verdict"], dask["reason"]) == ("solved", "solved", "")
    for name in ("primal_objective", "dual_objective", "rounds"):
        assert dask[name] == ours[name]
    assert dask["bytes_moved"] > 0


def test_the_certificate_of_files_is_that_of_the_samples_in_memory(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 4))
    y = X @ np.arange(4.0) + rng.standard_normal(80)
    for k in range(2):
        np.save(tmp_path / f"X_{k}.npy", X[k * 40 : k * 40 + 40])
        np.save(tmp_path / f"y_{k}.npy", y[k * 40 : k * 40 + 40])
    blocks = open_blocks(tmp_path, rows=15)
    s = solve(SVRPrimal(blocks, None, C=1.0, epsilon=0.1), NearRows(tol=1e-9))
    joined = certify(SVRPrimal(X, y, C=1.0, epsilon=0.1), s.point)
    assert s.certificate.primal_objective == pytest.approx(joined.primal_objective, rel=1e-12)
    assert s.verdict == "solved"
