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
