"""Inner products of samples with some of them made ready, in float32 where that loses nothing.

Sparse rows meet dense columns: with 12 entries of 300 (w8a) that takes a fifth of the dense time.
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

SPARSE = 0.3  # share of nonzero entries up to which sparse rows are faster than a dense product
MOST_FEATURES = 4096  # of sparse samples: dense columns of more leave the cache
COLUMNS = 512  # at a time: a section of a tile's width stays in the cache
_SIZES = 2.0**-30, 2.0**30  # of entries whose products are far from the ends of float32
_FAST = {"reassoc", "contract", "nsz"}


def exact_type(X: Matrix) -> np.dtype[Any] | None:
    """Return the shortest type in which ‖x‖² − 2xᵀz + ‖z‖² is not rounded, in any order; None if none.

    All entries are small integers then, times one power of two.
    """
    values, count = entries(X), 4 * max(1, terms(X))
    size = float(np.abs(values).max(initial=0.0))
    if size == 0.0 or not _SIZES[0] <= size <= _SIZES[1]:
        return None
    for dtype, precision in ((np.float32, 24), (np.float64, 53)):
        if not split(values, leading_digits(count, precision), size)[1].any():
            return np.dtype(dtype)
    return None


def products_with(X: Matrix, cols: Indices, dtype: np.dtype[Any]) -> Callable[[Selection], Values]:
    """Return rows ↦ X[rows] X[cols]ᵀ, computed in `dtype`, each sum in any order."""
    few = np.count_nonzero(entries(X)) <= SPARSE * X.shape[0] * X.shape[1]
    samples = (SparseSamples if few else DenseSamples)(X, dtype)
    sections = [samples.columns(cols[at : at + COLUMNS]) for at in range(0, cols.size, COLUMNS)]
    n = np.arange(X.shape[0])

    def block(rows: Selection) -> Values:
        chosen = n[rows]
        out = np.empty((chosen.size, cols.size), dtype)
        for k, section in enumerate(sections):
            samples.products(chosen, section, out[:, COLUMNS * k : COLUMNS * (k + 1)])
        return out

    return block


class Section(NamedTuple):
    """Some samples as columns (d, c), and their half norms −½‖x‖² where the rows do not hold these."""

    entries: Values
    halves: Values


class DenseSamples:
    """Samples as rows [x, −½‖x‖², 1] and as columns [x, 1, −½‖x‖²]; without norms just x."""

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        X = as_dense(X)
        if not norms:
            self.rows = self.others = np.ascontiguousarray(X, dtype)
            return
        X = X - X.mean(axis=0)  # distances stay, and less of them is lost to cancellation
        half, d = -0.5 * squared_norms(X), X.shape[1]
        self.rows = np.ones((X.shape[0], d + 2), dtype)
        self.rows[:, :d], self.rows[:, d] = X, half
        self.others = self.rows.copy()
        self.others[:, d], self.others[:, d + 1] = 1.0, half

    def columns(self, cols: Indices) -> Section:
        """Return some samples as columns."""
        return Section(self.others[cols].T, np.empty(0, self.others.dtype))

    def products(self, rows: Indices, section: Section, out: Values) -> None:
        """Write the products of some rows with a section."""
        np.matmul(self.rows[rows], section.entries, out=out)


class SparseSamples:
    """Samples as sparse rows, and as dense columns made when asked for."""

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        csr: Any = scipy.sparse.csr_array(X)
        self.data, self.indices, self.indptr = csr.data.astype(dtype), csr.indices, csr.indptr
        self.features = csr.shape[1]
        half = -0.5 * squared_norms(csr) if norms else np.zeros(csr.shape[0])
        self.halves = half.astype(dtype)

    def columns(self, cols: Indices) -> Section:
        """Return some samples as columns."""
        section = np.zeros((self.features, cols.size), self.data.dtype)
        _scatter(self.data, self.indices, self.indptr, cols, section)
        return Section(section, self.halves[cols])

    def products(self, rows: Indices, section: Section, out: Values) -> None:
        """Write the products of some rows with a section."""
        samples = self.data, self.indices, self.indptr, self.halves
        _sparse_products(*samples, rows, section.entries, section.halves, out)


@numba.njit(cache=True, nogil=True)
def _scatter(
    data: Values, indices: Indices, indptr: Indices, cols: Indices, entries: Values
) -> None:
    for c in range(cols.size):
        for k in range(indptr[cols[c]], indptr[cols[c] + 1]):
            entries[indices[k], c] = data[k]


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def _sparse_products(
    data: Values,
    indices: Indices,
    indptr: Indices,
    halves: Values,
    rows: Indices,
    entries: Values,
    column_halves: Values,
    out: Values,
) -> None:
    """Write xᵢᵀxⱼ + halfᵢ + halfⱼ: each entry of a row adds a multiple of a row of `entries`.

    Four entries at a time, so that sums are loaded and stored a quarter as often.
    """
    count = column_halves.size
    total = np.empty(count, out.dtype)
    for r in range(rows.size):
        i = rows[r]
        k, end = indptr[i], indptr[i + 1]
        for t in range(count):
            total[t] = halves[i] + column_halves[t]
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
