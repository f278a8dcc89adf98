"""What kernels do with samples and settings: products, norms, and checks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic.balls import Balls
from dualgap.problems.dataset import Indices, Matrix, Vector

Block = NDArray[np.float64]
Selection = Indices | slice
# some columns of K by their rows, and (ρ, m): they are right to ρ·|K| + mᵢmⱼ
PreciseColumns = tuple[Callable[[Selection], Block], float, Vector]


def entries(X: Matrix) -> Vector:
    """Return the entries of a matrix, of a sparse one those that are stored."""
    return X.ravel() if isinstance(X, np.ndarray) else np.asarray(X.data)


def stacked(X: Matrix, Z: Matrix) -> Matrix:
    """Return the rows of `X`, then those of `Z`."""
    if not (scipy.sparse.issparse(X) or scipy.sparse.issparse(Z)):
        return np.vstack([X, Z])
    return scipy.sparse.csr_array(
        scipy.sparse.vstack([scipy.sparse.csr_array(X), scipy.sparse.csr_array(Z)])
    )


def inner_products(X: Matrix, Z: Matrix) -> Block:
    """Return X Zᵀ as a dense array, for dense and CSR matrices, and arrays of balls."""
    return as_dense(X @ Z.T)


def squared_norms(X: Matrix) -> Vector:
    """Return ‖xᵢ‖² for each row, for dense and CSR matrices, and arrays of balls."""
    if isinstance(X, np.ndarray | Balls):
        return np.einsum("ij,ij->i", X, X)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    # nothing of length d: it may be 2^31
    return np.bincount(rows, X.data**2, X.shape[0]).astype(np.float64)


def as_dense(M: Any) -> NDArray[np.float64]:
    """Return a dense array of a dense or sparse matrix, and arrays of balls as they are."""
    if isinstance(M, Balls):
        return M  # type: ignore[return-value]
    return M.toarray() if scipy.sparse.issparse(M) else np.asarray(M, dtype=np.float64)


def equal_rows(X: Any, left: Indices, right: Indices) -> NDArray[np.bool_]:
    """Return whether each row of `left` is equal to that of `right`."""
    difference = X[left] != X[right]
    if scipy.sparse.issparse(difference):
        return np.asarray(difference.sum(axis=1)).ravel() == 0
    return ~difference.any(axis=1)


def distinct(X: Matrix) -> tuple[Indices, Indices]:
    """Return a row of each kind (k,), and of which kind each row is (n,)."""
    weights = np.random.default_rng(0).standard_normal(X.shape[1])
    hashed = X @ weights  # equals are neighbours in its order
    order = np.argsort(hashed, kind="stable")
    before, after = order[:-1], order[1:]
    like = np.flatnonzero(hashed[before] == hashed[after])
    changes = np.ones(order.size, np.intp)
    changes[like + 1] -= equal_rows(X, before[like], after[like])
    kind = np.empty(order.size, np.intp)
    kind[order] = np.cumsum(changes) - 1
    return order[changes > 0], kind
