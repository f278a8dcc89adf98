"""Rows of K computed within the pair steps, when a step first needs them.

For a working set of all variables. Most of them never move where classes are easily told apart: all of K
would touch several times the memory, and memory touched first takes longer than the values in it. On
501 to 2048 samples of 20 features all rows at once took 1.5 times as long, all of K in float64 1.7.
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
    np.dot(source.rows[i], source.columns, K[at])
    fill_exponentials(K[at : at + 1], source.factor[0])
    source.place[i], source.owner[at] = at, i
    source.used[0] = at + 1
    return at
