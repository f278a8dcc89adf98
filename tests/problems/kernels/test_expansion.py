"""Squared distances of few digits are not rounded, dense or sparse, in float32 or float64."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems.kernels.expansion import exact_type, products_with


@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("largest", "dtype"), [(7, np.float32), (10**5, np.float64)])
def test_products_of_small_integers_are_exact(largest, dtype, sparse, density):
    rng = np.random.default_rng(0)
    whole = rng.integers(-largest, largest, (40, 90), endpoint=True)
    whole[rng.random((40, 90)) > density] = 0
    X = whole / 2.0**5
    X = sp.csr_array(X) if sparse else X
    found = exact_type(X)
    assert found == dtype
    cols, rows = np.arange(1, 40, 2), slice(3, 20)
    exact = whole[rows].astype(object) @ whole[cols].T.astype(object)
    K = products_with(X, cols, found)(rows)
    assert K.dtype == dtype
    assert ((exact / 2**10).astype(np.float64) == K).all()


@pytest.mark.parametrize("X", [[[0.1, 0.7]], [[1.0, 2.0**-40]], [[1e300]], [[1e-200]], [[0.0]]])
def test_other_samples_have_no_such_type(X):
    assert exact_type(np.array(X)) is None
