"""Samples prepared as rows and as columns of products, in float32 or float64, dense or sparse."""

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dualgap.problems.dataset import Indices, Matrix
from dualgap.problems.kernels.compiled import scatter, sparse_products
from dualgap.problems.kernels.samples import as_dense, squared_norms

Values = NDArray[Any]


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
        scatter(self.data, self.indices, self.indptr, cols, section)
        return Section(section, self.half_norms[cols])

    def products(self, rows: Indices, section: Section, out: Values) -> None:
        """Write the products of rows with a section to `out`."""
        samples = self.data, self.indices, self.indptr, self.half_norms
        sparse_products(*samples, rows, section.entries, section.half_norms, out)
