"""Products with a Gram matrix are within their errors, whatever way its values are computed."""

import numpy as np
import pytest
import scipy.sparse as sp

from dualgap.problems import RBF, Gram, Precomputed
from dualgap.problems.arithmetic.intervals import UNIT
from dualgap.problems.gram.products import gram_products
from dualgap.problems.gram.tuning import GramTuning


def drawn(kind):
    """Samples half of which stand twice or more."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12)) * (rng.random((60, 12)) < 0.25)
    X = {"real": X, "short": np.sign(X), "long": np.round(2.0**18 * X) / 2.0**14}[kind]
    return X[rng.integers(0, 60, 120)]


def allowed(gram, v):
    """What the operations of a value of at most 1 and of a sum of n of them explain."""
    return 1.1 * (gram.kernel.operations(gram.X) + gram.n) * UNIT * np.abs(v).sum()


@pytest.mark.parametrize("gamma", [0.01, 7.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["real", "short", "long"])
def test_products_with_equal_samples_are_within_their_errors(kind, sparse, gamma, monkeypatch):
    several_blocks = GramTuning(product_values=500)
    monkeypatch.setattr("dualgap.problems.gram.products.TUNING", several_blocks)
    X, v = drawn(kind), np.random.default_rng(1).standard_normal(120)
    v[::5] = 0.0
    wide = X.astype(np.longdouble)
    K = np.exp(-np.longdouble(gamma) * ((wide[:, None] - wide) ** 2).sum(axis=2))
    gram = Gram(sp.csr_array(X) if sparse else X, RBF(gamma), memory=0)
    scores, errors = gram_products(gram, v)
    assert (np.abs(scores - K @ v) <= errors).all()
    assert (errors <= allowed(gram, v)).all()


@pytest.mark.parametrize("memory", [0, 8 * 60 * 30, 2**20])
def test_products_with_kept_columns_are_within_their_errors(memory, monkeypatch):
    several_blocks = GramTuning(product_values=500)
    monkeypatch.setattr("dualgap.problems.gram.products.TUNING", several_blocks)
    X, rng = drawn("real"), np.random.default_rng(1)
    wide = X.astype(np.longdouble)
    K = np.exp(-np.longdouble(0.3) * ((wide[:, None] - wide) ** 2).sum(axis=2))
    gram = Gram(X, RBF(0.3), memory, keep=True)
    part = gram.part(np.arange(20, 120))
    for share in (0.1, 0.2, 0.0, 0.15, 0.9, 0.3):  # of the samples that support v
        v = rng.standard_normal(120) * (rng.random(120) < share)
        scores, errors = gram_products(gram, v)
        assert (np.abs(scores - K @ v) <= errors).all()
        assert (errors <= allowed(gram, v)).all()
        scores, errors = gram_products(part, v[20:])
        assert (np.abs(scores - (K[:, 20:] @ v[20:])[20:]) <= errors).all()
    columns = gram.solver_cache["columns"]
    kept = columns.position[columns.position >= 0]
    assert sorted(kept) == list(range(kept.size))
    assert 8 * columns.position.size * kept.size <= memory
    assert (kept.size > 0) == (memory > 0)


def test_products_of_a_precomputed_matrix_are_within_their_errors():
    X, v = drawn("short"), np.random.default_rng(1).standard_normal(120)
    K = X @ X.T - 1.0
    scores, errors = gram_products(Gram(K, Precomputed(), memory=0), v)
    assert (np.abs(scores - K.astype(np.longdouble) @ v) <= errors).all()


@pytest.mark.parametrize("gamma", [0.01, 7.0])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", ["real", "short", "long"])
def test_products_with_a_submatrix_of_a_stored_matrix_are_within_their_errors(kind, sparse, gamma):
    X, rng = drawn(kind), np.random.default_rng(1)
    v, rows = rng.standard_normal(80), rng.permutation(120)[:80]
    wide = X[rows].astype(np.longdouble)
    K = np.exp(-np.longdouble(gamma) * ((wide[:, None] - wide) ** 2).sum(axis=2))
    stored_gram = Gram(sp.csr_array(X) if sparse else X, RBF(gamma), keep=True)
    stored_gram.dense()
    counted, part = stored_gram.evaluations, stored_gram.part(rows)
    scores, errors = gram_products(part, v)
    assert (np.abs(scores - K @ v) <= errors).all()
    assert (errors <= allowed(stored_gram, v)).all()
    assert (stored_gram.evaluations, part.evaluations) == (counted, 0)
    part.forget()
    assert not part.is_stored
    scores_again, errors_again = gram_products(part, v)
    assert (np.abs(scores_again - scores) <= errors + errors_again).all()


def test_products_with_a_submatrix_of_a_signed_gram_matrix_are_within_their_errors():
    X, rows = drawn("short"), np.arange(0, 120, 2)
    K, v = X @ X.T - 1.0, np.random.default_rng(1).standard_normal(60)
    stored_gram = Gram(K, Precomputed(), keep=True)
    stored_gram.dense()
    scores, errors = gram_products(stored_gram.part(rows), v)
    assert (np.abs(scores - K[np.ix_(rows, rows)].astype(np.longdouble) @ v) <= errors).all()
    assert (errors <= 1000 * UNIT * (np.abs(K)[np.ix_(rows, rows)] @ np.abs(v))).all()
