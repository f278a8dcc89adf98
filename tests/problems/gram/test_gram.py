"""The Gram operator: what it computes, how much it counts, and how little it holds."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

from dualgap.problems import RBF, Gram, Linear, Precomputed, Sigmoid
from dualgap.problems.gram import semidefinite
from dualgap.problems.gram.gram import SignedGram
from dualgap.problems.gram.semidefinite import is_positive_semidefinite
from dualgap.problems.gram.tuning import GramTuning

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3))
K = RBF(0.5)(X, X)


def test_every_kernel_value_is_counted_once():
    gram = Gram(X, RBF(0.5))
    gram.block(np.array([1, 2]), slice(0, 5))
    assert gram.evaluations == 10
    gram.block(slice(None), np.array([0, 1, 2]))
    assert gram.evaluations == 130
    v = np.zeros(40)
    v[[3, 7]] = 1.0
    gram.matvec(v)
    assert gram.evaluations == 210
    gram.matvec(np.zeros(40))
    assert gram.evaluations == 210
    gram.dense()
    assert gram.evaluations == 210 + 1600
    gram.dense(), gram.block(slice(None), slice(None)), gram.matvec(v)
    assert gram.evaluations == 1810


def test_samples_are_freed_with_the_last_reference_to_their_gram_matrix():
    samples = X.copy()
    gram, freed = Gram(samples, RBF(0.5)), weakref.ref(samples)
    gram.dense(), gram.part(np.arange(5)).dense()
    gc.disable()
    try:
        del gram, samples
        assert freed() is None
    finally:
        gc.enable()


def test_a_matrix_larger_than_the_memory_is_refused():
    assert Gram(X, RBF(0.5), memory=8 * 1600).fits
    gram = Gram(X, RBF(0.5), memory=8 * 1600 - 1)
    assert not gram.fits
    with pytest.raises(MemoryError, match="Gram matrix of 40 samples needs"):
        gram.dense()
    with pytest.raises(MemoryError, match="dense matrix of 80 variables"):
        SignedGram(Gram(X, RBF(0.5), 8 * 1600), None, np.tile(np.arange(40), 2)).dense()


def test_a_product_never_holds_the_matrix():
    samples = rng.standard_normal((6000, 2))  # the whole matrix would take 288 MB
    gram = Gram(samples, RBF(0.5), memory=0)
    tracemalloc.start()
    product = gram.matvec(np.ones(6000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6
    assert product[0] == pytest.approx(RBF(0.5)(samples[:1], samples).sum())


def test_the_matrix_of_a_dual_is_the_only_copy_of_a_stored_one():
    gram = Gram(rng.standard_normal((500, 2)), RBF(0.5))
    stored = gram.dense().copy()
    tracemalloc.start()
    Q = SignedGram(gram, -np.ones(500)).dense()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.1 * Q.nbytes
    np.testing.assert_array_equal(gram.dense(), stored)


@pytest.mark.parametrize("kernel", [RBF(0.5), Linear()], ids=["rbf", "linear"])
@pytest.mark.parametrize("repeats", [False, True], ids=["once each", "twice each"])
def test_signed_gram_is_the_matrix_of_the_dual(kernel, repeats):
    index = np.tile(np.arange(40), 2) if repeats else None
    sign = np.repeat([1.0, -1.0], 40) if repeats else rng.choice([-1.0, 1.0], 40)
    Q = SignedGram(Gram(X, kernel), sign, index)
    chosen = np.arange(40) if index is None else index
    full = np.outer(sign, sign) * kernel(X, X)[np.ix_(chosen, chosen)]
    np.testing.assert_allclose(Q.dense(), full, rtol=1e-12)
    rows, v = np.array([3, 39, 0]), rng.standard_normal(sign.size)
    np.testing.assert_allclose(Q.block(rows, slice(1, 7)), full[rows][:, 1:7], rtol=1e-12)
    np.testing.assert_allclose(Q.diagonal(), np.diag(full), rtol=1e-12)
    np.testing.assert_allclose(Q.matvec(v), full @ v, rtol=1e-10, atol=1e-11)


def test_semidefiniteness_is_tested_unless_declared():
    assert not is_positive_semidefinite(Gram(X, Sigmoid(1.0, -1.0)))
    assert not is_positive_semidefinite(Gram(np.array([[0.0, 1.0], [1.0, 0.0]]), Precomputed()))
    for K_psd in (K, X @ X.T, np.zeros((4, 4)), np.ones((50, 50))):
        assert is_positive_semidefinite(Gram(K_psd, Precomputed()))


@pytest.mark.parametrize("limit", [0, 5000], ids=["Lanczos", "Cholesky"])
def test_a_larger_gram_matrix_is_tested_in_time(monkeypatch, limit):
    monkeypatch.setattr(semidefinite, "TUNING", GramTuning(max_cholesky_rows=limit))
    samples = rng.standard_normal((300, 5))
    linear = samples @ samples.T
    assert is_positive_semidefinite(Gram(linear, Precomputed()))
    assert not is_positive_semidefinite(Gram(linear - 0.1 * np.eye(300), Precomputed()))


@pytest.mark.parametrize("scale", [1.0, 3e-5, 0.0, -1.0])
def test_a_multiple_of_the_identity_is_tested_by_lanczos(monkeypatch, scale):
    monkeypatch.setattr(semidefinite, "TUNING", GramTuning(max_cholesky_rows=0))
    gram = Gram(scale * np.eye(50), Precomputed())
    assert is_positive_semidefinite(gram) == (scale >= 0)
    assert semidefinite.psd_shift(gram) <= 1e-12
