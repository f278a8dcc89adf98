"""The non-negligible entries of K, if they are few: one pass over half of K selects them.

    (Kv)ᵢ ≈ Σ {k(xᵢ, xⱼ)vⱼ : |k(xᵢ, xⱼ)| > threshold},   error at most threshold·Σ|vⱼ|

The pass goes tile by tile on all threads (`dualgap.problems.gram.tiles`), and each tile is scanned while
it is in the cache; no kernel value is computed again later.
"""

from functools import cache
from typing import Any

import numba
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tile, Tiles
from dualgap.solvers.numerics.projected_cg import Apply
from dualgap.solvers.semismooth_newton.tuning import TUNING

EntryIndices = NDArray[np.int32]


class LargeEntries:
    """A sparse matrix of the entries above `threshold` of K among the samples `sample`.

    Attributes
    ----------
    diagonal : of K. products : their number so far.
    """

    def __init__(self, tiles: Tiles, sample: Indices, threshold: float, dtype: Any) -> None:
        self.threshold, self.dtype, self.products = threshold, np.dtype(dtype), 0
        n, parts = sample.size, list[tuple[EntryIndices, EntryIndices, Tile]]()
        height, width = TUNING.tile_rows, TUNING.tile_columns
        buffer = np.empty(min(height, n) * min(width, n), dtype)
        for column in range(0, n, width):
            columns = tiles.columns(sample[column : column + width], dtype)
            for low in range(column, n, height):
                rows = sample[low : low + height]
                tile = buffer[: rows.size * columns.size].reshape(rows.size, columns.size)
                parts.append(
                    _large(
                        tiles.block(rows, columns, tile), low, column, tile.dtype.type(threshold)
                    )
                )
        i, j, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        below = scipy.sparse.csr_array((values.astype(np.float64), (i, j)), shape=(n, n))
        self.diagonal = below.diagonal()
        self.matrix = below + below.T - scipy.sparse.diags_array(self.diagonal)

    def product(self, v: Vector) -> Vector:
        """Return Kv for `v` (n,)."""
        self.products += 1
        return self.matrix @ v

    def inverse(self, inside: Any, weights: Vector) -> Apply:
        """Return v ↦ M⁻¹v on the variables inside, 0 elsewhere; M is K + diag(weights) among them.

        If they are many, M is replaced by its diagonal, as K is nearly diagonal.
        """
        members = np.flatnonzero(inside)
        if members.size > TUNING.max_factored:
            diagonal = np.where(inside, 1.0 / (self.diagonal + weights), 0.0)
            return lambda v: diagonal * v
        M = self.matrix[members][:, members].toarray()
        # K is singular if samples are dependent
        M[np.diag_indices(members.size)] += weights[members] + 1e-12 * self.diagonal[members]
        factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

        def invert(v: Vector) -> Vector:
            result = np.zeros(v.size)
            result[members] = cho_solve(factor, v[members], check_finite=False)
            return result

        return invert

    def error(self, v: Vector) -> float:
        """Return a bound on the error of an entry of Kv, from neglected entries and rounding."""
        size = np.abs(v)
        rtol = 16.0 * float(np.finfo(self.dtype).eps)  # of a kernel value
        return self.threshold * float(size.sum()) + rtol * float((self.matrix @ size).max())


@cache
def compile_pass() -> None:
    """Compile the pass for both precisions, once per process."""
    for dtype in (np.float32, np.float64):
        tile = np.zeros((1, 1), dtype)
        _large(tile, 0, 0, tile[0, 0])


@numba.njit(cache=True, nogil=True)
def _large(
    tile: Tile, low: int, column: int, threshold: float
) -> tuple[EntryIndices, EntryIndices, Tile]:
    """Return rows, columns and values of the entries above `threshold` on and below K's diagonal."""
    counts = np.zeros(tile.shape[0], np.int64)
    for r in range(tile.shape[0]):
        row, number = tile[r], np.int32(0)
        for c in range(row.size):
            number += np.int32(abs(row[c]) > threshold)
        counts[r] = number
    count = counts.sum()
    i, j = np.empty(count, np.int32), np.empty(count, np.int32)
    values = np.empty(count, tile.dtype)
    k = 0
    for r in range(tile.shape[0]):
        for c in range(min(tile.shape[1], low + r - column + 1) if counts[r] else 0):
            if abs(tile[r, c]) > threshold:
                i[k], j[k], values[k] = low + r, column + c, tile[r, c]
                k += 1
    return i[:k], j[:k], values[:k]
