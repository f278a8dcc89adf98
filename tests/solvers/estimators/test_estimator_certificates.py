"""`certificate_` of the estimators is of exactly what was trained, whenever it is read."""

import pickle
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn import datasets
from sklearn.model_selection import cross_validate
from sklearn.preprocessing import scale

from dualgap.solvers.estimators import SVC, SVR, LinearSVC, LinearSVR

X_IRIS, Y_IRIS = datasets.load_iris(return_X_y=True)
X_DIABETES, Y_DIABETES = datasets.load_diabetes(return_X_y=True)
X_DIABETES, Y_DIABETES = scale(X_DIABETES[::3]), Y_DIABETES[::3]
SquaredSVR = partial(LinearSVR, loss="squared_epsilon_insensitive")


@pytest.mark.parametrize("cls", [SVC, LinearSVC])
def test_certificates_survive_pickling_without_the_samples(cls: Any) -> None:
    model = cls().fit(X_IRIS, Y_IRIS)
    loaded = pickle.loads(pickle.dumps(model))
    gaps = [c.relative_gap for c in cls().fit(X_IRIS, Y_IRIS).certificate_.parts]
    assert [c.relative_gap for c in loaded.certificate_.parts] == gaps
    assert len(gaps) == 3
    wide = np.hstack([X_IRIS, np.zeros((150, 1000))])
    assert len(pickle.dumps(LinearSVC(loss="hinge").fit(wide, Y_IRIS))) < 0.1 * wide.nbytes
    loaded.fit(X_IRIS[Y_IRIS > 0], Y_IRIS[Y_IRIS > 0])
    assert loaded.certificate_.relative_gap < 1e-6


@pytest.mark.exhaustive
def test_certificates_survive_joblib_and_cross_validation_in_processes(tmp_path: Path) -> None:
    model = SVC().fit(X_IRIS, Y_IRIS)
    joblib.dump(model, tmp_path / "model")
    gap = joblib.load(tmp_path / "model").certificate_.relative_gap
    assert gap == model.certificate_.relative_gap
    result = cross_validate(SVC(), X_IRIS, Y_IRIS, cv=2, n_jobs=2, return_estimator=True)
    assert all(m.certificate_.relative_gap < 1e-6 for m in result["estimator"])


@pytest.mark.parametrize("cls", [SVR, LinearSVR, partial(SquaredSVR, fit_intercept=False)])
def test_certificates_refer_to_the_samples_at_fit_time(cls: Any) -> None:
    X, y = X_DIABETES.copy(), Y_DIABETES.copy()
    model = cls().fit(X, y)
    gap = cls().fit(X, y).certificate_.relative_gap
    X[:] = 0.0
    y[:] = 0.0
    assert model.certificate_.relative_gap == gap


@pytest.mark.parametrize("cls", [LinearSVR, SquaredSVR])
def test_a_linear_machines_certificate_is_of_the_weights_it_predicts_with(cls: Any) -> None:
    model = cls(C=10.0).fit(X_DIABETES, Y_DIABETES)
    weights = np.append(model.coef_, model.intercept_)
    np.testing.assert_array_equal(model.certificate_.point.w, weights)
    assert model.certificate_.relative_gap < 1e-6
