"""What the tests of tables for papers share: runs, as a published folder has them."""

import json

import pandas as pd
import pytest
from tests.experiments.rows import labelled, run

from dualgap.experiments.cases.records import COLUMNS
from dualgap.experiments.store.manifest import SCHEMA


def times(problem, solver, times, relative_gap=1e-9, **more):
    verdict = "solved" if relative_gap <= 1e-6 else "inaccurate"
    columns = {"tol": 1e-3, "verdict": verdict, "relative_gap": relative_gap}
    columns["dual_objective"] = 10.0 * (1 - relative_gap)
    rows = [
        run(problem, solver, time_solve=t, repetition=i, **(columns | more))
        for i, t in enumerate(times)
    ]
    return [
        row | {"run_id": f"{row['problem_id']} {solver} {row['repetition']} {row['params']}"}
        for row in rows
    ]


@pytest.fixture
def results(tmp_path):
    """Write runs as a published folder has them; return the folder."""

    def write(runs, name="study"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        pd.DataFrame(labelled(runs), columns=COLUMNS).to_csv(folder / "runs.csv", index=False)
        manifest = {
            "schema": SCHEMA,
            "run_ids": [],
            **{
                "name": "study",
                "kind": "",
                "time_limit": None,
                "problems": {},
                "solvers": {},
                "code": {},
            },
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
