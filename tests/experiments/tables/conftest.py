"""What the tests of tables for papers share: runs, as a published folder has them."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from experiments.cases.records import COLUMNS
from experiments.store.manifest import SCHEMA
from tests.experiments.functions import given

TARGET = 1e-6


def _run(problem, solver, repetition, time, **more):
    gap = more.pop("relative_gap", 1e-9)
    verdict = "solved" if gap <= TARGET else "inaccurate"
    known = {
        "run_id": f"{problem} {solver} {repetition} {more.get('params')}",
        "problem_id": problem,
        "family_hash": problem,
        "formulation": "soft_margin_dual",
        "solver": solver,
        "params": json.dumps({"tol": 1e-3}),
        "repetition": repetition,
        "target_gap": TARGET,
        "status": "finished",
        "claimed": "optimal",
        "verdict": verdict,
        "bound_source": "alpha",
        "primal_objective": 10.0,
        "dual_objective": 10.0 * (1 - gap),
        "objective": -10.0,
        "relative_gap": gap,
        "suboptimality": 0.0,
        "time_solve": time,
        "time_setup": 0.0,
        "threads": 2,
        "n": 100,
        "d": 2,
        "host": "here",
    }
    return dict.fromkeys(COLUMNS) | known | more


def times(problem, solver, times, **more):
    return [_run(problem, solver, i, time, **more) for i, time in enumerate(times)]


@pytest.fixture
def results(tmp_path):
    """Write runs as a published folder has them; return the folder."""

    def write(runs, name="study"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        pd.DataFrame(runs, columns=COLUMNS).to_csv(folder / "runs.csv", index=False)
        manifest = {
            "schema": SCHEMA,
            "run_ids": [],
            **{"name": "study", "kind": "", "time_limit": None, "problems": {}, "code": {}},
            "versions": {"python": "3.12"},
            "host": "here",
            "platform": "Linux",
            "machine": {"processor": "A & B_1", "cores": 2, "memory": 2**34},
            "date": "2026-01-02T03:04",
        }
        (folder / "manifest.json").write_text(json.dumps(manifest))
        (folder / "experiment.yaml").write_text("name: study")
        return folder

    return write


times_fixture = given(times)
