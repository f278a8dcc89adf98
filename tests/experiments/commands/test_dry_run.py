"""`dualgap run --dry-run`: the plan, what is impossible in it, and how long it may take."""

from pathlib import Path

import pytest
from tests.experiments.functions import posing
from tests.experiments.rows import recorded

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.cases.records import Outcome, blank_record
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.operations.dry_run import impossible, time_text
from dualgap.experiments.store.reading import load_results
from dualgap.problems.datasets import ENTRIES

ROOT = Path(__file__).parents[3]
PAIRS = posing(C=[1, 2], solvers=["smo", "pegasos"], repetitions=2)


def test_a_dry_run_shows_the_plan_and_writes_nothing(command, write, tmp_path):
    path = write(PAIRS)
    before = sorted(tmp_path.iterdir())
    result = command("run", path, "--dry-run")
    words = " ".join(result.output.split())
    assert "runs 8, 4 of them unsupported" in words
    assert "pegasos: requires a problem without an unregularised intercept (2 pairs)" in words
    assert "unknown for 4 runs: no time limit" in words
    assert sorted(tmp_path.iterdir()) == before
    command("run", write("name: x"), "--dry-run", code=2)


def test_an_unfinished_search_does_not_count_as_recorded(command, write, planned, tmp_path):
    text = posing(solvers=["smo", "{name: smo, tol: auto}"])
    record_values = {"status": "finished", "relative_gap": 0.5, "time_solve": 0.1}
    outcomes = [Outcome(blank_record(case) | record_values) for case in planned(text)]
    recorded(tmp_path / "out", outcomes)
    result = command("run", write(text), "--out", tmp_path / "out", "--resume", "--dry-run")
    assert "2, 1 of them recorded; more if a tolerance" in " ".join(result.output.split())


def test_a_dry_run_counts_the_runs_to_repeat(command, write, planned, tmp_path):
    text = posing(solvers=["smo", "pegasos"])
    crashed = {"status": "crashed", "verdict": "uncertified"}
    recorded(tmp_path / "out", [Outcome(blank_record(case) | crashed) for case in planned(text)])
    options = {"--resume": ", 2 of them recorded", "--rerun solver:smo": ", 1 of them recorded"}
    for option, recorded_text in (options | {"--rerun status:crashed": ""}).items():
        result = command("run", write(text), "--out", "out", *option.split(), "--dry-run")
        assert f"runs 2{recorded_text}" in " ".join(result.output.split())


def test_the_time_is_bounded_by_limits(planned):
    limited = planned(PAIRS + "time_limit: 3\n")
    assert time_text(limited, workers=2) == "at most 58 s for 8 runs, until killed"
    assert time_text([], workers=2) == "nothing to run"


def test_pairs_that_are_called_impossible_are_unsupported():
    cases = plan(read_experiment(ROOT / "experiments/configs/quickstart.yaml"))
    once = {(c.problem_id, c.solver.name, str(c.solver.settings)): c for c in cases}
    refused = [problem for problem, *_ in impossible(once.values())]
    recorded = load_results(ROOT / "results/quickstart")
    for problem, statuses in recorded.groupby("problem_id")["status"]:
        assert refused.count(problem) == (statuses == "unsupported").sum()


def test_an_indefinite_kernel_is_not_called_impossible_without_the_data(planned):
    kernel = "{name: sigmoid, gamma: 1, coef0: -1}"
    assert impossible(planned(posing(kernel=kernel, solvers=["cvxopt_qp"]))) == {}


def test_samples_in_blocks_are_supported_if_each_worker_generates_them(planned):
    solvers = ["near_rows", "{name: near_rows, engine: dask}", "liblinear"]
    data = "{name: generated_blocks, n: 20}"
    text = posing(formulation="soft_margin_primal", dataset=data, solvers=solvers)
    assert [solver for _, solver, _ in impossible(planned(text))] == ["liblinear"]


@pytest.mark.parametrize("name", ENTRIES)
def test_the_same_pairs_are_impossible_on_published_data_as_on_generated(
    planned, name, monkeypatch, tmp_path
):
    monkeypatch.setenv("DUALGAP_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / name).touch()  # which is there, and not read
    solvers = ["smo", "pegasos", "lda", "near_rows", "projected_gradient"]
    generated, keys = "two_moons", {"formulation": "soft_margin_primal", "C": 1}
    if ENTRIES[name].task == "regression":
        generated, keys = "friedman", {"formulation": "svr_primal", "C": 1, "epsilon": 0.1}
    on_published, on_generated = (
        {(solver, why) for (_, solver, _), why in impossible(planned(text)).items()}
        for data in (name, generated)
        for text in [posing(dataset=f"{{name: {data}}}", solvers=solvers, **keys)]
    )
    assert on_published == on_generated != set()
