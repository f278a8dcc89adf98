"""The set kernel, against counts of common subsets."""

from math import log

import numpy as np
import pytest

from dualgap.problems import RBF, SetIntersection, encode_sets

rng = np.random.default_rng(4)
FRUIT = ["apple", "cherry", "fig", "lime", "pear", "plum", "quince"]

SETS = [{f for f in FRUIT if rng.random() < 0.5} for _ in range(25)] + [set(), set(FRUIT)]
X = encode_sets(SETS)


def test_the_set_kernel_counts_common_subsets():
    expected = [[2 ** len(a & b) for b in SETS] for a in SETS]
    np.testing.assert_array_equal(SetIntersection()(X, X), expected)
    dense = X.toarray()
    np.testing.assert_array_equal(SetIntersection()(dense, dense), expected)


def test_the_set_kernel_is_the_inner_product_over_all_subsets():
    members = X.toarray().astype(bool)
    masks = (np.arange(2**7)[:, None] >> np.arange(7)) & 1
    phi = (masks[None] <= members[:, None, :]).all(axis=2).astype(float)
    np.testing.assert_array_equal(SetIntersection()(X, X), phi @ phi.T)


def test_the_normalised_set_kernel_is_gaussian_and_does_not_overflow():
    kernel = SetIntersection(normalize=True)
    expected = [[2.0 ** (-0.5 * len(a ^ b)) for b in SETS] for a in SETS]
    np.testing.assert_allclose(kernel(X, X), expected, rtol=1e-14)
    np.testing.assert_allclose(RBF(log(2) / 2)(X, X), expected, rtol=1e-12)
    large = (rng.random((6, 5000)) < 0.5).astype(float)
    assert np.isfinite(kernel(large, large)).all()
    np.testing.assert_array_equal(kernel.diagonal(large), np.ones(6))


def test_sets_are_encoded_by_their_elements():
    rows = encode_sets([{"x"}, {"z", "x"}], "xyz").toarray()
    np.testing.assert_array_equal(rows, [[1, 0, 0], [1, 0, 1]])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SetIntersection("yes"), "normalize: must be True or False, got 'yes'"),
        (lambda: SetIntersection().check(2 * X), "needs rows of zeros and ones, .* got 2"),
        (lambda: SetIntersection().check(np.ones((2, 1100))), "X: 2.1100, for a set .* normalize"),
        (lambda: encode_sets([{1, 5}], [1, 2]), "elements: 5 is in a set, but not in elements"),
    ],
)
def test_an_invalid_set_is_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_a_duplicate_element_counts_once():
    assert encode_sets([{"a"}, {"b"}], ["a", "a", "b"]).toarray().tolist() == [[1, 0], [0, 1]]
