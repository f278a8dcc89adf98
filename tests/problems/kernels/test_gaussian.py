"""The Gaussian kernel: small distances between large features, and extreme widths."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import RBF, Subset

rng = np.random.default_rng(0)
X, Z = rng.standard_normal((12, 3)), rng.standard_normal((7, 3))


@pytest.mark.parametrize("offset", [1e3, 1e8])
def test_rbf_is_accurate_for_close_samples_with_large_features(offset):
    shifted = np.round(X * 64) / 64 + offset  # so that the shift itself is exact
    centred = shifted - offset
    np.testing.assert_allclose(RBF(1.0)(shifted, shifted), RBF(1.0)(centred, centred), rtol=1e-10)


def test_rbf_of_features_scaled_by_1e8():
    np.testing.assert_allclose(RBF(1e-16)(1e8 * X, 1e8 * Z), RBF(1.0)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(RBF(1e16)(1e-8 * X, 1e-8 * Z), RBF(1.0)(X, Z), rtol=1e-12)


def test_rbf_with_extreme_gamma():
    np.testing.assert_array_equal(RBF(1e300)(X, X), np.eye(12))
    np.testing.assert_allclose(RBF(1e-300)(X, X), np.ones((12, 12)))


def test_sparse_columns_in_any_order_have_the_same_distances():
    rows = sp.csr_array([[0.0, 0.0, 100.0], [1.0, 0.0, 100.0]])
    assert Subset(RBF(1.0), (2, 0))(rows, rows)[0, 1] == pytest.approx(np.exp(-1.0))
