"""The matrix K of the variables, in one precision: its columns, blocks and products.

A variable is a sample, or several equal samples, perhaps scaled; several variables may share a sample.
Columns are prepared once for several products with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.threads import Job
from dualgap.problems.gram.tiles import Columns, Tile, Tiles
from dualgap.solvers.smo.problem import Variables


class PreparedColumns(NamedTuple):
    """Columns of K for some variables; `column_of` maps each to its column if several share a sample."""

    columns: Columns
    column_of: Indices | None


class Matrix:
    """K of the variables of a problem, computed on demand.

    Attributes
    ----------
    sample, scale : those of each variable. repeats : whether variables share samples.
    dtype : that of blocks, and the default of columns.
    """

    def __init__(self, tiles: Tiles, variables: Variables, dtype: Any) -> None:
        self.tiles, self.sample, self.scale = tiles, variables.sample, variables.scale
        self.repeats = variables.terms.several and np.unique(self.sample).size < variables.n
        self.dtype = np.dtype(dtype)

    @property
    def in_single(self) -> bool:
        """Whether rows are in float32."""
        return self.dtype == np.float32

    def columns(self, cols: Indices, dtype: Any = None) -> PreparedColumns:
        """Prepare columns of K for several products; variables that share a sample share a column."""
        samples, column_of = self.sample[cols], None
        if self.repeats:
            once, back = np.unique(samples, return_inverse=True)
            if once.size < samples.size:
                samples, column_of = once, back
        return PreparedColumns(self.tiles.columns(samples, dtype or self.dtype), column_of)

    def diagonal(self, members: Indices) -> Vector:
        """Return K[i, i] for each of the members."""
        diagonal = self.tiles.diagonal[self.sample[members]]
        return diagonal if self.scale is None else self.scale[members] ** 2 * diagonal

    def block(
        self,
        rows: Indices,
        cols: Indices,
        prepared: PreparedColumns,
        out: Tile | None = None,
        then: Job | None = None,
        work: int = 0,
    ) -> Tile:
        """Return K[rows, cols], in `out` if given; each thread then calls `then` on its columns.

        See `Tiles.block`.
        """
        if prepared.column_of is None and self.scale is None:
            return self.tiles.block(self.sample[rows], prepared.columns, out, then, work)
        if prepared.column_of is None:
            K = self.tiles.block(self.sample[rows], prepared.columns, out)
        else:
            once = self.tiles.block(self.sample[rows], prepared.columns)
            K = np.take(once, prepared.column_of, axis=1, out=out, mode="clip")
        if self.scale is not None:
            K *= self.scale[rows][:, None] * self.scale[cols]
        if then is not None:
            self.tiles.pool.run(then, cols.size, work)
        return K

    def products(
        self, rows: Indices, cols: Indices, weights: Vector, prepared: PreparedColumns | None = None
    ) -> Vector:
        """Return K[rows, cols] @ weights; `prepared` are the columns `cols`, if computed before."""
        columns, column_of = self.columns(cols) if prepared is None else prepared
        weights = weights if self.scale is None else weights * self.scale[cols]
        if column_of is not None:
            weights = np.bincount(column_of, weights, columns.size).astype(np.float64)
        if self.repeats:
            samples, back = np.unique(self.sample[rows], return_inverse=True)
            result = self.tiles.product(samples, columns, weights)[back]
        else:
            result = self.tiles.product(self.sample[rows], columns, weights)
        return result if self.scale is None else result * self.scale[rows]

    def exact_scores(self, rows: Indices, z: Vector) -> Vector:
        """Return (Kz)[rows] in float64."""
        support = np.flatnonzero(z)
        return self.products(rows, support, z[support], self.columns(support, np.float64))
