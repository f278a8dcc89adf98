"""Exact scaling by powers of two: what a unit of measurement changes is taken out, and put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Indices, Vector

_LEAST, _LARGEST = -1021, 1023  # binary exponents of float64 numbers that keep all their digits
_NO_EXPONENT = 5000  # larger than any
_OUTLIER_BITS = 10.0  # from its unit, at which an entry counts half: a bound of 1e9 may mean none
_BOUND_WEIGHT = 0.01  # bounds state a unit only where nothing else does
_REWEIGHTINGS = 2
_ROUNDING = 0.43  # no half, as logarithms of data that are powers of two have halves as means


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


def column_exponents(
    diagonal: Vector, q: Vector, M: Any, sides: Vector, *bounds: Vector
) -> Indices:
    """Return k (n,) for which the entries of a QP in u = 2⁻ᵏx have sizes of about 1.

    With cost times 2ᵛ and rows times 2ʳ the binary logarithms of P's `diagonal`, `q`, CSR `M` (m, n),
    `sides` (m,) and `bounds` have the least sum of squares (Curtis & Reid 1972), without outliers. Other
    units of cost, rows and columns change k by just what they differ by, and u not at all.
    """
    from scipy.sparse.linalg import lsmr  # noqa: PLC0415 - slow to import

    n, m = q.size, sides.size
    x, v = np.arange(n), np.full(n, n + m)
    rows, entries = n + np.repeat(np.arange(m), np.diff(M.indptr)), np.ones(M.data.size)
    equations = [  # of log₂|value| + the sum of two unknowns, of (k, r, v), each times its coefficient
        (diagonal, x, np.full(n, 2.0), v, np.ones(n)),
        (q, x, np.ones(n), v, np.ones(n)),
        (M.data, M.indices, entries, rows, entries),
        (sides, n + np.arange(m), np.ones(m), np.zeros(m, int), np.zeros(m)),
        *((bound, x, -np.ones(n), v, np.zeros(n)) for bound in bounds),
    ]
    values, i, a, j, b = (np.concatenate(parts) for parts in zip(*equations, strict=True))
    counted = np.isfinite(values) & (values != 0)
    values, i, a, j, b = (part[counted] for part in (values, i, a, j, b))
    at = np.concatenate([np.arange(values.size)] * 2)
    E = scipy.sparse.csr_array(
        (np.concatenate([a, b]), (at, np.concatenate([i, j]))), shape=(values.size, n + m + 1)
    )
    target, weight = -np.log2(np.abs(values)), np.where(a < 0, _BOUND_WEIGHT, 1.0)
    unknowns, importance = np.zeros(n + m + 1), weight
    for _ in range(_REWEIGHTINGS):
        weighted = scipy.sparse.diags_array(importance) @ E
        unknowns = lsmr(weighted, importance * target, atol=1e-8, btol=1e-8, conlim=0.0)[0]
        importance = weight / np.hypot(1.0, (E @ unknowns - target) / _OUTLIER_BITS)
    return np.floor(unknowns[:n] + _ROUNDING).astype(np.int64)


def _within(size: Any, smallest: Any, largest: Any) -> Any:
    """Return −size, or what is nearest to it that keeps both other exponents in range."""
    least, most = np.minimum(0, _LEAST - smallest), np.maximum(0, _LARGEST - largest)
    return np.clip(-size, least, most)


def scaled_columns(M: Any, exponents: Indices) -> Any:
    """Return a CSR matrix with column j times 2 to the power of exponents[j]."""
    data = np.ldexp(M.data, exponents[M.indices])
    return scipy.sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)


def scaled_rows(M: Any, exponents: Indices) -> Any:
    """Return a CSR matrix with row i times 2 to the power of exponents[i]."""
    if not exponents.any():
        return M
    data = np.ldexp(M.data, np.repeat(exponents, np.diff(M.indptr)))
    return scipy.sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)
