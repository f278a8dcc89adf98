"""oneDAL's solvers of C-SVC, epsilon-SVR, ν-SVC and ν-SVR."""

import importlib.util
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from tests.solvers.external.baseline_problems import KERNEL

from dualgap.problems import Formulation
from dualgap.solvers import OneDAL, solve
from dualgap.solvers.base import Precision

PRECISIONS = get_args(Precision)
NEEDED = pytest.mark.skipif(
    importlib.util.find_spec("sklearnex") is None, reason="sklearnex is not installed"
)


@NEEDED
def test_one_dal_neither_patches_scikit_learn_nor_falls_back_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    svm = importlib.import_module("sklearn.svm")
    before = svm.SVC, svm.SVC.fit
    assert solve(KERNEL["linear"], OneDAL(tol=1e-7)).verdict == "solved"
    assert (svm.SVC, svm.SVC.fit) == before
    baseline = importlib.import_module("sklearnex.svm").SVC
    monkeypatch.setattr(baseline, "fit", lambda self, X, y, sample_weight: self)
    with pytest.raises(RuntimeError, match="did not run"):
        solve(KERNEL["linear"], OneDAL())


@pytest.mark.parametrize("problem", KERNEL.values(), ids=KERNEL)
@NEEDED
def test_one_dal_receives_float32_samples_and_is_certified_on_the_float64_ones(
    problem: Formulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, dtypes = importlib.import_module("sklearnex.svm"), []
    for estimator in (module.SVC, module.SVR):
        original = estimator.fit

        def recording(self, X, *arguments, fit=original, **weights):
            dtypes.append(X.dtype.name)
            return fit(self, X, *arguments, **weights)

        monkeypatch.setattr(estimator, "fit", recording)
    problem = replace(problem, X=problem.X * (1 + 1e-6))  # not of single precision
    double, single = (solve(problem, OneDAL(tol=1e-5, dtype=dtype)) for dtype in PRECISIONS)
    assert set(dtypes[: len(dtypes) // 2]) == {"float64"}
    assert set(dtypes[len(dtypes) // 2 :]) == {"float32"}
    assert single.problem.X.dtype == np.float64
    assert single.certificate.relative_gap <= 1e-3
    assert not np.array_equal(single.alpha, double.alpha)
