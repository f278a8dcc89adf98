"""The steps that all data sets share: labels, limit, split, folds, scaling, padding."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dualgap.problems import datasets
from dualgap.problems.datasets.libsvm import TableFile
from dualgap.problems.datasets.steps import fold_rows, name_classes, standardized, to_signs

OPTIONS = {"n": 60, "imbalance": 5, "seed": 3}


def dense(X):
    return X.toarray() if sp.issparse(X) else X


class Fixed(datasets.Source):
    """A source whose rows are given by the test."""

    X = np.arange(20.0).reshape(10, 2)
    y = np.array([1.0, -1.0] * 5)

    def read(self):
        return datasets.Raw(self.X, self.y)


@pytest.mark.parametrize(
    ("labels", "y", "names", "expected"),
    [
        (["yes", "no", "no"], [1, -1, -1], (), ("no", "yes")),
        (["a", "b", "c"], [-1, 1, -1], (), ("not b", "b")),
        (["c", "a", "b"], [2, 0, 1], (), ("a", "b", "c")),
        ([0, 1, 2], [1, -1, -1], ("setosa", "versicolor", "virginica"), ("not setosa", "setosa")),
        ([0.0, 1.0], [-1, 1], (), ()),
        (["yes"], [1], (), ("yes",)),
    ],
)
def test_classes_are_named_by_their_labels(labels, y, names, expected):
    assert name_classes(np.array(labels), np.array(y), names) == expected


@pytest.mark.parametrize(
    ("labels", "positive", "signs"),
    [
        ([-1, 1, 1], None, [-1, 1, 1]),
        ([0, 1, 0], None, [-1, 1, -1]),
        ([2.0, 1.0, 2.0], None, [1, -1, 1]),
        ([-1, -1], None, [-1, -1]),
        ([-1, 1, 1], -1, [1, -1, -1]),
        ([-1, 1, 1], "-1", [1, -1, -1]),
        (["no", "yes", "no"], None, [-1, 1, -1]),
        (["+", "-", "+"], None, [1, -1, 1]),
        (["True", "False"], None, [1, -1]),
        (["Positive", "negative"], None, [1, -1]),
        (["9", "10"], None, [-1, 1]),
        (["1", "−1", "+1"], None, [1, -1, 1]),
        (["None", "NA"], "NA", [-1, 1]),
        (["a", "b", "c"], "b", [-1, 1, -1]),
        ([5, 5], 5, [1, 1]),
        ([False, True], None, [-1, 1]),
        ([2**53, 2**53 + 1], None, [-1, 1]),
        ([2**53, 2**53 + 1, 2**53 + 2], 2**53 + 1, [-1, 1, -1]),
        (["9007199254740992", "9007199254740993"], "9007199254740993", [-1, 1]),
    ],
)
def test_labels_become_signs(labels, positive, signs):
    assert to_signs(np.array(labels), positive).tolist() == signs


def test_labels_of_a_column_of_objects_are_words(monkeypatch):
    monkeypatch.setattr(Fixed, "y", np.array(["good", "bad"] * 5, dtype=object))
    with pytest.raises(ValueError, match="the labels are text, such as 'bad', 'good'"):
        Fixed().load()
    assert Fixed(positive="good").load().names.classes == ("bad", "good")


def test_a_missing_label_is_refused(monkeypatch):
    monkeypatch.setattr(Fixed, "y", np.array([1.0, np.nan] * 5))
    with pytest.raises(ValueError, match="y: has 5 NaN or infinite entries"):
        Fixed(positive=1).load()


def test_a_single_unknown_label_is_refused():
    with pytest.raises(ValueError, match=r"^positive: every label is 3"):
        to_signs(np.array([3, 3]))


@pytest.mark.parametrize("labels", [["9 km", "10 km"], ["a", "b"], ["yes", "true"], ["1", "x"]])
def test_two_unknown_text_labels_need_positive(labels):
    with pytest.raises(ValueError, match=r"^positive: the labels are text, such as .* say with"):
        to_signs(np.array(labels))


@pytest.mark.parametrize("name", ["breast_cancer", "sparse_classification"])
def test_standardize_gives_unit_variance_and_zero_mean_where_dense(name):
    X = datasets.load(name, standardize=True).X
    varying = np.ptp(dense(X), axis=0) > 0
    assert dense(X).std(axis=0)[varying] == pytest.approx(1.0)
    if not sp.issparse(X):
        assert X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_standardize_survives_constant_features_and_extreme_scales(storage):
    column = np.array([0.0, 1.0, 3.0, 0.0, 2.0, 0.0])
    X = np.column_stack([np.full(6, 0.1), np.zeros(6), column * 1e200, column * 1e-200, column])
    scaled, again = (dense(part) for part in standardized(storage(X), storage(X)))
    assert np.array_equal(scaled, again)
    assert not scaled[:, 1].any()
    assert scaled[:, 0].tolist() == [0.0 if storage is np.asarray else 0.1] * 6
    assert scaled[:, 2:].std(axis=0) == pytest.approx(1.0)
    assert np.ptp(scaled[:, 2:], axis=1) == pytest.approx(0.0, abs=1e-12)


def test_standardize_is_fitted_on_the_training_part_only():
    data = datasets.load("breast_cancer", standardize=True, test_size=0.3, seed=1)
    raw = datasets.load("breast_cancer", test_size=0.3, seed=1)
    assert (data.n, len(data.y_test)) == (398, 171)
    assert data.X.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert np.abs(data.X_test.mean(axis=0)).max() > 1e-3
    expected = (raw.X_test - raw.X.mean(axis=0)) / raw.X.std(axis=0)
    assert data.X_test == pytest.approx(expected)


def test_limit_without_seed_keeps_the_first_rows():
    full_data, part = datasets.load("breast_cancer"), datasets.load("breast_cancer", limit=20)
    assert (full_data.X[:20] == part.X).all()
    assert (part.y == full_data.y[:20]).all()
    assert datasets.load("breast_cancer", limit=10_000).n == 569


def test_limit_with_seed_draws_distinct_rows_in_their_order():
    part = Fixed(limit=6, seed=2).load()
    assert (np.diff(part.X[:, 0]) > 0).all()
    assert part.X[:, 0].tolist() != Fixed.X[:6, 0].tolist()
    assert (part.y == Fixed.y[(part.X[:, 0] / 2).astype(int)]).all()
    assert part.checksum == Fixed(limit=6, seed=2).load().checksum
    assert part.checksum != Fixed(limit=6, seed=3).load().checksum


def test_which_label_is_positive_does_not_depend_on_the_limit():
    # the first rows of breast_cancer are all malignant
    assert set(datasets.load("breast_cancer", limit=5).y) == {-1.0}


def test_a_split_partitions_the_rows_selected_by_limit():
    data = Fixed(test_size=0.25, seed=1, limit=8).load()
    rows = Fixed(seed=1, limit=8).load().X[:, 0].tolist()
    assert sorted([*data.X[:, 0], *data.X_test[:, 0]]) == rows
    assert data.X_test.shape == (2, 2)
    assert data.y_test.shape == (2,)


def test_split_of_a_single_row_is_refused():
    with pytest.raises(ValueError, match=r"^test_size: .*leaves none to train on"):
        Fixed(test_size=0.5, limit=1).load()


def test_there_is_no_test_part_by_default():
    data = Fixed().load()
    assert data.X_test is None
    assert data.y_test is None


@pytest.mark.parametrize("name", ["two_moons", "sparse_classification"])
def test_n_features_appends_zero_columns(name):
    plain = datasets.load(name)
    padded = datasets.load(name, n_features=plain.d + 3)
    assert padded.d == plain.d + 3
    assert (dense(padded.X)[:, : plain.d] == dense(plain.X)).all()
    assert not dense(padded.X)[:, plain.d :].any()


def test_n_features_below_the_number_present_is_refused():
    with pytest.raises(ValueError, match=r"^n_features: is 3, but the data have 30"):
        datasets.load("breast_cancer", n_features=3)


def rows_of(X):
    return {tuple(row) for row in X}


def test_the_folds_of_a_data_set_are_its_rows_once_each():
    full_data = datasets.load("two_gaussians", **OPTIONS)
    parts = [datasets.load("two_gaussians", **OPTIONS, folds=4, fold=k) for k in range(4)]
    held_out = [rows_of(part.X_test) for part in parts]
    assert set.union(*held_out) == rows_of(full_data.X)
    assert sum(map(len, held_out)) == 60
    assert all(
        rows_of(p.X) | h == rows_of(full_data.X) for p, h in zip(parts, held_out, strict=True)
    )
    assert all(not rows_of(p.X) & h for p, h in zip(parts, held_out, strict=True))


def test_folds_are_stratified_by_class():
    for k in range(4):
        part = datasets.load("two_gaussians", **OPTIONS, folds=4, fold=k)
        rare = [(y > 0).mean() for y in (part.y, part.y_test)]
        assert rare[0] == pytest.approx(rare[1], abs=0.1)


def test_regression_folds_are_of_any_rows():
    sizes = [datasets.load("diabetes", folds=5, fold=k).y_test.size for k in range(5)]
    assert sum(sizes) == 442
    assert max(sizes) - min(sizes) <= 1


def test_a_fold_is_scaled_by_its_training_part():
    part = datasets.load("diabetes", standardize=True, folds=3, fold=1)
    assert np.allclose(part.X.mean(axis=0), 0, atol=1e-12)
    assert not np.allclose(part.X_test.mean(axis=0), 0, atol=1e-3)


def test_other_seeds_draw_other_folds():
    first, again, other = (
        fold_rows(np.arange(50), None, 5, 0, seed)[1].tolist() for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 5}, "fold: give both"),
        ({"fold": 0}, "fold: give both"),
        ({"folds": 5, "fold": 5}, "fold: must be below folds"),
        ({"folds": 1, "fold": 0}, "folds: must be an integer, 2 or above"),
        ({"folds": 5, "fold": 0, "test_size": 0.5}, "test_size: a fold is held out already"),
        ({"multiclass": True, "positive": 1}, "multiclass: keeps all classes"),
    ],
)
def test_a_bad_fold_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        datasets.make("two_gaussians", **options)


def test_more_folds_than_samples_of_a_class_are_refused():
    with pytest.raises(ValueError, match="folds: 5 parts need as many rows of each class, got 1"):
        fold_rows(np.arange(9), np.array([1.0] + [0.0] * 8), 5, 0, None)


def test_integers_that_float64_rounds_are_different_classes(tmp_path):
    y = 2**53 + np.array([0, 1, 2, 0])
    np.savez(tmp_path / "a.npz", X=np.eye(4), y=y)
    pd.DataFrame(np.eye(4)).add_prefix("x").assign(y=y).to_csv(tmp_path / "a.csv", index=False)
    archive = datasets.LibsvmFile(path=tmp_path / "a.npz", multiclass=True).load()
    table = TableFile(path=tmp_path / "a.csv", target="y", multiclass=True).load()
    assert archive.y.tolist() == table.y.tolist() == [0.0, 1.0, 2.0, 0.0]
    with pytest.raises(ValueError, match="9007199254740992, 9007199254740993, 9007199254740994"):
        datasets.LibsvmFile(path=tmp_path / "a.npz").load()


def test_all_classes_are_numbered_in_their_order():
    iris = datasets.load("iris", multiclass=True)
    assert np.array_equal(np.unique(iris.y), [0, 1, 2])
    moons = datasets.load("two_moons", n=20, multiclass=True)
    assert np.array_equal(moons.y, datasets.load("two_moons", n=20).y > 0)
