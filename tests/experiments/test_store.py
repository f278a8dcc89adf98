from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from experiments import load_results, load_traces
from experiments.config import read_experiment
from experiments.plan import plan
from experiments.records import failed
from experiments.runner import run_case
from experiments.store import Store, StoreError, load_model, read_traces, recorded, write_tables
from experiments.tables import summarise, to_markdown
from problems import RBF

CONTRACT = (  # what scripts outside of the repository read: never change it without them
    "run_id, problem_id, problem_hash, family_hash, formulation, dataset, n, d, kernel, C, epsilon, "
    "lam, solver, params, seed, repetition, target_gap, status, claimed, verdict, reason, objective, "
    "primal_objective, dual_objective, gap, relative_gap, suboptimality, kkt_violation, "
    "violating_pair, primal_residual, dual_residual, complementarity, projection_distance, "
    "bound_source, time_setup, time_solve, cpu_time, peak_rss, iterations, n_kernel_evals, "
    "n_support, n_free, n_bounded, margin, train_accuracy, test_accuracy, threads, signal, host, "
    "versions"
)
TRACE_CONTRACT = "run_id, time, iteration, primal_objective, dual_objective, gap, kkt_violation"
TEXT = """\
name: stored
problems:
  - {formulation: [soft_margin_dual, soft_margin_primal], dataset: {name: four_gaussians, n: 24}}
solvers:
  - {name: smo, tol: [1e-1, 1e-8]}
"""


@pytest.fixture
def cases(write):
    return plan(read_experiment(write(TEXT)))


@pytest.fixture
def ids(cases):
    return [case.run_id for case in cases]


@pytest.fixture
def folder(tmp_path, cases, ids):
    """A folder with all runs of the plan but the last, which was killed."""
    store = Store.open(tmp_path / "out", TEXT, ids)
    for case in cases[:-1]:
        store.append(run_case(case))
    store.append(failed(cases[-1], "crashed", "the process was killed by SIGSEGV", "SIGSEGV"))
    store.close()
    return store.folder


def test_results_have_exactly_the_columns_of_the_contract(folder):
    assert list(load_results(folder).columns) == CONTRACT.split(", ")
    assert list(load_traces(folder).columns) == TRACE_CONTRACT.split(", ")
    assert list(read_traces(folder).columns) == [
        *TRACE_CONTRACT.split(", "),
        "n_support",
        "objective",
    ]


def test_a_killed_run_is_a_row_with_nan_and_never_0(folder):
    row = load_results(folder).iloc[-1]
    assert (row["status"], row["signal"], row["claimed"]) == ("crashed", "SIGSEGV", "none")
    measured = [
        "objective",
        "gap",
        "time_solve",
        "time_setup",
        "iterations",
        "n_support",
        "peak_rss",
    ]
    assert row[measured].isna().all()
    assert (row["n"], row["d"]) == (24, 2)  # as the other runs on the same problem say


def test_suboptimality_is_measured_from_the_best_bound_of_all_faces(folder):
    results = load_results(folder)
    assert results["family_hash"].nunique() == 1
    best = results["dual_objective"].max()
    expected = results["primal_objective"] - best
    pd.testing.assert_series_equal(results["suboptimality"], expected, check_names=False)
    assert (results["suboptimality"].dropna() >= -1e-12 * abs(best)).all()


def test_rows_are_in_the_order_of_the_plan(tmp_path, cases, ids):
    store = Store.open(tmp_path / "out", TEXT, ids)
    for case in reversed(cases):
        store.append(failed(case, "crashed", "x"))
    store.close()
    assert load_results(tmp_path / "out")["run_id"].tolist() == ids


def test_planned_runs_that_never_ran_are_not_invented(tmp_path, ids):
    Store.open(tmp_path / "out", TEXT, ids).close()
    results = load_results(tmp_path / "out")
    assert len(results) == 0
    assert list(results.columns) == CONTRACT.split(", ")
    assert len(load_traces(tmp_path / "out")) == 0
    assert write_tables(tmp_path / "out", to_markdown(summarise(results), "x"))


def test_a_torn_last_line_loses_only_itself(folder, ids):
    path = folder / "runs.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert load_results(folder)["run_id"].tolist() == ids[:-1]
    store = Store.open(folder, TEXT, ids, resume=True)
    assert recorded(folder) == set(ids[:-1])
    store.append(run_case(plan_case(folder, ids[-1])))
    store.close()
    assert load_results(folder)["run_id"].tolist() == ids


def plan_case(folder, run_id):
    path = folder.parent / "small.yaml"
    return next(case for case in plan(read_experiment(path)) if case.run_id == run_id)


def test_a_record_that_is_there_twice_counts_once(folder, ids):
    path = folder / "runs.jsonl"
    path.write_bytes(path.read_bytes() * 2)
    assert load_results(folder)["run_id"].tolist() == ids
    assert load_traces(folder)["run_id"].nunique() == 3


@pytest.mark.parametrize("tear", [1, 100, 1000])
def test_lines_are_whole_or_passed_over(folder, tear):
    path = folder / "runs.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[:-tear] + b"\xff\x00garbage\n[1]\n3\n" + content)
    assert len(load_results(folder)) == 4


def test_a_folder_in_use_is_refused_without_resume(folder, ids):
    with pytest.raises(StoreError, match="--resume"):
        Store.open(folder, TEXT, ids)


def test_a_folder_of_another_plan_is_refused(folder, ids):
    with pytest.raises(StoreError, match="another plan"):
        Store.open(folder, TEXT, ids[1:], resume=True)


def test_a_folder_without_results_is_refused(tmp_path):
    (tmp_path / "x").touch()
    with pytest.raises(StoreError, match="holds no results"):
        Store.open(tmp_path, TEXT, [], resume=True)
    with pytest.raises(StoreError, match="holds no results"):
        load_results(tmp_path / "nowhere")


def test_resume_starts_in_a_missing_or_empty_folder(tmp_path, ids):
    (tmp_path / "empty").mkdir()
    for name in ("empty", "missing"):
        store = Store.open(tmp_path / name, TEXT, ids, resume=True)
        store.close()
        assert json.loads((tmp_path / name / "manifest.json").read_text())["run_ids"] == ids


def test_two_writers_on_one_folder_are_refused(tmp_path, ids):
    first = Store.open(tmp_path / "out", TEXT, ids)
    with pytest.raises(StoreError, match="another process"):
        Store.open(tmp_path / "out", TEXT, ids, resume=True)
    first.close()
    Store.open(tmp_path / "out", TEXT, ids, resume=True).close()


def test_results_of_another_schema_are_refused(folder):
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 0'))
    with pytest.raises(StoreError, match="schema 0"):
        load_results(folder)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path, ids):
    (tmp_path / "out").touch()
    with pytest.raises(StoreError, match="cannot be written to"):
        Store.open(tmp_path / "out", TEXT, ids)


def test_the_answer_of_a_problem_in_the_plane_comes_back(tmp_path, case_of):
    for text, kernel in (("rbf", RBF(0.05)), ("linear", None)):
        case = case_of() if kernel else case_of(text=TEXT)
        outcome = run_case(case)
        store = Store.open(tmp_path / text, TEXT, [case.run_id])
        store.append(outcome)
        store.close()
        model = load_model(store.folder, case.run_id)
        assert model is not None
        assert model["alpha"].shape == (24,)
        assert (model["w"] is None) == (kernel is not None)
        if kernel:
            assert model["kernel"] == kernel
    assert load_model(tmp_path / "rbf", "nothing") is None


def test_tables_say_the_same_as_the_runs(folder):
    results = load_results(folder)
    write_tables(folder, "text")
    pd.testing.assert_frame_equal(
        pd.read_parquet(folder / "runs.parquet"), results, check_dtype=False
    )
    csv = pd.read_csv(folder / "runs.csv")
    assert np.allclose(csv["gap"], results["gap"], equal_nan=True)
    assert list(csv.columns) == list(results.columns)
    assert not list(folder.glob(".*"))


def test_the_summary_ranks_by_time_those_that_are_solved(folder):
    summary = summarise(load_results(folder))
    assert len(summary) == 4
    for _, rows in summary.groupby("problem"):
        solved = (rows["outcome"] == "solved").tolist()
        assert solved == sorted(solved, reverse=True)
        assert rows["rank"].notna().tolist() == solved
    crashed = summary[summary["outcome"] == "crashed"].iloc[0]
    assert "SIGSEGV" in crashed["reason"]
    assert math.isnan(crashed["time"])
    assert "SIGSEGV" in to_markdown(summary, "stored")
    assert set(summary["solver"]) == {"smo (tol=0.1)", "smo (tol=1e-08)"}
