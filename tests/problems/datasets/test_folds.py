"""Cross-validation's folds, and all classes of a data set."""

import numpy as np
import pytest

from problems import datasets
from problems.datasets.steps import fold_rows

OPTIONS = {"n": 60, "imbalance": 5, "seed": 3}


def rows_of(X):
    return {tuple(row) for row in X}


def test_the_folds_of_a_data_set_are_its_rows_once_each():
    whole = datasets.load("two_gaussians", **OPTIONS)
    parts = [datasets.load("two_gaussians", **OPTIONS, folds=4, fold=k) for k in range(4)]
    held_out = [rows_of(part.X_test) for part in parts]
    assert set.union(*held_out) == rows_of(whole.X)
    assert sum(map(len, held_out)) == 60
    assert all(rows_of(p.X) | h == rows_of(whole.X) for p, h in zip(parts, held_out, strict=True))
    assert all(not rows_of(p.X) & h for p, h in zip(parts, held_out, strict=True))


def test_each_fold_has_its_share_of_each_class():
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
        ({"folds": 5, "fold": 0, "test_size": 0.5}, "test_size: a fold is what is held out"),
        ({"multiclass": True, "positive": 1}, "multiclass: keeps all classes"),
    ],
)
def test_a_bad_fold_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        datasets.make("two_gaussians", **options)


def test_more_folds_than_samples_of_a_class_are_refused():
    with pytest.raises(ValueError, match="folds: 5 parts need as many rows of each class, got 1"):
        fold_rows(np.arange(9), np.array([1.0] + [0.0] * 8), 5, 0, None)


def test_all_classes_are_numbered_in_their_order():
    iris = datasets.load("iris", multiclass=True)
    assert np.array_equal(np.unique(iris.y), [0, 1, 2])
    moons = datasets.load("two_moons", n=20, multiclass=True)
    assert np.array_equal(moons.y, datasets.load("two_moons", n=20).y > 0)
