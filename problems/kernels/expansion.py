"""Inner products of samples with some of them made ready, in float32 where that loses nothing.

Sparse rows meet dense columns: with 12 entries of 300 (w8a) that takes a fifth of the dense time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy
from numpy.typing import NDArray

from problems.dataset import Indices, Matrix
from problems.kernels.samples import Selection, as_dense, entries
from problems.rounding import leading_digits, split, terms

Values = NDArray[Any]

SPARSE = 0.3  # share of nonzero entries up to which sparse rows are faster than a dense product
MOST_FEATURES = 4096  # of sparse samples: dense columns of more leave the cache
_COLUMNS = 512  # at a time
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
    if entries(X).size and np.count_nonzero(entries(X)) > SPARSE * X.shape[0] * X.shape[1]:
        samples = as_dense(X).astype(dtype, copy=False)
        columns = np.ascontiguousarray(samples[cols].T)
        return lambda rows: samples[rows] @ columns
    csr: Any = scipy.sparse.csr_array(X)
    data, n = csr.data.astype(dtype), np.arange(X.shape[0])
    none = np.zeros(max(X.shape[0], _COLUMNS), dtype)
    sections: list[tuple[slice, Values]] = []
    for left in range(0, cols.size, _COLUMNS):
        part = slice(left, min(left + _COLUMNS, cols.size))
        section = np.zeros((X.shape[1], part.stop - left), dtype)
        scatter(data, csr.indices, csr.indptr, cols[part], section)
        sections.append((part, section))

    def block(rows: Selection) -> Values:
        chosen = n[rows]
        out = np.empty((chosen.size, cols.size), dtype)
        for part, section in sections:
            nothing = none[: section.shape[1]]
            sparse_products(
                data, csr.indices, csr.indptr, none, chosen, section, nothing, out[:, part]
            )
        return out

    return block


@numba.njit(cache=True, nogil=True)
def scatter(
    data: Values, indices: Indices, indptr: Indices, cols: Indices, entries: Values
) -> None:
    """Write the samples `cols` as dense columns."""
    for c in range(cols.size):
        for k in range(indptr[cols[c]], indptr[cols[c] + 1]):
            entries[indices[k], c] = data[k]


@numba.njit(cache=True, nogil=True, fastmath=_FAST)
def sparse_products(
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
