"""A path is drawn as it was followed: the time so far, and the support vectors of its answers."""

import pandas as pd
import pytest
from tests.experiments.plots.conftest import drawn, row_of

from dualgap.experiments.plots.figures.certified_path import CertifiedPath
from dualgap.problems import SoftMarginDual, datasets
from dualgap.solvers import solve_path


@pytest.fixture(scope="module")
def runs():
    data = datasets.load("four_gaussians", n=24)
    path = solve_path(SoftMarginDual(data.X, data.y), C=(0.1, 10), gap=1e-2)
    answers = path.table().rename(columns={"C": "value"}).assign(run_id="followed", parameter="C")
    row = row_of(path.segments[0].solution) | {"run_id": "followed", "problem_id": "path C=0.1..10"}
    return drawn(pd.DataFrame([row]), pd.DataFrame(), paths=answers)


def test_each_answer_is_a_point(runs):
    drawing = CertifiedPath()
    assert drawing.applies_to(runs)
    ((name, figure),) = drawing.draw(runs)
    assert name.startswith("certified_path")
    times, support = figure.axes
    (line,), (counts,) = times.lines, support.lines
    assert line.get_xdata()[[0, -1]].tolist() == [0.1, runs.paths["value"].max()]
    assert line.get_ydata()[-1] == pytest.approx(runs.paths["time_solve"].sum())
    assert list(counts.get_ydata()) == list(runs.paths["n_support"])
    assert not drawing.applies_to(drawn(runs.table))
