"""scikit-learn's stochastic gradient descent, epoch by epoch."""

import importlib.util
from typing import get_args

import numpy as np
import pytest
from tests.solvers.external.baseline_problems import LINEAR

from dualgap.solvers import SGD, solve
from dualgap.solvers.base import Precision


def test_sgd_visits_the_samples_in_a_new_order_each_epoch() -> None:
    form_seeds = set()
    models = importlib.import_module("sklearn.linear_model")
    partial_fit = models.SGDClassifier.partial_fit

    def recording(self, *arguments, **settings):
        form_seeds.add(self.random_state)
        return partial_fit(self, *arguments, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models.SGDClassifier, "partial_fit", recording)
        solve(LINEAR["one C"], SGD(epochs=5))
    assert len(form_seeds) == 5


def test_sgd_computes_in_the_precision_of_its_samples() -> None:
    for name in ("one C", "sparse", "regression"):
        double, single = (solve(LINEAR[name], SGD(dtype=d)).w for d in get_args(Precision))
        assert np.array_equal(single, single.astype(np.float32))
        assert not np.array_equal(double, double.astype(np.float32))
        assert single == pytest.approx(double, rel=1e-2, abs=1e-3)


def test_averaging_can_be_turned_off_and_epochs_limited() -> None:
    mean, last = (solve(LINEAR["one C"], SGD(average=a)).point.w for a in (True, False))
    assert not np.array_equal(mean, last)
    assert solve(LINEAR["one C"], SGD(epochs=9), max_iter=4).iterations == 4
