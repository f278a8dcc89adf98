"""Rows of K computed within the pair steps, when a step first needs them.

For a working set of all variables. Most of them never move where classes are easily told apart: all of K
would touch several times the memory, and memory touched first takes longer than the values in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from problems.dataset import Indices
from problems.gram.exponential import fill_exponentials
from problems.gram.tiles import Tile

MOST_FEATURES = 128  # up to which a row at a time takes little longer than many in one product


class Source(NamedTuple):
    """What rows of K are computed from: exp(factor·rows[i]·columns), in float32.

    Attributes
    ----------
    rows, columns : the variables' samples, shapes (n, d) and (d, n).
    factor : shape (1, ), in float32.
    place : where in the kept rows each variable's is, −1 for nowhere; overwritten, as are
    owner : each kept row's variable, and
    used : how many are kept, shape (1, ).
    """

    rows: Tile
    columns: Tile
    factor: Tile
    place: Indices
    owner: Indices
    used: Indices


@numba.njit(cache=True, nogil=True)
def add_row(K: Tile, source: Source, i: int) -> int:
    """Compute the row of K of variable i, and return where it is kept."""
    at = source.used[0]
    write_products(source.rows[i], source.columns, K[at])
    fill_exponentials(K[at : at + 1], source.factor[0])
    source.place[i], source.owner[at] = at, i
    source.used[0] = at + 1
    return at


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def write_products(x: Tile, columns: Tile, out: Tile) -> None:
    """Write xᵀcolumns, four entries of x at a time: sums are loaded and stored a quarter as often."""
    d, n = columns.shape
    out[:] = np.float32(0.0)
    for k in range(0, d - 3, 4):
        v0, v1, v2, v3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        c0, c1, c2, c3 = columns[k], columns[k + 1], columns[k + 2], columns[k + 3]
        for t in range(n):
            out[t] += (v0 * c0[t] + v1 * c1[t]) + (v2 * c2[t] + v3 * c3[t])
    for k in range(d - d % 4, d):
        v, c = x[k], columns[k]
        for t in range(n):
            out[t] += v * c[t]
