"""Operations on samples that kernels share: products, norms, and equal rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.dataset import Indices, Matrix, Vector

Block = NDArray[np.float64]
Selection = Indices | slice
# A function from rows to a block of fixed columns of K, and (ρ, m): its errors are at most ρ·|K| + mᵢmⱼ.
PreciseColumns = tuple[Callable[[Selection], Block], float, Vector]


def entries(X: Matrix) -> Vector:
    """Return the entries of a dense matrix, or the stored entries of a sparse one."""
    return X.ravel() if isinstance(X, np.ndarray) else np.asarray(X.data)


def stacked(X: Matrix, Z: Matrix) -> Matrix:
    """Return the rows of `X`, then those of `Z`."""
    if not (scipy.sparse.issparse(X) or scipy.sparse.issparse(Z)):
        return np.vstack([X, Z])
    return scipy.sparse.csr_array(
        scipy.sparse.vstack([scipy.sparse.csr_array(X), scipy.sparse.csr_array(Z)])
    )


def inner_products(X: Matrix, Z: Matrix) -> Block:
    """Return X Zᵀ as a dense array, for dense and CSR matrices and arrays of balls."""
    return as_dense(X @ Z.T)


def squared_norms(X: Matrix) -> Vector:
    """Return ‖xᵢ‖² for each row, for dense and CSR matrices and arrays of balls."""
    if isinstance(X, np.ndarray | Balls):
        return np.einsum("ij,ij->i", X, X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # no array of length d: it may be 2^31
    return np.bincount(rows, X.data**2, X.shape[0]).astype(np.float64)


def as_dense(M: Any) -> NDArray[np.float64]:
    """Return a dense or sparse matrix as a dense array; arrays of balls are returned unchanged."""
    if isinstance(M, Balls):
        return M  # type: ignore[return-value]
    return M.toarray() if scipy.sparse.issparse(M) else np.asarray(M, dtype=np.float64)


def equal_rows(X: Any, left: Indices, right: Indices) -> NDArray[np.bool_]:
    """Return whether X[left[k]] equals X[right[k]], for each k."""
    difference = X[left] != X[right]
    if scipy.sparse.issparse(difference):
        return np.asarray(difference.sum(axis=1)).ravel() == 0
    return ~difference.any(axis=1)


def distinct(X: Matrix) -> tuple[Indices, Indices]:
    """Group equal rows: return one row index per group (k,), and the group of each row (n,)."""
    weights = np.random.default_rng(0).standard_normal(X.shape[1])
    hashes = X @ weights  # equal rows have equal hashes, and are adjacent after sorting
    order = np.argsort(hashes, kind="stable")
    before, after = order[:-1], order[1:]
    equal_hashes = np.flatnonzero(hashes[before] == hashes[after])
    changes = np.ones(order.size, np.intp)
    changes[equal_hashes + 1] -= equal_rows(X, before[equal_hashes], after[equal_hashes])
    group = np.empty(order.size, np.intp)
    group[order] = np.cumsum(changes) - 1
    return order[changes > 0], group
