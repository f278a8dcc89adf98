"""Inner products of rows with prepared columns of the samples, in float32 if that is exact.

Sparse rows are multiplied with dense columns: with 12 nonzero entries of 300 (w8a) that takes a fifth of
the dense time.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.arithmetic.rounding import leading_digits, split, terms
from dualgap.problems.dataset import Indices, Matrix
from dualgap.problems.kernels.samples import Selection, as_dense, entries, squared_norms

Values = NDArray[Any]

SPARSE_DENSITY = 0.3  # density up to which sparse rows are faster than a dense product
MAX_SPARSE_FEATURES = 4096  # dense columns with more entries do not fit in the cache
TILE_COLUMNS = 512  # columns per section: it stays in the cache
_MAX_SIZE = 2.0**30  # float32 holds all products of entries from 1/_MAX_SIZE to _MAX_SIZE
_FASTMATH = {"reassoc", "contract", "nsz"}


def exact_type(X: Matrix) -> np.dtype[Any] | None:
    """Return the shortest type in which ‖x‖² − 2xᵀz + ‖z‖² is exact, in any order, or None.

    All entries must be small integers times a common power of two.
    """
    values, count = entries(X), 4 * max(1, terms(X))
    size = float(np.abs(values).max(initial=0.0))
    if size == 0.0 or not 1.0 / _MAX_SIZE <= size <= _MAX_SIZE:
        return None
    for dtype, precision in ((np.float32, 24), (np.float64, 53)):
        if not split(values, leading_digits(count, precision), size)[1].any():
            return np.dtype(dtype)
    return None


def products_with(X: Matrix, cols: Indices, dtype: np.dtype[Any]) -> Callable[[Selection], Values]:
    """Return the function rows ↦ X[rows] X[cols]ᵀ, computed in `dtype`, with sums in any order."""
    sparse = np.count_nonzero(entries(X)) <= SPARSE_DENSITY * X.shape[0] * X.shape[1]
    samples = (SparseSamples if sparse else DenseSamples)(X, dtype)
    sections = [
        samples.columns(cols[at : at + TILE_COLUMNS]) for at in range(0, cols.size, TILE_COLUMNS)
    ]
    n = np.arange(X.shape[0])

    def block(rows: Selection) -> Values:
        chosen = n[rows]
        out = np.empty((chosen.size, cols.size), dtype)
        for k, section in enumerate(sections):
            samples.products(chosen, section, out[:, TILE_COLUMNS * k : TILE_COLUMNS * (k + 1)])
        return out

    return block


class Section(NamedTuple):
    """Samples as columns (d, c), with half norms −½‖x‖² unless `entries` contains them."""

    entries: Values
    half_norms: Values


class DenseSamples:
    """Samples as rows [x, −½‖x‖², 1] and as columns [x, 1, −½‖x‖²]; without norms as x."""

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        X = as_dense(X)
        if not norms:
            self.rows = self.as_columns = np.ascontiguousarray(X, dtype)
            return
        X = X - X.mean(axis=0)  # keeps distances, and reduces cancellation
        half, d = -0.5 * squared_norms(X), X.shape[1]
        self.rows = np.ones((X.shape[0], d + 2), dtype)
        self.rows[:, :d], self.rows[:, d] = X, half
        self.as_columns = self.rows.copy()
        self.as_columns[:, d], self.as_columns[:, d + 1] = 1.0, half

    def columns(self, cols: Indices) -> Section:
        """Return the samples `cols` as columns."""
        return Section(self.as_columns[cols].T, np.empty(0, self.as_columns.dtype))

    def products(self, rows: Indices, section: Section, out: Values) -> None:
        """Write the products of rows with a section to `out`."""
        np.matmul(self.rows[rows], section.entries, out=out)


class SparseSamples:
    """Samples as sparse rows, and as dense columns created on demand."""

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        csr: Any = scipy.sparse.csr_array(X)
        self.data, self.indices, self.indptr = csr.data.astype(dtype), csr.indices, csr.indptr
        self.features = csr.shape[1]
        half = -0.5 * squared_norms(csr) if norms else np.zeros(csr.shape[0])
        self.half_norms = half.astype(dtype)

    def columns(self, cols: Indices) -> Section:
        """Return the samples `cols` as columns."""
        section = np.zeros((self.features, cols.size), self.data.dtype)
        _scatter(self.data, self.indices, self.indptr, cols, section)
        return Section(section, self.half_norms[cols])

    def products(self, rows: Indices, section: Section, out: Values) -> None:
        """Write the products of rows with a section to `out`."""
        samples = self.data, self.indices, self.indptr, self.half_norms
        _sparse_products(*samples, rows, section.entries, section.half_norms, out)


@numba.njit(cache=True, nogil=True)
def _scatter(
    data: Values, indices: Indices, indptr: Indices, cols: Indices, entries: Values
) -> None:
    for c in range(cols.size):
        for k in range(indptr[cols[c]], indptr[cols[c] + 1]):
            entries[indices[k], c] = data[k]


@numba.njit(cache=True, nogil=True, fastmath=_FASTMATH)
def _sparse_products(
    data: Values,
    indices: Indices,
    indptr: Indices,
    half_norms: Values,
    rows: Indices,
    entries: Values,
    column_half_norms: Values,
    out: Values,
) -> None:
    """Write xᵢᵀxⱼ − ½‖xᵢ‖² − ½‖xⱼ‖²: each entry of a row adds a multiple of a row of `entries`.

    Four entries at a time, so that sums are loaded and stored a quarter as often.
    """
    count = column_half_norms.size
    total = np.empty(count, out.dtype)
    for r in range(rows.size):
        i = rows[r]
        k, end = indptr[i], indptr[i + 1]
        for t in range(count):
            total[t] = half_norms[i] + column_half_norms[t]
        while k + 3 < end:
            v0, v1, v2, v3 = data[k], data[k + 1], data[k + 2], data[k + 3]
            z0, z1 = entries[indices[k]], entries[indices[k + 1]]
            z2, z3 = entries[indices[k + 2]], entries[indices[k + 3]]
            for t in range(count):
                total[t] += (v0 * z0[t] + v1 * z1[t]) + (v2 * z2[t] + v3 * z3[t])
            k += 4
        while k < end:
            v, z = data[k], entries[indices[k]]
            for t in range(count):
                total[t] += v * z[t]
            k += 1
        for t in range(count):
            out[r, t] = total[t]
