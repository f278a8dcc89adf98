"""The linear estimators on samples in blocks: the same machines as on arrays in memory, certified."""

import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.datasets import dump_svmlight_file

from dualgap.problems.datasets import open_blocks
from dualgap.solvers.estimators import LinearSVC, LinearSVR
from dualgap.solvers.near_rows import NearRows

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 4))
TARGETS = X @ [1.0, 2.0, -1.0, 0.0] + RNG.standard_normal(300)
LABELS = np.where(TARGETS > 0, "yes", "no")
THREE = np.digitize(TARGETS, [-1, 1])
WEIGHT = RNG.uniform(0.5, 2.0, 300)
INTERCEPTS = [{"intercept_scaling": 2.0}, {"intercept_scaling": np.inf}, {"fit_intercept": False}]


def arrays(*args, rows=120):
    da = pytest.importorskip("dask.array")
    return [da.from_array(a, chunks=(rows, 3)[: a.ndim]) for a in args]


def frames(*args):
    dd = pytest.importorskip("dask.dataframe")
    kinds = [pd.Series(a) if a.ndim == 1 else pd.DataFrame(a, columns=list("abcd")) for a in args]
    return [dd.from_pandas(a, npartitions=2) for a in kinds]


def assert_alike(model, expected):
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=2e-4)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=2e-4)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.n_features_in_ == 4


@pytest.mark.parametrize("intercept", INTERCEPTS, ids=["scaled", "free", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_dask_arrays_give_the_classifier_of_numpy_arrays(loss, intercept):
    expected = LinearSVC(loss=loss, **intercept).fit(X, LABELS, WEIGHT)
    model = LinearSVC(loss=loss, **intercept, tol=1e-8).fit(*arrays(X, LABELS, WEIGHT))
    assert_alike(model, expected)
    assert list(model.classes_) == ["no", "yes"]
    predicted = model.predict(arrays(X)[0])
    assert predicted.dtype == LABELS.dtype
    np.testing.assert_array_equal(predicted.compute(), model.predict(X))


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_dask_arrays_give_the_regression_of_numpy_arrays(loss):
    expected = LinearSVR(loss=loss, epsilon=0.1).fit(X, TARGETS)
    model = LinearSVR(loss=loss, epsilon=0.1, tol=1e-8).fit(*arrays(X, TARGETS))
    assert_alike(model, expected)
    np.testing.assert_allclose(model.predict(arrays(X)[0]).compute(), model.predict(X))


def test_frames_of_several_classes_have_a_machine_each_and_their_features_names():
    expected = LinearSVC().fit(X, THREE)
    samples, y = frames(X, THREE)
    model = LinearSVC(tol=1e-8).fit(samples, y)
    assert_alike(model, expected)
    assert len(model.certificate_.parts) == 3
    assert list(model.feature_names_in_) == list("abcd")
    predicted = model.predict(samples).compute()
    np.testing.assert_array_equal(predicted, model.predict(samples.compute()))
    assert predicted.index.equals(samples.compute().index)


def test_frames_read_from_files_need_not_have_equal_partitions(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=LABELS)
    for k in range(4):
        frame[75 * k : 75 * k + 75].to_parquet(tmp_path / f"{k}.parquet")
    lazy = dd.read_parquet(tmp_path)  # whose columns alone Dask reads several files at a time
    model = LinearSVC(tol=1e-8).fit(lazy[["a", "b", "c", "d"]], lazy["label"])
    assert_alike(model, LinearSVC().fit(X, LABELS))


@pytest.mark.parametrize("solver", [None, "near_rows", NearRows(tol=1e-8, near=50)])
def test_blocks_of_files_carry_their_labels(solver, tmp_path):
    dense = X * (RNG.random(X.shape) < 0.5)
    dense[-1, 3] = 0.0  # so that the last block has fewer columns
    sparse = scipy.sparse.csr_array(dense)
    signs = np.where(LABELS == "yes", 1.0, -1.0)
    dump_svmlight_file(sparse, signs, str(tmp_path / "a.libsvm"), zero_based=False)
    blocks = open_blocks(tmp_path / "a.libsvm", rows=299)
    model = LinearSVC(tol=1e-8, solver=solver).fit(blocks)
    assert_alike(model, LinearSVC().fit(sparse, signs))
    assert list(model.classes_) == [-1.0, 1.0]
    with pytest.raises(ValueError, match="predict one block after another"):
        model.predict(blocks)


def blocks_of(y, folder):
    np.save(folder / "X_0.npy", X)
    np.save(folder / "y_0.npy", y)
    return open_blocks(folder)


@pytest.mark.parametrize(
    ("options", "args", "message"),
    [
        ({"penalty": "l1", "dual": False}, {}, "penalty: samples in blocks have no 'l1'"),
        ({"multi_class": "crammer_singer"}, {}, "multi_class: samples in blocks have no"),
        ({"class_weight": "balanced"}, {}, "class_weight: .* pass sample weights"),
        ({"solver": "smo"}, {}, "solver: smo gave no answer: its samples are in blocks"),
        ({"C": 0.0}, {}, "C: must be"),
        ({}, {"y": LABELS}, "y: must be None when X is Blocks"),
        ({}, {"sample_weight": WEIGHT}, "sample_weight: must be None when X is Blocks"),
    ],
)
def test_options_that_blocks_do_not_support_are_refused_by_name(options, args, message, tmp_path):
    blocks = blocks_of(np.where(TARGETS > 0, 1.0, -1.0), tmp_path)
    with pytest.raises(ValueError, match=message):
        LinearSVC(**options).fit(blocks, **args)


def test_labels_of_blocks_are_signs(tmp_path):
    with pytest.raises(ValueError, match="X: the labels of Blocks must be -1 and"):
        LinearSVC().fit(blocks_of(TARGETS, tmp_path))


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        (None, None, "y: must be a Dask Array or Series"),
        (LABELS, None, "y: must be a Dask Array or Series"),
        ("lazy", WEIGHT, "sample_weight: must be a Dask Array or Series"),
        ("one", None, "y: the number of classes has to be greater than one"),
    ],
)
def test_arguments_that_do_not_match_a_dask_array_are_refused_by_name(y, weight, message):
    samples, lazy, one = arrays(X, LABELS, np.ones(300))
    y = {"lazy": lazy, "one": one}.get(y, y) if isinstance(y, str) else y
    with pytest.raises(ValueError, match=message):
        LinearSVC().fit(samples, y, weight)


def test_a_nan_in_a_dask_array_is_named_by_partition_and_row():
    bad = X.copy()
    bad[130, 2] = np.nan
    with pytest.raises(ValueError, match=r"X: partition 1, row 10: has a NaN"):
        LinearSVC().fit(*arrays(bad, LABELS))


def test_dask_labels_that_float64_rounds_are_two_classes():
    labels = 2**53 + (TARGETS > 0)
    model = LinearSVC(loss="hinge").fit(*arrays(X, labels))
    assert model.classes_.tolist() == [2**53, 2**53 + 1]
    assert (model.predict(X) == labels).mean() > 0.8
