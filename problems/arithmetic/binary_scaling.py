"""Exact scaling by powers of two: what a unit of measurement changes is taken out, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from problems.dataset import Indices, Vector

_LEAST, _LARGEST = -1021, 1023  # binary exponents of float64 numbers that keep all their digits
_NO_EXPONENT = 5000  # larger than any


def exponent_to_one(size: float, *values: Vector) -> int:
    """Return k with 2ᵏ·size in [½, 1), or as near to it as leaves each 2ᵏ·value exact."""
    exponents = np.concatenate([np.frexp(v[v != 0])[1] for v in values])
    if not (size and exponents.size):
        return 0
    return int(_within(np.frexp(size)[1], exponents.min(), exponents.max()))


def row_exponents(M: Any, sides: Vector) -> Indices:
    """Return for each row of a sparse `M` (m, n) the k that brings its largest entry into [½, 1).

    Or as near to it as leaves the row's entries, and its entry of `sides` (m,), exact. Of a row of
    zeros it is that of its side.
    """
    entries = scipy.sparse.coo_array(M)
    rows, exponents = entries.coords[0], np.frexp(entries.data)[1]
    largest, smallest = np.full(M.shape[0], -_NO_EXPONENT), np.full(M.shape[0], _NO_EXPONENT)
    np.maximum.at(largest, rows, exponents)
    np.minimum.at(smallest, rows, exponents)
    of_sides, known = np.frexp(sides)[1], sides != 0
    size = np.where(largest > -_NO_EXPONENT, largest, of_sides)
    highest = np.where(known, np.maximum(size, of_sides), size)
    lowest = np.where(known, np.minimum(smallest, of_sides), np.minimum(smallest, size))
    return _within(size, lowest, highest)


def _within(size: Any, smallest: Any, largest: Any) -> Any:
    """Return −size, or what is nearest to it that keeps both other exponents in range."""
    least, most = np.minimum(0, _LEAST - smallest), np.maximum(0, _LARGEST - largest)
    return np.clip(-size, least, most)


def scaled_rows(M: Any, exponents: Indices) -> Any:
    """Return a CSR matrix with row i times 2 to the power of exponents[i]."""
    if not exponents.any():
        return M
    data = np.ldexp(M.data, np.repeat(exponents, np.diff(M.indptr)))
    return scipy.sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)
