"""Samples laid out for products of rows with columns: dense, sparse, and sparse with many features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Matrix
from dualgap.problems.gram.panels import WIDTH, pack
from dualgap.problems.gram.tuning import TUNING
from dualgap.problems.kernels.compiled import (
    add_shared_feature_products,
    scatter,
    sparse_products,
)
from dualgap.problems.kernels.samples import as_dense, by_feature, squared_norms

Tile = NDArray[Any]


class Section(NamedTuple):
    """Samples as columns (d, c), with half norms −½‖x‖² unless `entries` contains them.

    `entries` is a dense matrix; for `WideSamples` also the data, indices and starts of a CSR matrix.
    """

    entries: Any
    half_norms: Tile


class DenseSamples:
    """Samples as rows [x, −½‖x‖², 1] and as columns [x, 1, −½‖x‖²]; without norms as x."""

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        X, self.norms = as_dense(X), norms
        if not norms:
            self.rows = np.ascontiguousarray(X, dtype)
            return
        (n, d), mean = X.shape, X.mean(axis=0)
        self.rows = np.ones((n, d + 2), dtype)
        step = max(1, TUNING.copied_bytes // max(1, X.itemsize * d))
        for start in range(0, n, step):
            part = X[start : start + step] - mean  # keeps distances, and reduces cancellation
            rows = self.rows[start : start + step]
            rows[:, :d], rows[:, d] = part, -0.5 * squared_norms(part)

    def columns(self, cols: Indices) -> Section:
        """Return the samples `cols` as columns."""
        entries = self.rows[cols].T
        return Section(self._as_columns(entries), np.empty(0, entries.dtype))

    def panels(self, cols: Indices) -> Tile:
        """Return the samples `cols` as columns in panels, see `pack`."""
        panels = pack(self.rows, cols, WIDTH)
        self._as_columns(panels.swapaxes(0, 1))
        return panels

    def _as_columns(self, features: Tile) -> Tile:
        """Exchange the half norms and the ones of samples as rows, given feature by feature."""
        if self.norms:
            features[-2:] = features[[-1, -2]]
        return features

    def products(self, rows: Indices, section: Section, out: Tile) -> None:
        """Write the products of rows with a section's first columns to `out`, as many as it has."""
        np.matmul(self.rows[rows], section.entries[:, : out.shape[1]], out=out)


class SparseSamples:
    """Samples as sparse rows, and as dense columns created on demand."""

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        csr: Any = scipy.sparse.csr_array(X)
        self.data, self.indices, self.indptr = csr.data.astype(dtype), csr.indices, csr.indptr
        self.features = csr.shape[1]
        self.half_norms = _half_norms(csr, dtype, norms)

    def columns(self, cols: Indices) -> Section:
        """Return the samples `cols` as columns."""
        section = np.zeros((self.features, cols.size), self.data.dtype)
        scatter(self.data, self.indices, self.indptr, cols, section)
        return Section(section, self.half_norms[cols])

    def products(self, rows: Indices, section: Section, out: Tile) -> None:
        """Write the products of rows with a section's first columns to `out`, as many as it has."""
        samples = self.data, self.indices, self.indptr, self.half_norms
        sparse_products(*samples, rows, section.entries, section.half_norms, out)


class WideSamples:
    """Sparse samples of many features: columns are lists of the entries of each feature.

    Features that a tenth of the samples have are multiplied as dense matrices: of the 55,000 of farm-ads
    they are 288, with seven tenths of the products of two entries.
    """

    def __init__(self, X: Matrix, dtype: np.dtype[Any], norms: bool = False) -> None:
        csr: Any = scipy.sparse.csr_array(X)
        counts = np.bincount(csr.indices, minlength=csr.shape[1])
        is_frequent = counts > TUNING.frequent_share * csr.shape[0]
        self.frequent = DenseSamples(csr[:, is_frequent], dtype)
        self.rare = csr[:, ~is_frequent].astype(dtype)
        self.half_norms = _half_norms(csr, dtype, norms)

    def columns(self, cols: Indices) -> Section:
        """Return the samples `cols` as columns."""
        entries = self.frequent.columns(cols).entries, by_feature(self.rare[cols])
        return Section(entries, self.half_norms[cols])

    def products(self, rows: Indices, section: Section, out: Tile) -> None:
        """Write the products of rows with a section's first columns to `out`, as many as it has."""
        frequent, rare = section.entries
        np.matmul(self.frequent.rows[rows], frequent[:, : out.shape[1]], out=out)
        samples = self.rare.data, self.rare.indices, self.rare.indptr, self.half_norms
        add_shared_feature_products(*samples, rows, rare, section.half_norms, out)


def _half_norms(csr: Any, dtype: np.dtype[Any], norms: bool) -> Tile:
    """Return −½‖x‖² for each sample, or zeros."""
    half = -0.5 * squared_norms(csr) if norms else np.zeros(csr.shape[0])
    return half.astype(dtype)


Samples = DenseSamples | SparseSamples | WideSamples
