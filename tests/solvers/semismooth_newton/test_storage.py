"""The entries of K that are kept, and how far products with them may be off."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import RBF
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.semismooth_newton import storage
from dualgap.solvers.semismooth_newton.storage import LargeEntries
from dualgap.solvers.semismooth_newton.tuning import TUNING


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_of_products_are_within_their_bound(
    monkeypatch: pytest.MonkeyPatch, dtype: type, sparse: bool
) -> None:
    monkeypatch.setattr(storage, "TUNING", replace(TUNING, tile_rows=32, tile_columns=48))
    rng = np.random.default_rng(0)
    X, sample = rng.standard_normal((90, 3)), rng.permutation(90)[:80]
    with Tiles(Gram(sp.csr_array(X) if sparse else X, RBF(2.0)), 2) as tiles:
        K = LargeEntries(tiles, sample, 1e-3, dtype)
    dense = RBF(2.0)(X[sample], X[sample])
    assert K.matrix.nnz == np.count_nonzero(dense > 1e-3) < 80**2 / 2
    assert np.allclose(K.diagonal, dense.diagonal())
    v = rng.normal(size=80)
    off = np.abs(K.product(v) - dense @ v).max()
    assert off <= K.error(v)
    assert K.error(v) <= 1e-3 * np.abs(v).sum() * 10


@pytest.mark.parametrize("factored", [0, 1000])
def test_the_inverse_is_that_of_the_free_variables(
    monkeypatch: pytest.MonkeyPatch, factored: int
) -> None:
    monkeypatch.setattr(storage, "TUNING", replace(TUNING, max_factored=factored))
    rng = np.random.default_rng(1)
    X, weights, inside = rng.standard_normal((40, 3)), rng.uniform(1, 2, 40), np.arange(40) % 3 > 0
    with Tiles(Gram(X, RBF(2.0)), 1) as tiles:
        K = LargeEntries(tiles, np.arange(40), 0.0, np.float64)
    M = RBF(2.0)(X, X)[np.ix_(inside, inside)]
    M = M * (np.eye(len(M)) if factored == 0 else 1.0) + np.diag(weights[inside])
    solution = K.inverse(inside, weights)(v := rng.normal(size=40))
    assert not solution[~inside].any()
    assert np.allclose(M @ solution[inside], v[inside])
