"""What the tests of tables for papers share: runs, as a published folder has them."""

import pytest
from tests.experiments.rows import published, run


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
    return lambda runs, name="study": published(tmp_path / name, runs, name="study")
