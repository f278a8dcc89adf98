"""Operations on samples that kernels share: products, norms, and equal rows."""

from typing import Any, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.dataset import Indices, Matrix, Vector
from dualgap.problems.kernels.compiled import (
    add_shared_feature_products,
    sparse_products,
    sparse_squared_distances,
)

Block = NDArray[np.float64]
Selection = Indices | slice


def is_sparse(X: Any) -> bool:
    """Whether products of sparse rows with dense columns are faster than those of dense matrices."""
    max_density = 0.3  # of a9a it is 0.11, of w8a 0.04
    return scipy.sparse.issparse(X) and X.nnz <= max_density * X.shape[0] * X.shape[1]


def is_wide(X: Matrix) -> bool:
    """Whether a matrix has more features than stay in the cache as dense columns."""
    return X.shape[1] > 4096


def fits_dense(X: Matrix) -> bool:
    """Whether a matrix takes at most 256 MiB as a dense one."""
    return 8 * X.shape[0] * X.shape[1] <= 2**28


def for_products(X: Matrix) -> Matrix:
    """Return a matrix as a dense one if that makes its products faster."""
    return X if is_sparse(X) or not fits_dense(X) else as_dense(X)


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
    if not (scipy.sparse.issparse(X) and scipy.sparse.issparse(Z)):
        return as_dense(X @ Z.T)
    csr = scipy.sparse.csr_array(X)
    rows, no_norms = np.arange(X.shape[0]), np.zeros(max(X.shape[0], Z.shape[0]))
    out = np.zeros((X.shape[0], Z.shape[0]))
    samples = csr.data.astype(np.float64), csr.indices, csr.indptr, no_norms
    if is_wide(Z) or not fits_dense(Z):
        add_shared_feature_products(*samples, rows, by_feature(Z), no_norms[: Z.shape[0]], out)
    else:
        columns = np.ascontiguousarray(as_dense(Z).T)
        sparse_products(*samples, rows, columns, no_norms[: Z.shape[0]], out)
    return out


def by_feature(Z: Matrix) -> tuple[Vector, Indices, Indices]:
    """Return the entries of a sparse matrix feature by feature: data, rows and starts, as in CSC."""
    transposed = scipy.sparse.csr_array(Z.T)
    return transposed.data, transposed.indices, transposed.indptr


def squared_distances(X: Matrix, Z: Matrix) -> Block:
    """Return ‖xᵢ − zⱼ‖² as a dense array, from differences of the entries."""
    if scipy.sparse.issparse(X) or scipy.sparse.issparse(Z):
        x, z = (scipy.sparse.csr_array(M).sorted_indices() for M in (X, Z))
        out = np.empty((X.shape[0], Z.shape[0]))
        sparse_squared_distances(x.data, x.indices, x.indptr, z.data, z.indices, z.indptr, out)
        return out
    from scipy.spatial.distance import cdist  # noqa: PLC0415 - slow to import, rarely used

    return np.asarray(cdist(X, Z, "sqeuclidean"), dtype=np.float64)


def squared_norms(X: Matrix) -> Vector:
    """Return ‖xᵢ‖² for each row, for dense and CSR matrices and arrays of balls."""
    if isinstance(X, np.ndarray | Balls):
        return np.einsum("ij,ij->i", X, X)
    # one column: no array of length d, which may be 2^31
    entries = X.data**2, np.zeros_like(X.indices), X.indptr
    return scipy.sparse.csr_array(entries, shape=(X.shape[0], 1)) @ np.ones(1)


def as_dense(M: Any) -> NDArray[np.float64]:
    """Return a dense or sparse matrix as a dense array; arrays of balls are returned unchanged."""
    if isinstance(M, Balls):
        return cast(Any, M)
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
    # equal rows have equal hashes, and are adjacent after sorting; BLAS would add up the last rows
    # in another order
    hashes = np.einsum("ij,j->i", X, weights) if isinstance(X, np.ndarray) else X @ weights
    order = np.argsort(hashes, kind="stable")
    before, after = order[:-1], order[1:]
    equal_hashes = np.flatnonzero(hashes[before] == hashes[after])
    changes = np.ones(order.size, np.intp)
    changes[equal_hashes + 1] -= equal_rows(X, before[equal_hashes], after[equal_hashes])
    group = np.empty(order.size, np.intp)
    group[order] = np.cumsum(changes) - 1
    return order[changes > 0], group
