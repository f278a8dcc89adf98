"""Series, configurations and typical runs."""

import json

from tests.experiments.plots.conftest import runs_of
from tests.experiments.rows import run


def test_the_repetition_of_median_time_is_drawn():
    params = [json.dumps({"seed": i, "tol": 1e-3}) for i in range(3)]
    times = [5.0, 1.0, 2.0]
    rows = [run(time_solve=t, params=p) for t, p in zip(times, params, strict=True)]
    assert [row["time_solve"] for row in runs_of(rows).typical("p")] == [2.0]


def test_solvers_from_files_have_short_names_unless_ambiguous():
    runs = runs_of([run(solver=name) for name in ("a/x.py:My", "b/x.py:My", "a/y.py:My")])
    assert list(runs.table["series"]) == ["a/x.py:My", "b/x.py:My", "y.py:My"]
