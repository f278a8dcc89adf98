"""Data sets by name: generators, bundled sets and the steps that all sources share."""

import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from problems import datasets
from problems.dataset import Dataset, check_labels
from problems.datasets.steps import fit_scaling, to_signs

GENERATORS = [name for name in datasets.names() if "generator" in datasets.describe(name)]
BUNDLED = [name for name in datasets.names() if ": bundled" in datasets.describe(name)]
REGRESSION = {"regression", "friedman", "diabetes"}
SEVERAL = {"blobs", "hidden_markov"}  # classes
KEPT = {"blobs": {"multiclass": True}}
POSITIVE = {"digits": 3, "wine": 0, "iris": "virginica"}


def dense(X):
    return X.toarray() if sp.issparse(X) else X


class Fixed(datasets.Source):
    """A source whose rows are given by the test."""

    X = np.arange(20.0).reshape(10, 2)
    y = np.array([1.0, -1.0] * 5)

    def read(self):
        return datasets.Raw(self.X, self.y)


@pytest.mark.parametrize("name", GENERATORS)
def test_generator_is_deterministic_under_its_seed(name):
    first, again, other = (
        datasets.load(name, seed=seed, **KEPT.get(name, {})) for seed in (3, 3, 4)
    )
    assert first.checksum == again.checksum
    assert first.checksum != other.checksum


@pytest.mark.parametrize("name", GENERATORS)
def test_generator_leaves_the_global_random_state_alone(name):
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


def test_generators_are_those_promised():
    assert GENERATORS == [
        "blobs",
        "classification",
        "four_gaussians",
        "friedman",
        "graph_families",
        "hidden_markov",
        "motif_strings",
        "planted_sets",
        "regression",
        "separable",
        "sparse_classification",
        "two_gaussians",
        "two_moons",
    ]


def test_sequences_are_whole_and_their_labels_follow_each_other():
    data = datasets.load("hidden_markov", n=200, length=10, labels=3, noise=0.1, seed=0)
    assert data.n == 2000
    assert set(data.y) == {0.0, 1.0, 2.0}
    y = data.y.astype(int).reshape(200, 10)
    counts = np.zeros((3, 3))
    np.add.at(counts, (y[:, :-1].ravel(), y[:, 1:].ravel()), 1)
    assert (counts.max(axis=1) > 0.5 * counts.sum(axis=1)).any()


@pytest.mark.parametrize("option", [{"limit": 5}, {"test_size": 0.5}, {"folds": 2, "fold": 0}])
def test_sequences_are_not_torn_apart(option):
    with pytest.raises(ValueError, match="would split sequences"):
        datasets.load("hidden_markov", **option)


def test_four_gaussians_has_its_centres_labels_and_unit_variance():
    data = datasets.load("four_gaussians", n=40_000, seed=1)
    centres = {(-1, -2): -1, (2, 3): -1, (-4, 8): 1, (6, 0): 1}
    nearest = np.argmin([np.linalg.norm(data.X - c, axis=1) for c in centres], axis=0)
    for cluster, (centre, label) in enumerate(centres.items()):
        # far from the border between clusters that share a label only the own samples count
        own = data.X[(nearest == cluster) & (data.y == label)]
        assert own.mean(axis=0) == pytest.approx(centre, abs=0.05)
        assert own.var(axis=0) == pytest.approx([1, 1], abs=0.06)


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
def test_separable_has_exactly_the_margin_asked_for(d):
    data = datasets.load("separable", n=60, d=d, margin=0.25, seed=d)
    positive, negative = data.X[data.y > 0], data.X[data.y < 0]
    differences = (positive[:, None] - negative).reshape(-1, d)
    closest = differences[np.argmin(np.linalg.norm(differences, axis=1))]
    u = closest / np.linalg.norm(closest)
    # the closest pair is 2·margin apart, and its direction separates everything by that much
    assert np.linalg.norm(closest) == pytest.approx(0.5)
    assert (data.y * (data.X @ u)).min() == pytest.approx(0.25)


def test_sparse_classification_is_csr_of_the_density_asked_for():
    data = datasets.load("sparse_classification", n=100, d=500, density=0.02)
    assert sp.issparse(data.X)
    assert data.X.nnz == 1000
    assert (data.y == 1).sum() == 50


def test_regression_outliers_are_gross_and_as_many_as_asked_for():
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


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_set_has_the_shape_it_is_described_with(name):
    data = datasets.load(name, positive=POSITIVE.get(name))
    assert f"{data.n} x {data.d}" in datasets.describe(name)
    assert data.name == name
    if name not in REGRESSION:
        check_labels(data.y, data.n)


def test_breast_cancer_maps_the_larger_label_to_plus_one():
    assert (datasets.load("breast_cancer").y == 1).sum() == 357
    assert (datasets.load("breast_cancer", positive="malignant").y == 1).sum() == 212
    assert (datasets.load("breast_cancer", positive=0).y == 1).sum() == 212


def test_more_than_two_classes_need_positive():
    with pytest.raises(ValueError, match=r"^positive: .*3 classes \(0 = setosa, 1 = vers.*becomes"):
        datasets.load("iris")
    with pytest.raises(ValueError, match=r"^positive: .*10 classes \(0, 1, 2"):
        datasets.load("digits")


@pytest.mark.parametrize("positive", [7, "rose", -1.0])
def test_positive_must_be_one_of_the_labels(positive):
    with pytest.raises(ValueError, match=r"^positive: .* is not a label; the labels are 0 = set"):
        datasets.load("iris", positive=positive)


def test_regression_refuses_positive():
    with pytest.raises(ValueError, match=r"^positive: diabetes is a regression data set"):
        datasets.make("diabetes", positive=1)


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
        (["a", "b", "c"], "b", [-1, 1, -1]),
        ([5, 5], 5, [1, 1]),
        ([False, True], None, [-1, 1]),
    ],
)
def test_labels_become_signs(labels, positive, signs):
    assert to_signs(np.array(labels), positive).tolist() == signs


def test_a_single_unknown_label_is_refused():
    with pytest.raises(ValueError, match=r"^positive: every label is 3"):
        to_signs(np.array([3, 3]))


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
    scaling = fit_scaling(storage(X))
    scaled = dense(scaling.apply(storage(X)))
    assert scaling.scale[:2].tolist() == [1.0, 1.0]
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
    whole, part = datasets.load("breast_cancer"), datasets.load("breast_cancer", limit=20)
    assert (whole.X[:20] == part.X).all()
    assert (part.y == whole.y[:20]).all()
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


def test_split_partitions_the_rows_and_does_not_change_those_that_are_kept():
    data = Fixed(test_size=0.25, seed=1, limit=8).load()
    kept = Fixed(seed=1, limit=8).load().X[:, 0].tolist()
    assert sorted([*data.X[:, 0], *data.X_test[:, 0]]) == kept
    assert data.X_test.shape == (2, 2)
    assert data.y_test.shape == (2,)


def test_split_of_a_single_row_is_refused():
    with pytest.raises(ValueError, match=r"^test_size: .*leaves none to train on"):
        Fixed(test_size=0.5, limit=1).load()


def test_no_test_part_unless_asked_for():
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


def test_n_features_below_what_is_present_is_refused():
    with pytest.raises(ValueError, match=r"^n_features: is 3, but the data have 30"):
        datasets.load("breast_cancer", n_features=3)


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [
        ("two_moons", "n", 1),
        ("two_moons", "n", 2.5),
        ("two_moons", "n", True),
        ("two_moons", "n", "10"),
        ("two_moons", "seed", None),
        ("two_moons", "seed", -1),
        ("two_moons", "noise", -0.1),
        ("two_moons", "noise", float("nan")),
        ("two_moons", "standardize", "yes"),
        ("two_moons", "limit", 0),
        ("two_moons", "positive", True),
        ("two_moons", "positive", float("nan")),
        ("two_moons", "test_size", 1.0),
        ("two_moons", "test_size", -0.1),
        ("two_gaussians", "imbalance", 0),
        ("classification", "informative", 21),
        ("classification", "flip", 1.5),
        ("friedman", "d", 4),
        ("separable", "margin", 0.0),
        ("sparse_classification", "density", 0.0),
        ("regression", "outliers", 2),
        ("iris", "n_features", 0),
    ],
)
def test_bad_value_is_refused_by_the_name_of_its_option(name, option, value):
    with pytest.raises(ValueError, match=f"^{option}: must be "):
        datasets.make(name, **{option: value})


def test_numpy_numbers_are_accepted():
    assert datasets.load("two_moons", n=np.int64(5), noise=np.float32(0.5)).n == 5


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("brest_cancer", {}, "dataset: unknown name 'brest_cancer'; did you mean 'breast_cancer'?"),
        ("two_moons", {"nois": 1}, "two_moons: unknown option 'nois'; did you mean 'noise'?"),
        ("a9a", {"zzz": 1}, "a9a: unknown option 'zzz'; known are standardize, limit, "),
        ("libsvm_file", {}, "libsvm_file: needs the option 'path'"),
    ],
)
def test_unknown_and_missing_words_are_named(name, options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        datasets.make(name, **options)


@pytest.mark.parametrize("name", datasets.names())
def test_every_name_is_described_in_one_line_and_takes_the_common_options(name):
    line = datasets.describe(name)
    assert line.startswith(f"{name}: ")
    assert "\n" not in line
    common = {"standardize", "limit", "positive", "n_features", "seed", "test_size"}
    assert common <= set(datasets.fields(name))
    assert "name" not in datasets.fields(name)


def test_fields_carry_types_and_defaults():
    options = datasets.fields("two_moons")
    assert (options["n"].type, options["n"].default) == (int, 200)
    assert datasets.fields("libsvm_file")["zero_based"].type is bool


def test_sources_are_frozen_and_equal_by_value():
    source = datasets.make("two_moons", n=10)
    assert source == datasets.TwoMoons(n=10)
    with pytest.raises(AttributeError):
        source.n = 20


def test_load_gives_a_data_set_that_is_read_only():
    data = datasets.load("two_moons", n=10)
    assert isinstance(data, Dataset)
    assert not data.X.flags.writeable


def test_check_of_a_generator_does_nothing():
    assert datasets.make("two_moons").check() is None


def test_importing_stays_light():
    code = "import sys, problems.datasets; print({'sklearn', 'pooch', 'requests'} & {*sys.modules})"
    command = [sys.executable, "-W", "error", "-c", code]
    assert subprocess.run(command, check=True, capture_output=True).stdout.strip() == b"set()"
