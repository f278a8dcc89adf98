"""Errors on held-out samples are drawn as they are at each C, in the band of all optima."""

import numpy as np
import pandas as pd
import pytest
from tests.experiments.functions import posing, run_case
from tests.experiments.plots.conftest import drawn

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.plots.figures.certified_errors import (
    CertifiedErrors,
    certified_errors,
    mean_errors,
)
from dualgap.problems import RBF, SoftMarginDual, datasets
from dualgap.solvers import cross_validate

DATASET = {"name": "two_moons", "n": 40, "noise": 0.3, "folds": 2, "fold": [0, 1]}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    file = tmp_path_factory.mktemp("folds") / "folds.yaml"
    path = {"kernel": "{name: rbf, gamma: 1}", "path": "{C: [0.1, 10], gap: 1e-2}"}
    file.write_text(posing(dataset=DATASET, **path))
    return list(map(run_case, plan(read_experiment(file))))


def test_the_mean_over_folds_is_drawn_once(outcomes):
    runs = drawn(
        pd.DataFrame([outcome.record | {"problem_id": outcome.run_id} for outcome in outcomes]),
        pd.DataFrame(),
        paths=pd.DataFrame([row for outcome in outcomes for row in outcome.path]),
    )
    ((name, figure),) = CertifiedErrors().draw(runs)
    assert name.startswith("certified_errors")
    assert "fold" not in name
    (ax,) = figure.axes
    table = mean_errors([pd.DataFrame(outcome.path) for outcome in outcomes])
    assert ax.lines[0].get_ydata()[:-1].tolist() == table["error"].tolist()
    assert ax.lines[0].get_xdata()[[0, -1]].tolist() == [0.1, 10.0]


def test_folds_run_separately_combine_to_the_joint_cross_validation(outcomes):
    data = datasets.load("two_moons", n=40, noise=0.3)
    problem = SoftMarginDual(data.X, data.y, kernel=RBF(1.0))
    joint = cross_validate(problem, C=(0.1, 10.0), folds=2, gap=1e-2)
    separate = mean_errors([pd.DataFrame(outcome.path) for outcome in outcomes])
    for value in np.geomspace(0.11, 9.0, 7):
        row = separate[separate["to"] >= value].iloc[0]
        assert row["least"] <= joint.at(value)["most"]
        assert joint.at(value)["least"] <= row["most"]


def test_several_tables_have_a_band_each():
    table = pd.DataFrame(
        {"from": [1, 2], "to": [2, 3], "error": [0.2, 0.1], "least": [0.1, 0.0], "most": [0.3, 0.2]}
    )
    (ax,) = certified_errors({"one": table, "other": table}, "epsilon", "both").axes
    assert len(ax.lines) == len(ax.patches) == 2
    assert ax.get_xscale() == "linear"


def test_a_mean_of_incomplete_folds_is_marked(outcomes):
    runs = drawn(
        pd.DataFrame([outcome.record | {"problem_id": outcome.run_id} for outcome in outcomes]),
        pd.DataFrame(),
        paths=pd.DataFrame(outcomes[0].path),
    )
    ((_, figure),) = CertifiedErrors().draw(runs)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any("(1 of 2 folds)" in each for each in labels)
