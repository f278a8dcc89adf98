"""Near rows on a cluster of Dask that loses workers, its scheduler or blocks, and on odd blocks."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask is not installed")

from distributed import LocalCluster
from tests.problems.blocks.files import in_blocks, written
from tests.small_problems import two_classes
from tests.solvers.near_rows.faulty import DeadlySource

from dualgap.problems import Point, SoftMarginPrimal, certify
from dualgap.problems.blocks import Blocks, ChangedBlock
from dualgap.problems.datasets import open_blocks
from dualgap.problems.datasets.block_sources import GeneratedSource
from dualgap.problems.risk.risk import blocks_of
from dualgap.solvers import solve
from dualgap.solvers.near_rows import NearRows, engines
from dualgap.solvers.near_rows.engines import EngineError

DRAWN = {"n": 400, "d": 3, "rows": 100, "seed": 0, "noise": 0.5, "task": "classification"}
FEW = {"near": 20, "tol": 1e-9}
X, Y = two_classes(n=300, d=5)


@pytest.fixture(scope="module")
def address():
    """A cluster of two workers, of which those that die are replaced."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="2GiB",
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # a free port
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def patient(monkeypatch):
    """A cluster may take as long as it likes to replace its workers, as it does on a busy machine."""
    monkeypatch.setattr(engines, "_LOST_AFTER_S", 3600.0)


def _risk(X):
    return SoftMarginPrimal(X, None, C=1.0).risk


def _numbers(solver, risk):
    return [(p.x, p.rule.to_vector(), p.b) for p in solver.points(risk)]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("patient")
def test_two_workers_killed_in_mid_round_change_no_bit_of_any_round(address, tmp_path, caplog):
    deaths = DeadlySource(**DRAWN, folder=str(tmp_path), driver=os.getpid(), deaths=(2, 5))
    undisturbed = _numbers(NearRows(**FEW), _risk(Blocks.checked(GeneratedSource(**DRAWN))))
    risk = _risk(Blocks.checked(deaths))
    with caplog.at_level("INFO", "dualgap"):
        disturbed = _numbers(NearRows(**FEW, engine="dask", address=address), risk)
    assert "workers lost" in caplog.text
    assert len(os.listdir(tmp_path)) > max(deaths.deaths)
    assert len(disturbed) == len(undisturbed)
    for ours, theirs in zip(disturbed, undisturbed, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.exhaustive
def test_a_block_larger_than_a_workers_memory_is_refused_before_the_first_round(address):
    risk = _risk(Blocks.checked(GeneratedSource(**DRAWN)))
    blocks = replace(blocks_of(risk), nbytes=(3 * 2**30,) * 4)
    large = replace(risk, samples=replace(risk.samples, X=blocks))
    points = NearRows(engine="dask", address=address).points(large)
    with pytest.raises(EngineError, match="may use 2048 MiB, and the largest block has 3072 MiB"):
        next(points)


@pytest.mark.exhaustive
def test_a_block_that_a_worker_finds_missing_is_named(address, tmp_path):
    risk = _risk(in_blocks(tmp_path, X, Y, (100, 200)))
    points = NearRows(**FEW, engine="dask", address=address).points(risk)
    next(points)
    (tmp_path / "block_1.npz").unlink()
    with pytest.raises(ChangedBlock, match=r"block_1.npz: cannot be read any more"):
        list(points)


def test_an_address_without_a_scheduler_is_an_error(monkeypatch):
    monkeypatch.setattr(engines, "_LOST_AFTER_S", 0.5)
    solver = NearRows(engine="dask", address="tcp://127.0.0.1:9")
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9"):
        next(solver.points(_risk(Blocks.checked(GeneratedSource(**DRAWN)))))


@pytest.mark.exhaustive
@pytest.mark.usefixtures("patient")
def test_a_block_that_kills_every_worker_stops_the_solver(address, tmp_path):
    always = DeadlySource(**DRAWN, folder=str(tmp_path), driver=os.getpid(), deaths=range(99))
    risk = _risk(Blocks.checked(always))
    with pytest.raises(EngineError, match=r"rows .*: more than 3 workers died"):
        list(NearRows(engine="dask", address=address).points(risk))


@pytest.mark.exhaustive
def test_a_lost_scheduler_stops_the_solver_within_a_minute(tmp_path):
    where = tmp_path / "scheduler.json"

    def started(command, *words):
        module = f"distributed.cli.dask_{command}"
        options = ("--scheduler-file", str(where), "--host", "127.0.0.1", "--no-dashboard")
        return subprocess.Popen(
            [sys.executable, "-m", module, *words, *options],
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )

    scheduler, worker = started("scheduler", "--port", "0"), started("worker", "--no-nanny")
    try:
        while not where.exists() or not where.read_text().endswith("}"):
            time.sleep(0.1)
        address = json.loads(where.read_text())["address"]
        solver = NearRows(**FEW, engine="dask", address=address)
        points = solver.points(_risk(Blocks.checked(GeneratedSource(**DRAWN))))
        next(points)
        scheduler.kill()
        started_at = time.monotonic()
        with pytest.raises(EngineError, match="scheduler is lost in round 2"):
            list(points)
        assert time.monotonic() - started_at < 60
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()


@pytest.mark.parametrize("fault", ["missing", "cut", "replaced"])
def test_a_block_removed_between_two_rounds_is_named(fault, tmp_path):
    for k in range(2):
        np.save(tmp_path / f"X_{k}.npy", X[k * 150 : k * 150 + 150])
        np.save(tmp_path / f"y_{k}.npy", Y[k * 150 : k * 150 + 150])
    risk = _risk(open_blocks(tmp_path, rows=150))
    points = NearRows(**FEW).points(risk)
    next(points)
    path = tmp_path / "X_1.npy"
    if fault == "missing":
        path.unlink()
    elif fault == "cut":
        path.write_bytes(path.read_bytes()[:-500])
    else:
        np.save(path, X[:7])
    with pytest.raises(ChangedBlock, match=r"X_1.npy, rows 0 to 149: (cannot be|has changed)"):
        list(points)


def test_a_value_changed_between_two_rounds_leaves_the_answer_uncertified(tmp_path):
    problem = SoftMarginPrimal(in_blocks(tmp_path, X, Y, (100, 200)), None, C=1.0)
    points = NearRows(**FEW).points(problem.risk)
    next(points)
    other = X.copy()
    other[150, 2] += 1e-9
    written(tmp_path, other, Y, (100, 200))
    *_, last = points
    result = certify(problem, Point(w=last.x, b=last.b, rule=last.rule))
    assert np.isnan(result.dual_objective)
    assert result.reason == "block_1.npz: has changed since it was checked"


@pytest.mark.parametrize("cuts", [(120, 120, 121), (1, 2, 3)], ids=["one class, empty", "one row"])
@pytest.mark.parametrize("intercept", [True, False])
def test_blocks_of_one_class_or_zero_or_one_rows_are_solved(cuts, intercept, tmp_path):
    order = np.argsort(Y, kind="stable")
    joined = SoftMarginPrimal(X[order], Y[order], C=1.0, intercept=intercept)
    blocks = in_blocks(tmp_path, joined.X, joined.y, cuts)
    result = solve(replace(joined, X=blocks, y=None), NearRows(near=30))
    assert result.verdict == "solved"
    optimum = solve(joined, target_gap=1e-9).certificate
    assert result.certificate.dual_objective <= optimum.primal_objective
    assert result.certificate.primal_objective >= optimum.dual_objective


def test_without_dask_its_engine_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    problem = SoftMarginPrimal(Blocks.checked(GeneratedSource(**DRAWN)), None, C=1.0)
    solution = solve(problem, NearRows(engine="dask"))
    assert solution.status == "not_installed"
    assert "pip install dualgap[dask]" in solution.note
