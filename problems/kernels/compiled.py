"""Compiled products and squared distances of sparse rows, and distances from products.

Rows are multiplied with dense columns: with 12 nonzero entries of 300 (w8a) that takes a fifth of the
time of a product of dense matrices. Of many thousand features (text) two rows share few, and dense
columns do not stay in the cache: there, rows are multiplied with the list of entries of each feature.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices

Values = NDArray[Any]

# reordered sums, so that products use vector instructions; NaN and infinities stay valid
FASTMATH = {"reassoc", "contract", "nsz"}


@numba.njit(cache=True, nogil=True)
def scatter(
    data: Values, indices: Indices, indptr: Indices, cols: Indices, entries: Values
) -> None:
    """Write the samples `cols` as dense columns to `entries` (d, c), which holds zeros."""
    for c in range(cols.size):
        for k in range(indptr[cols[c]], indptr[cols[c] + 1]):
            entries[indices[k], c] = data[k]


@numba.njit(cache=True, nogil=True, fastmath=FASTMATH)
def sparse_products(
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
    count = out.shape[1]
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


@numba.njit(cache=True, nogil=True)
def add_shared_feature_products(
    data: Values,
    indices: Indices,
    indptr: Indices,
    half_norms: Values,
    rows: Indices,
    entries: tuple[Values, Indices, Indices],
    column_half_norms: Values,
    out: Values,
) -> None:
    """Add xᵢᵀxⱼ − ½‖xᵢ‖² − ½‖xⱼ‖² to `out`; `entries` are the columns as a CSR matrix (d, c).

    It takes as many multiplications as pairs of a row and a column share features: 16 of the 197 entries
    of a row in farm-ads.
    """
    column_data, columns, starts = entries
    for r in range(rows.size):
        i = rows[r]
        for t in range(out.shape[1]):
            out[r, t] += half_norms[i] + column_half_norms[t]
        for k in range(indptr[i], indptr[i + 1]):
            value, feature = data[k], indices[k]
            for m in range(starts[feature], starts[feature + 1]):
                if columns[m] >= out.shape[1]:  # they increase
                    break
                out[r, columns[m]] += value * column_data[m]


@numba.njit(cache=True, nogil=True)
def sparse_squared_distances(
    data: Values,
    indices: Indices,
    indptr: Indices,
    other: Values,
    other_indices: Indices,
    other_indptr: Indices,
    out: Values,
) -> None:
    """Write the squared distances of sparse rows with sorted column indices."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            k, end = indptr[i], indptr[i + 1]
            t, last = other_indptr[j], other_indptr[j + 1]
            total = 0.0
            while k < end or t < last:
                if t == last or (k < end and indices[k] < other_indices[t]):
                    difference = data[k]
                    k += 1
                elif k == end or other_indices[t] < indices[k]:
                    difference = other[t]
                    t += 1
                else:
                    difference = data[k] - other[t]
                    k += 1
                    t += 1
                total += difference * difference
            out[i, j] = total


@numba.njit(cache=True, nogil=True)
def subtract_norms(products: Values, half_norms: Values, column_half_norms: Values) -> None:
    """Replace xᵀz by xᵀz − ½‖x‖² − ½‖z‖² = −½‖x − z‖², at most 0."""
    for i in range(products.shape[0]):
        row, half = products[i], half_norms[i]
        for j in range(row.size):
            row[j] = min(0.0, (row[j] - half) - column_half_norms[j])
