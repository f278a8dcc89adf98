"""K between variables, in one precision: its columns, blocks and products.

A variable is a sample, or several samples that are alike, perhaps scaled; several variables may share a
sample. Columns are made ready once for several products with them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.gram.threads import Job
from dualgap.problems.gram.tiles import Columns, Tile, Tiles
from dualgap.solvers.smo.variables import Variables


class Ready(NamedTuple):
    """Columns of K for some variables: of their samples, and which one is whose where some share one."""

    columns: Columns
    place: Indices | None


class Matrix:
    """K between the variables of a problem, computed where it is asked for.

    Attributes
    ----------
    sample, scale : of each variable. repeats : whether several variables have one sample.
    dtype : of blocks, and of columns unless another is asked for.
    """

    def __init__(self, tiles: Tiles, variables: Variables, dtype: Any) -> None:
        self.tiles, self.sample, self.scale = tiles, variables.sample, variables.scale
        self.repeats = variables.terms.several and np.unique(self.sample).size < variables.n
        self.dtype = np.dtype(dtype)

    @property
    def in_single(self) -> bool:
        """Whether rows are in float32."""
        return self.dtype == np.float32

    def columns(self, cols: Indices, dtype: Any = None) -> Ready:
        """Make columns of K ready, for several products with them; those of a sample are one."""
        samples, place = self.sample[cols], None
        if self.repeats:
            once, back = np.unique(samples, return_inverse=True)
            if once.size < samples.size:
                samples, place = once, back
        return Ready(self.tiles.columns(samples, dtype or self.dtype), place)

    def diagonal(self, members: Indices) -> Vector:
        """Return K[i, i] of some variables."""
        diagonal = self.tiles.diagonal[self.sample[members]]
        return diagonal if self.scale is None else self.scale[members] ** 2 * diagonal

    def block(
        self,
        rows: Indices,
        cols: Indices,
        ready: Ready,
        out: Tile | None = None,
        then: Job | None = None,
        work: int = 0,
    ) -> Tile:
        """Return K[rows, cols] between variables, written to `out` if it is given.

        Each thread goes on with its columns as in `Tiles.block`.
        """
        if ready.place is None and self.scale is None:
            return self.tiles.block(self.sample[rows], ready.columns, out, then, work)
        if ready.place is None:
            K = self.tiles.block(self.sample[rows], ready.columns, out)
        else:
            once = self.tiles.block(self.sample[rows], ready.columns)
            K = np.take(once, ready.place, axis=1, out=out, mode="clip")
        if self.scale is not None:
            K *= self.scale[rows][:, None] * self.scale[cols]
        if then is not None:
            self.tiles.pool.run(then, cols.size, work)
        return K

    def products(
        self, rows: Indices, cols: Indices, weights: Vector, ready: Ready | None = None
    ) -> Vector:
        """Return K[rows, cols] @ weights, with `ready` the columns `cols` if they are."""
        columns, place = self.columns(cols) if ready is None else ready
        weights = weights if self.scale is None else weights * self.scale[cols]
        if place is not None:
            weights = np.bincount(place, weights, columns.size).astype(np.float64)
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
