"""Generated data sets: drawn from their seeds alone, with the structure that they promise."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import datasets
from dualgap.problems.dataset import check_labels
from dualgap.problems.datasets.source import Generator

GENERATORS = [name for name, cls in datasets.SOURCES.items() if issubclass(cls, Generator)]
REGRESSION = {"regression", "friedman"}
SEVERAL = {"blobs", "hidden_markov"}  # classes
KEPT = {"blobs": {"multiclass": True}}


@pytest.mark.parametrize("name", GENERATORS)
def test_generator_is_deterministic_under_its_seed(name):
    first, again, other = (
        datasets.load(name, seed=seed, **KEPT.get(name, {})) for seed in (3, 3, 4)
    )
    assert first.checksum == again.checksum
    assert first.checksum != other.checksum


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_does_not_change_the_global_random_state(name):
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    datasets.load(name, **KEPT.get(name, {}))
    assert (before == np.random.get_state()[1]).all()  # noqa: NPY002


@pytest.mark.parametrize("name", [name for name in GENERATORS if name not in SEVERAL])
@pytest.mark.parametrize("n", [2, 3, 7, 50])
def test_generator_gives_n_rows_with_both_classes(name, n):
    data = datasets.load(name, n=n, **({"flip": 0.0} if name == "classification" else {}))
    assert (data.n, data.name) == (n, name)
    if name not in REGRESSION:
        assert set(check_labels(data.y, n)) == {-1.0, 1.0}


def test_four_gaussians_has_its_centres_labels_and_unit_variance():
    data = datasets.load("four_gaussians", n=40_000, seed=1)
    centres = {(-1, -2): -1, (2, 3): -1, (-4, 8): 1, (6, 0): 1}
    nearest = np.argmin([np.linalg.norm(data.X - c, axis=1) for c in centres], axis=0)
    for cluster, (centre, label) in enumerate(centres.items()):
        # far from the border between clusters that share a label only the own samples count
        cloud = data.X[(nearest == cluster) & (data.y == label)]
        assert cloud.mean(axis=0) == pytest.approx(centre, abs=0.05)
        assert cloud.var(axis=0) == pytest.approx([1, 1], abs=0.06)


def test_four_gaussians_has_200_samples_of_each_cloud_by_default():
    data = datasets.load("four_gaussians")
    assert data.n == 800
    assert (data.y == 1).sum() == 400


def test_two_gaussians_keeps_its_distance_and_imbalance():
    data = datasets.load("two_gaussians", n=30_000, d=4, distance=3.0, imbalance=2.0)
    means = [data.X[data.y == label].mean(axis=0) for label in (-1, 1)]
    assert np.linalg.norm(means[1] - means[0]) == pytest.approx(3.0, abs=0.06)
    assert (data.y == 1).sum() == 10_000


def test_two_gaussians_one_to_a_thousand_keeps_a_positive_sample():
    assert (datasets.load("two_gaussians", n=100, imbalance=1000).y == 1).sum() == 1


def test_two_moons_without_noise_lies_on_two_half_circles():
    data = datasets.load("two_moons", noise=0.0)
    outer, inner = data.X[data.y < 0], data.X[data.y > 0]
    assert np.linalg.norm(outer, axis=1) == pytest.approx(1.0)
    assert np.linalg.norm(inner - [1.0, 0.5], axis=1) == pytest.approx(1.0)
    assert (outer[:, 1] >= 0).all()
    assert (inner[:, 1] <= 0.5).all()


@pytest.mark.parametrize("d", [1, 2, 10])
def test_separable_has_exactly_the_requested_margin(d):
    data = datasets.load("separable", n=60, d=d, margin=0.25, seed=d)
    positive, negative = data.X[data.y > 0], data.X[data.y < 0]
    differences = (positive[:, None] - negative).reshape(-1, d)
    closest = differences[np.argmin(np.linalg.norm(differences, axis=1))]
    u = closest / np.linalg.norm(closest)
    # the closest pair is 2·margin apart, and its direction separates everything by that much
    assert np.linalg.norm(closest) == pytest.approx(0.5)
    assert (data.y * (data.X @ u)).min() == pytest.approx(0.25)


def test_sparse_classification_is_csr_of_the_requested_density():
    data = datasets.load("sparse_classification", n=100, d=500, density=0.02)
    assert sp.issparse(data.X)
    assert data.X.nnz == 1000
    assert (data.y == 1).sum() == 50


def test_regression_has_the_requested_number_of_gross_outliers():
    clean = datasets.load("regression", n=100, seed=5)
    dirty = datasets.load("regression", n=100, seed=5, outliers=0.1)
    moved = np.abs(dirty.y - clean.y)
    assert (moved > 0).sum() == 10
    assert moved[moved > 0].min() >= 5


def test_regression_without_noise_is_linear():
    data = datasets.load("regression", noise=0.0)
    design = np.column_stack([data.X, np.ones(data.n)])
    w = np.linalg.lstsq(design, data.y)[0]
    assert design @ w == pytest.approx(data.y)
    assert np.linalg.norm(w[:-1]) == pytest.approx(1.0)


def test_friedman_without_noise_is_its_formula():
    data = datasets.load("friedman", n=20, noise=0.0)
    a, b, c, d, e = data.X[:, :5].T
    expected = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    assert data.y == pytest.approx(expected)
