"""Rows of a Gram matrix kept within a budget, the least recently used given up first."""

from __future__ import annotations

import numpy as np

from problems.dataset import Indices
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

    def rows(self, wanted: Indices) -> Block:
        """Return K[wanted, :] (k, n), for distinct indices."""
        self.clock += 1
        slots = self.slot_of[wanted]
        self.last_use[slots[slots >= 0]] = self.clock
        missing = wanted[slots < 0]
        if missing.size == 0:
            return self.slab[slots]
        fresh = self.gram.block(missing, slice(None))
        result = np.empty((wanted.size, self.gram.n))
        result[slots < 0] = fresh
        result[slots >= 0] = self.slab[slots[slots >= 0]]
        self._keep(missing, fresh)
        return result

    def _keep(self, rows: Indices, values: Block) -> None:
        """Store as many rows as fit beside those used in this very call."""
        free = int((self.last_use < self.clock).sum())
        count = min(rows.size, free)
        slots = (
            np.argpartition(self.last_use, count - 1)[:count] if count else np.empty(0, np.int64)
        )
        evicted = self.row_in[slots]
        self.slot_of[evicted[evicted >= 0]] = -1
        self.slab[slots] = values[:count]
        self.row_in[slots] = rows[:count]
        self.slot_of[rows[:count]] = slots
        self.last_use[slots] = self.clock
