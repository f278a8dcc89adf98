"""The entries of K that count, where they are few: one pass over half of K picks them.

    (Kv)ᵢ ≈ Σ {k(xᵢ, xⱼ)vⱼ : |k(xᵢ, xⱼ)| > least},   wrong by at most least·Σ|vⱼ|

The pass goes tile by tile on all threads (`dualgap.problems.gram.tiles`), each of which is looked
through while it is in the cache; after it no kernel value is computed again.
"""

from typing import Any

import numba
import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.tiles import Tile, Tiles
from dualgap.solvers.numerics.projected_cg import Apply

Places = NDArray[np.int32]

_COLUMNS, _ROWS = 512, 1024  # of K that are looked through at a time
_FACTORED = 1000  # variables up to which a factor takes no time
_RIDGE = 1e-12  # relative: K is singular where samples are dependent
_ROUNDING = 16.0  # times that of one operation: of a kernel value


class LargeEntries:
    """The entries of K above `least` between the samples `sample`, in the rows of a sparse matrix.

    Attributes
    ----------
    diagonal : of K. products : how many have been taken.
    """

    def __init__(
        self, tiles: Tiles, sample: Indices, scale: Vector | None, least: float, dtype: Any
    ) -> None:
        self.least, self.dtype, self.products = least, np.dtype(dtype), 0
        n, parts = sample.size, list[tuple[Places, Places, Tile]]()
        room = np.empty(min(_ROWS, n) * min(_COLUMNS, n), dtype)
        for left in range(0, n, _COLUMNS):
            columns = tiles.columns(sample[left : left + _COLUMNS], dtype)
            for low in range(left, n, _ROWS):
                rows = sample[low : low + _ROWS]
                tile = room[: rows.size * columns.size].reshape(rows.size, columns.size)
                parts.append(
                    _large(tiles.block(rows, columns, tile), low, left, tile.dtype.type(least))
                )
        i, j, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if scale is not None:
            values = values * (scale[i] * scale[j])
        below = scipy.sparse.csr_array((values.astype(np.float64), (i, j)), shape=(n, n))
        self.diagonal = below.diagonal()
        self.matrix = below + below.T - scipy.sparse.diags_array(self.diagonal)

    def product(self, v: Vector) -> Vector:
        """Return Kv for `v` (n,)."""
        self.products += 1
        return self.matrix @ v

    def inverse(self, inside: Any, weights: Vector) -> Apply:
        """Return v ↦ M⁻¹v on the variables inside, 0 elsewhere; M is K + diag(weights) among them.

        Where they are many M is its diagonal alone: K is near to its own.
        """
        some = np.flatnonzero(inside)
        if some.size > _FACTORED:
            diagonal = np.where(inside, 1.0 / (self.diagonal + weights), 0.0)
            return lambda v: diagonal * v
        M = self.matrix[some][:, some].toarray()
        M[np.diag_indices(some.size)] += weights[some] + _RIDGE * self.diagonal[some]
        factor = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)

        def invert(v: Vector) -> Vector:
            result = np.zeros(v.size)
            result[some] = cho_solve(factor, v[some], check_finite=False)
            return result

        return invert

    def error(self, v: Vector) -> float:
        """Return how far an entry of Kv may be off, by what is neglected and by rounding."""
        size = np.abs(v)
        rounding = _ROUNDING * float(np.finfo(self.dtype).eps) * float((self.matrix @ size).max())
        return self.least * float(size.sum()) + rounding


def compile_pass() -> None:
    """Compile the pass for both precisions."""
    for dtype in (np.float32, np.float64):
        tile = np.zeros((1, 1), dtype)
        _large(tile, 0, 0, tile[0, 0])


@numba.njit(cache=True, nogil=True)
def _large(tile: Tile, low: int, left: int, least: float) -> tuple[Places, Places, Tile]:
    """Return rows, columns and values of the entries above `least` on and below K's diagonal."""
    found = np.zeros(tile.shape[0], np.int64)
    for r in range(tile.shape[0]):
        row, some = tile[r], np.int32(0)
        for c in range(row.size):
            some += np.int32(abs(row[c]) > least)
        found[r] = some
    count = found.sum()
    i, j = np.empty(count, np.int32), np.empty(count, np.int32)
    values = np.empty(count, tile.dtype)
    k = 0
    for r in range(tile.shape[0]):
        for c in range(min(tile.shape[1], low + r - left + 1) if found[r] else 0):
            if abs(tile[r, c]) > least:
                i[k], j[k], values[k] = low + r, left + c, tile[r, c]
                k += 1
    return i[:k], j[:k], values[:k]
