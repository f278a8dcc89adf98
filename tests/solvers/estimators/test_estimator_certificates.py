"""`certificate_` of the estimators is of exactly what was trained, whenever it is read."""

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn import datasets
from sklearn.preprocessing import scale

from solvers.estimators import SVC, SVR, LinearSVC, LinearSVR

X_IRIS, Y_IRIS = datasets.load_iris(return_X_y=True)
X_DIABETES, Y_DIABETES = datasets.load_diabetes(return_X_y=True)
X_DIABETES, Y_DIABETES = scale(X_DIABETES[::3]), Y_DIABETES[::3]
SquaredSVR = partial(LinearSVR, loss="squared_epsilon_insensitive")


@pytest.mark.parametrize("made", [SVC, LinearSVC])
def test_certificates_survive_pickling_once_read_and_say_so_otherwise(made: Any) -> None:
    model = made().fit(X_IRIS, Y_IRIS)
    with pytest.raises(AttributeError, match="read certificate_ before"):
        _ = pickle.loads(pickle.dumps(model)).certificate_
    gaps = [c.relative_gap for c in model.certificate_.parts]
    kept = pickle.loads(pickle.dumps(model)).certificate_
    assert [c.relative_gap for c in kept.parts] == gaps
    assert len(gaps) == 3
    model.fit(X_IRIS[Y_IRIS > 0], Y_IRIS[Y_IRIS > 0])
    assert model.certificate_.relative_gap < 1e-6


@pytest.mark.parametrize("made", [SVR, LinearSVR, partial(SquaredSVR, fit_intercept=False)])
def test_certificates_are_of_the_samples_as_they_were(made: Any) -> None:
    X, y = X_DIABETES.copy(), Y_DIABETES.copy()
    model = made().fit(X, y)
    gap = made().fit(X, y).certificate_.relative_gap
    X[:] = 0.0
    y[:] = 0.0
    assert model.certificate_.relative_gap == gap


@pytest.mark.parametrize("made", [LinearSVR, SquaredSVR])
def test_a_linear_machines_certificate_is_of_the_weights_it_predicts_with(made: Any) -> None:
    model = made(C=10.0).fit(X_DIABETES, Y_DIABETES)
    weights = np.append(model.coef_, model.intercept_)
    np.testing.assert_array_equal(model.certificate_.point.w, weights)
    assert model.certificate_.relative_gap < 1e-6
