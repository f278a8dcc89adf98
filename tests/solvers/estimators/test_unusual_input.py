"""Sparse matrices in any storage, weights of any size, and classes without a margin."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from tests.halves import quick_cases

from dualgap.problems import RBF
from dualgap.solvers.estimators import (
    SVC,
    SVR,
    CertifiedSVCCV,
    LinearSVC,
    LinearSVR,
    NuSVC,
    OneClassSVM,
)

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((30, 3)), np.arange(30) % 2
EXTREMES = [1e-320, 1e-310, 1e-160, 1e-140, 1e90, 1e140, 1e154, 1e200, 1e300]
FOLDS = partial(CertifiedSVCCV, C=(0.1, 1.0), cv=2)
KERNELS = [partial(SVC, kernel=RBF(0.5)), NuSVC, SVR, OneClassSVM]


@pytest.mark.parametrize(
    "cls", [SVC, LinearSVC, partial(LinearSVC, penalty="l1", random_state=0), *KERNELS]
)
def test_the_storage_of_a_sparse_matrix_does_not_change_the_answer(cls):
    """Entries in two parts, columns in any order, 64-bit indices; and the caller's matrix stays."""
    order = np.argsort(RNG.random((30, 6)), axis=1) + 6 * np.arange(30)[:, None]
    data = np.hstack([0.25 * X, 0.75 * X]).ravel()[order].ravel()
    S = sp.csr_array((data, np.tile([0, 1, 2], 60)[order].ravel(), np.arange(0, 181, 6)))
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    before = [S.data.copy(), S.indices.copy(), S.indptr.copy()]
    f, expected = (
        model.predict(A) if cls is SVR else model.decision_function(A)
        for A in (S, sp.csr_array(X))
        for model in [cls().fit(A, Y)]
    )
    np.testing.assert_allclose(f, expected, atol=1e-6)
    for now, then in zip((S.data, S.indices, S.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then, strict=True)


@pytest.mark.parametrize("cls", [SVC, partial(NuSVC, nu=0.2), LinearSVC])
def test_balanced_classes_count_a_weight_as_repetitions(cls):
    y, count = np.arange(30) % 3, RNG.integers(1, 5, 30)
    weighted = cls(class_weight="balanced").fit(X, y, count)
    repeated = cls(class_weight="balanced").fit(np.repeat(X, count, 0), np.repeat(y, count))
    f = repeated.decision_function(X)
    np.testing.assert_allclose(weighted.decision_function(X), f, atol=1e-5)


NO_MARGIN = [(8, "rbf"), (40, "poly"), (40, "rbf"), (1200, "linear")]


@pytest.mark.parametrize(("n", "kernel"), quick_cases(NO_MARGIN, NO_MARGIN[:3]))
def test_classes_without_a_margin_are_refused_in_any_order(n, kernel):
    for seed in range(1 if n > 1000 else 8):
        order = np.random.default_rng(seed).permutation(n)
        A, y = np.tile(RNG.standard_normal((n // 2, 2)), (2, 1))[order], order < n // 2
        with pytest.raises(ValueError, match=r"^nu: leaves no margin"):
            NuSVC(nu=0.4, kernel=kernel).fit(A, y)
        assert NuSVC(nu=0.4, kernel=kernel).fit(A + 5 * y[:, None], y).fit_status_ == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("size", EXTREMES)
@pytest.mark.parametrize(
    "cls", [SVC, SVR, NuSVC, OneClassSVM, LinearSVC, LinearSVR, partial(LinearSVC, loss="hinge")]
)
def test_an_extreme_weight_has_an_answer_a_warning_or_a_sentence(cls, size):
    one = np.where(np.arange(30) == 3, size, 1.0)
    settings = [({}, np.full(30, size)), ({}, one)]
    settings += [({"C": size}, None)] * ("C" in cls().get_params())
    settings += [({"intercept_scaling": size}, None)] * (cls is LinearSVC)
    sentences = []
    for options, weight in settings:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            try:
                gap = cls(**options).fit(X, Y, weight).certificate_.relative_gap
            except ValueError as error:
                sentences.append(str(error))
                continue
        assert {w.category for w in raised} <= {ConvergenceWarning}
        assert gap < 1e-2 or raised
    named = ("C, class_weight, sample_weight: ", "intercept_scaling: ", "nu: ")
    assert all(sentence.startswith(named) for sentence in sentences)


def test_an_l1_model_explains_its_missing_certificate():
    model = LinearSVC(penalty="l1").fit(X, Y)
    for each in (model, pickle.loads(pickle.dumps(model))):
        with pytest.raises(AttributeError, match="LIBLINEAR solved penalty='l1'"):
            _ = each.certificate_


@pytest.mark.parametrize(
    "cls",
    [SVC, NuSVC, LinearSVC, partial(LinearSVC, penalty="l1", random_state=0), FOLDS],
)
def test_nullable_integers_that_float64_rounds_are_different_classes(cls):
    labels = 2**53 + np.arange(30) % 2
    model = cls().fit(X, pd.Series(pd.array(labels, "Int64")))
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
