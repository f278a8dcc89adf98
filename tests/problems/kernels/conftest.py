"""What holds of every kernel on symbolic samples."""

import numpy as np
import pytest
import scipy.sparse as sp

from problems import Gram


@pytest.fixture
def assert_consistent():
    """A check of a semidefinite kernel: every access has the same values, zero columns change none."""

    def check(X, kernel, extra):
        K = kernel(X, X)
        values = np.linalg.eigvalsh(K)
        assert values[0] >= -1e-10 * values[-1]
        assert kernel.is_psd is True
        kernel.check(X)
        rows, cols = np.array([1, 0, 7]), slice(3, 20)
        close = {"rtol": 1e-12, "atol": 1e-15}
        np.testing.assert_allclose(kernel.diagonal(X), np.diag(K), rtol=1e-12)
        np.testing.assert_allclose(kernel.bind(X).block(rows, cols), K[rows][:, cols], **close)
        np.testing.assert_allclose(kernel.bind(X).cross(X[:4], rows), K[:4][:, rows], **close)
        np.testing.assert_allclose(Gram(X, kernel).dense(), K, **close)
        wide = sp.csr_array(sp.hstack([sp.csr_array(X), sp.csr_array((X.shape[0], extra))]))
        np.testing.assert_allclose(kernel(wide, wide), K, rtol=1e-12)

    return check
