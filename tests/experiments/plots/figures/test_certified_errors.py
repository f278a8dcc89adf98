"""Errors on held-out samples are drawn as they are at each C, in the band of all optima."""

import numpy as np
import pandas as pd
import pytest
from tests.experiments.functions import posing, run_case

from dualgap.experiments.cases.plan import plan
from dualgap.experiments.files.experiment import read_experiment
from dualgap.experiments.plots.figures.certified_errors import (
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


def test_folds_run_separately_combine_to_the_joint_cross_validation(outcomes):
    data = datasets.load("two_moons", n=40, noise=0.3)
    problem = SoftMarginDual(data.X, data.y, kernel=RBF(1.0))
    joint = cross_validate(problem, C=(0.1, 10.0), folds=2, gap=1e-2)
    separate = mean_errors([pd.DataFrame(outcome.path) for outcome in outcomes])
    for value in np.geomspace(0.11, 9.0, 7):
        row = separate[separate["to"] >= value].iloc[0]
        assert row["least"] <= joint.at(value)["most"]
        assert joint.at(value)["least"] <= row["most"]
