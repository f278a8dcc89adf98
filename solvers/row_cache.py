"""Rows of a Gram matrix kept within a budget, the least recently used given up first."""

from __future__ import annotations

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.gram import Gram
from problems.kernels import Block


class RowCache:
    """Rows K[i, :], computed when first asked for, at most `size` bytes of them.

    The slab is allocated once: touching fresh memory costs more than computing a row.
    """

    def __init__(self, gram: Gram, size: float) -> None:
        self.gram = gram
        capacity = int(min(gram.n, size // (8 * gram.n)))
        self.slab = np.empty((capacity, gram.n))
        self.slot_of = np.full(gram.n, -1)
        self.row_in = np.full(capacity, -1)
        self.last_use = np.zeros(capacity, dtype=np.int64)
        self.clock = 0

    def add_rows(self, f: Vector, rows: Indices, weights: Vector) -> None:
        """Add Σ weightₖ·K[rowₖ, :] to `f` (n,) in place, for distinct rows."""
        self.clock += 1
        slots = self.slot_of[rows]
        known = slots >= 0
        self.last_use[slots[known]] = self.clock
        _add_rows(f, self.slab, slots[known], weights[known])
        missing = rows[~known]
        if missing.size:
            fresh = self.gram.block(missing, slice(None))
            f += weights[~known] @ fresh
            self._keep(missing, fresh)

    def _keep(self, rows: Indices, values: Block) -> None:
        """Store as many rows as fit beside those used in this very call."""
        free = int((self.last_use < self.clock).sum())
        count = min(rows.size, free)
        if count == 0:
            return
        slots = np.argpartition(self.last_use, count - 1)[:count]
        evicted = self.row_in[slots]
        self.slot_of[evicted[evicted >= 0]] = -1
        self.slab[slots] = values[:count]
        self.row_in[slots] = rows[:count]
        self.slot_of[rows[:count]] = slots
        self.last_use[slots] = self.clock


@numba.njit(cache=True)
def _add_rows(f: Vector, slab: Block, slots: Indices, weights: Vector) -> None:
    """Add weighted rows of the slab where they are: gathering them first would copy them."""
    for k in range(slots.size):
        f += weights[k] * slab[slots[k]]
