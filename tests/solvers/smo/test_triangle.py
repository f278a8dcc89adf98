"""Half of K: products with it, and the approximate inverse that some of its columns give."""

import numpy as np
import pytest

from dualgap.problems import RBF, Kernel, KernelQP, Linear, Polynomial, SoftMarginDual, reduce
from dualgap.problems.gram.tiles import Tiles
from dualgap.solvers.numerics.projected_cg import conjugate_gradients
from dualgap.solvers.smo.matrix import Matrix, RowCache
from dualgap.solvers.smo.triangle import PackedTriangle

N = 1500
X = np.random.default_rng(0).standard_normal((N, 5))
X[7] = 0.0  # a row of zeros of K, where the kernel is linear
LABELS = np.where(X[:, 0] >= 0, 1.0, -1.0)


@pytest.mark.parametrize("k", [2, 511, 513, 1030])
@pytest.mark.parametrize("kernel", [RBF(0.3), Linear(), Polynomial(3, 0.2, 1.0)])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("has_rows", [False, True])
def test_a_product_with_the_packed_triangle_is_one_with_K(
    kernel: Kernel, k: int, threads: int, has_rows: bool
) -> None:
    rng = np.random.default_rng(k)
    form = reduce(SoftMarginDual(X, LABELS, 1.0, kernel), KernelQP).form
    with Tiles(form.gram, threads) as tiles:
        selected = np.sort(rng.choice(N, k, replace=False))
        rows = RowCache(Matrix(tiles, form, np.float32), np.arange(N), N**2)
        rows.fetch(rng.permutation(selected)[: k if has_rows else 1])
        tiles.work = 16 * N
        before = form.gram.evaluations
        half = PackedTriangle(rows, selected, None)
        assert (form.gram.evaluations == before) == has_rows
        v = rng.standard_normal(k)
        result = half.product(v)
    K = kernel(X[selected], X[selected])
    bound = 1e-4 * np.sqrt(K.diagonal()) * np.linalg.norm(np.sqrt(K.diagonal()) * v)
    assert (np.abs(result - K @ v) <= bound).all()


def test_a_smaller_triangle_reuses_the_memory_of_a_larger_one() -> None:
    form = reduce(SoftMarginDual(X, LABELS, 1.0, RBF(0.3)), KernelQP).form
    with Tiles(form.gram, 1) as tiles:
        rows = RowCache(Matrix(tiles, form, np.float32), np.arange(N), 0)
        large = PackedTriangle(rows, np.arange(900), None)
        smaller = PackedTriangle(rows, np.arange(0, 900, 2), large.memory)
        assert smaller.memory is large.memory
        v = np.ones(450)
        assert np.allclose(smaller.product(v), RBF(0.3)(X[:900:2], X[:900:2]) @ v, rtol=1e-4)


def test_the_approximate_inverse_speeds_up_conjugate_gradients() -> None:
    form = reduce(SoftMarginDual(X, LABELS, 1.0, RBF(0.02)), KernelQP).form
    K, g = RBF(0.02)(X, X) + 0.01 * np.eye(N), np.sin(X[:, 0])
    with Tiles(form.gram, 1) as tiles:
        rows = RowCache(Matrix(tiles, form, np.float32), np.arange(N), 0)
        half = PackedTriangle(rows, np.arange(N), None)
        invert = half.approximate_inverse()
    u, v = np.random.default_rng(1).standard_normal((2, N))
    assert np.isclose(u @ invert(v), v @ invert(u), rtol=1e-3)
    residuals = []
    for inverse in (invert, np.copy):
        d = conjugate_gradients(K.__matmul__, inverse, np.zeros(N), g, 15, 0.0)
        residuals.append(np.linalg.norm(K @ d + g))
    assert residuals[0] <= 0.2 * residuals[1]
