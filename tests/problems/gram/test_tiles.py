"""Tiles of a Gram matrix agree with the Gram matrix, for every kernel, precision and shape."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import RBF, Linear, Polynomial, Precomputed, Sigmoid
from dualgap.problems.gram.gram import Gram
from dualgap.problems.gram.panels import HEIGHT, WIDTH, fill, pack
from dualgap.problems.gram.tiles import Tiles
from dualgap.problems.kernels import Kernel

KERNELS: dict[str, Kernel] = {
    "linear": Linear(),
    "polynomial": Polynomial(3, 0.2, 1.0),
    "rbf": RBF(0.3),
    "sigmoid": Sigmoid(0.1, -0.2),
    "sum": RBF(0.3) + 0.5 * Linear(),
}
ACCURACY = {np.float32: 2e-5, np.float64: 1e-12}


def samples(
    n: int = 700, d: int = 9, sparse: bool = False, spacing: int = 1
) -> np.ndarray | sp.csr_array:
    """Return dense samples, or sparse ones whose features are `spacing` columns apart, and some rare."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d)) + 3.0
    if not sparse:
        return X
    X[rng.random((n, d)) < np.linspace(0.7, 0.98, d)] = 0.0
    X[17] = 0.0  # a row without entries
    csr = sp.csr_array(X)
    shape = n, spacing * d
    return sp.csr_array((csr.data, spacing * csr.indices, csr.indptr), shape=shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("sparse", "spacing"), [(False, 1), (True, 1), (True, 600)])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_blocks_and_products_are_those_of_the_gram_matrix(
    kernel: str, sparse: bool, spacing: int, dtype: type
) -> None:
    gram = Gram(samples(sparse=sparse, spacing=spacing), KERNELS[kernel])
    X = samples(sparse=sparse)
    dense = Gram(X.toarray() if sparse else X, KERNELS[kernel])
    rng = np.random.default_rng(1)
    rows, cols = rng.permutation(700)[:611], rng.permutation(700)[:530]  # more than one tile
    weights = rng.standard_normal(530)
    K = dense.block(rows, cols)
    scale = np.abs(K).max()
    np.testing.assert_allclose(gram.block(rows, cols), K, rtol=0, atol=1e-14 * scale)
    with Tiles(gram, 2) as tiles:
        columns = tiles.columns(cols, dtype)
        block, product = tiles.block(rows, columns), tiles.product(rows, columns, weights)
    assert block.dtype == dtype
    assert np.abs(block - K).max() <= ACCURACY[dtype] * scale
    assert np.abs(product - K @ weights).max() <= 50 * ACCURACY[dtype] * scale


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [3, 512, 1400])
def test_a_symmetric_product_evaluates_about_half_of_the_values(
    n: int, sparse: bool, threads: int
) -> None:
    gram = Gram(samples(1500, sparse=sparse), RBF(0.3))
    rng = np.random.default_rng(1)
    members, weights = rng.permutation(1500)[:n], rng.standard_normal(n)
    with Tiles(gram, threads) as tiles:
        before = gram.evaluations
        product = tiles.symmetric_product(members, np.float64, weights)
        assert gram.evaluations - before <= 0.5 * n * (n + 512)
    assert np.allclose(product, gram.block(members, members) @ weights, rtol=0, atol=1e-10)


LAYOUTS = {
    "dense": samples(800, 60) - 3.0,
    "sparse": samples(800, sparse=True),
    "many features": samples(800, sparse=True, spacing=600),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [3, 33, 512, 701])
@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_a_symmetric_block_has_both_triangles(
    kernel: str, layout: str, n: int, threads: int
) -> None:
    gram = Gram(LAYOUTS[layout], KERNELS[kernel])
    members = np.random.default_rng(1).permutation(800)[:n]
    K = gram.block(members, members)
    with Tiles(gram, threads) as tiles:
        block = tiles.symmetric_block(members, tiles.columns(members, np.float32))
    assert np.abs(block - K).max() <= ACCURACY[np.float32] * np.abs(K).max()


def test_tiles_are_written_to_out_and_values_are_counted() -> None:
    gram = Gram(samples(), RBF(0.3))
    rows, cols = np.arange(5), np.arange(40)
    out = np.full((5, 40), np.nan)
    with Tiles(gram, 2) as tiles:
        before = gram.evaluations
        tiles.block(rows, tiles.columns(cols, np.float64), out)
        assert gram.evaluations - before == out.size
    assert np.allclose(out, gram.block(rows, cols))


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_each_column_of_a_block_is_used_once(layout: str) -> None:
    gram = Gram(LAYOUTS[layout], RBF(0.3))
    used = np.zeros(800, int)

    def use(first: int, last: int) -> None:
        used[first:last] += 1

    with Tiles(gram, 2) as tiles:
        columns = tiles.columns(np.arange(800), np.float32)
        tiles.block(np.arange(300), columns, use=use, work=2**24)
    assert (used == 1).all()


def test_threads_divide_the_columns_of_wide_tiles() -> None:
    gram = Gram(samples(2500, 150), Polynomial(2, 0.01, 1.0))
    rows, cols = np.arange(300), np.arange(2499)
    with Tiles(gram, 2) as tiles:
        block = tiles.block(rows, tiles.columns(cols, np.float64))
    assert np.allclose(block, gram.block(rows, cols), rtol=1e-12, atol=0)


def test_tiles_of_a_precomputed_gram_matrix_are_read() -> None:
    X = samples(60)
    K = X @ X.T
    with Tiles(Gram(K, Precomputed()), 1) as tiles:
        rows, cols = np.array([3, 1, 59]), np.arange(60)
        assert np.array_equal(tiles.block(rows, tiles.columns(cols, np.float64)), K[rows])


def test_distant_samples_are_computed_in_double_precision() -> None:
    X = 1e3 * samples(60)
    with Tiles(Gram(X, RBF(1.0)), 1) as tiles:
        assert not tiles.precise(np.float32)
        assert not tiles.precise(np.float64)
        columns = tiles.columns(np.arange(60), np.float64)
        assert np.array_equal(tiles.block(np.arange(60), columns), RBF(1.0)(X, X))


@pytest.mark.parametrize("size", [1e-40, 1e40])
def test_values_beyond_the_range_of_float32_are_computed_in_float64(size: float) -> None:
    with Tiles(Gram(samples(60), size * RBF(1.0)), 1) as tiles:
        assert not tiles.precise(np.float32)
        assert tiles.precise(np.float64)


@pytest.mark.parametrize(
    ("scale", "kernel"),
    [
        (1e20, RBF(1e-41)),
        (1e-20, RBF(1e39)),
        (1e20, Polynomial(2, 1e-40, 1.0)),
        (1e20, Sigmoid(1e-40, 1.0)),
    ],
)
def test_samples_beyond_the_range_of_float32_are_computed_in_float64(scale, kernel) -> None:
    with Tiles(Gram(scale * np.asarray(samples(60)), kernel), 1) as tiles:
        assert not tiles.precise(np.float32)
        assert tiles.precise(np.float64)


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def fail(first: int, _: int) -> None:
        if first:
            raise ZeroDivisionError

    with Tiles(Gram(samples(), RBF(1.0)), 2) as tiles, pytest.raises(ZeroDivisionError):
        tiles.pool.run(fail, 10, work=2**30)


def test_tiles_of_exponentials_are_right_to_the_last_digits() -> None:
    x = -np.random.default_rng(0).random((9900, 1)).astype(np.float32) * 20
    one, tile = np.ones((1, 1), np.float32), np.empty((HEIGHT, WIDTH), np.float32)
    rows, columns = pack(x, np.arange(len(x)), HEIGHT), pack(one, np.zeros(1, np.intp), WIDTH)
    out = np.empty((len(x), 1), np.float32)
    fill(rows, columns, tile, out, 0, np.float32(4.0), np.float32(0.0), 0, np.ones(len(x), np.intp))
    true = np.exp(4.0 * x.astype(np.float64))
    assert np.abs(out / true - 1)[true > np.exp(-79.0)].max() <= 1.5e-7
