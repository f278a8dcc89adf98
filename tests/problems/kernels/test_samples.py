"""Equal samples are found, dense and sparse, and where there are none."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems.kernels.samples import distinct


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_each_sample_equals_its_representative(kind, rows):
    X = np.random.default_rng(0).integers(0, 3, (rows, 2)).astype(np.float64)
    first, of = distinct(kind(X))
    np.testing.assert_array_equal(X[first][of], X)
    assert first.size == np.unique(X, axis=0).shape[0]


@pytest.mark.parametrize("n", [5, 7, 10, 33])
def test_equal_dense_rows_are_found_at_every_position(n):
    rng = np.random.default_rng(0)
    for d in (3, 8, 17, 300):
        X = rng.standard_normal((n // 3, d))[np.arange(n) % (n // 3)]
        assert distinct(X)[0].size == n // 3
