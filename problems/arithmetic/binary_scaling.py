"""Exact scaling by powers of two, which makes results independent of units of measurement."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from dualgap.problems.dataset import Indices, Vector


def exponent_to_one(size: float, *values: Vector) -> int:
    """Return k with 2ᵏ·size in [½, 1), or the closest k for which each 2ᵏ·value is exact."""
    exponents = np.concatenate([np.frexp(v[v != 0])[1] for v in values])
    if not (size and exponents.size):
        return 0
    return int(_clipped_exponent(np.frexp(size)[1], exponents.min(), exponents.max()))


def row_exponents(M: Any, sides: Vector) -> Indices:
    """Return for each row of a sparse `M` (m, n) the k that scales its largest entry into [½, 1).

    If that would round an entry of the row, or of `sides` (m,), the closest k that does not. Rows of
    zeros are scaled by their sides.
    """
    entries = scipy.sparse.coo_array(M)
    rows, exponents = entries.coords[0], np.frexp(entries.data)[1]
    none = 5000  # larger than every exponent
    largest, smallest = np.full(M.shape[0], -none), np.full(M.shape[0], none)
    np.maximum.at(largest, rows, exponents)
    np.minimum.at(smallest, rows, exponents)
    side_exponents, has_side = np.frexp(sides)[1], sides != 0
    size = np.where(largest > -none, largest, side_exponents)
    highest = np.where(has_side, np.maximum(size, side_exponents), size)
    lowest = np.where(has_side, np.minimum(smallest, side_exponents), np.minimum(smallest, size))
    return _clipped_exponent(size, lowest, highest)


def column_exponents(
    diagonal: Vector, q: Vector, M: Any, sides: Vector, *bounds: Vector
) -> Indices:
    """Return k (n,) for which the entries of a QP in u = 2⁻ᵏx are of the order of 1.

    With the cost scaled by 2ᵛ and rows by 2ʳ, k minimises the sum of squares of the binary logarithms of
    P's `diagonal`, `q` and CSR `M` (m, n) (Curtis & Reid 1972), with less weight on outliers. The unit
    is then moved half-way to the larger of the `sides` (m,) and `bounds`: the answer may be at the size
    of these, or of q/P. Other units of cost, rows or columns change k accordingly, and do not change u.
    """
    from scipy.sparse.linalg import lsmr  # noqa: PLC0415 - slow to import

    n, m = q.size, sides.size
    x, v = np.arange(n), np.full(n, n + m)
    rows, entries = n + np.repeat(np.arange(m), np.diff(M.indptr)), np.ones(M.data.size)
    equations = [  # log₂|value| + a·unknown[i] + b·unknown[j], with unknowns (k, r, v)
        (diagonal, x, np.full(n, 2.0), v, np.ones(n)),
        (q, x, np.ones(n), v, np.ones(n)),
        (M.data, M.indices, entries, rows, entries),
        (sides, n + np.arange(m), np.ones(m), np.zeros(m, int), np.zeros(m)),
        *((bound, x, -np.ones(n), v, np.zeros(n)) for bound in bounds),
    ]
    values, i, a, j, b = (np.concatenate(parts) for parts in zip(*equations, strict=True))
    used = np.isfinite(values) & (values != 0)
    values, i, a, j, b = (part[used] for part in (values, i, a, j, b))
    equation = np.concatenate([np.arange(values.size)] * 2)
    E = scipy.sparse.csr_array(
        (np.concatenate([a, b]), (equation, np.concatenate([i, j]))), shape=(values.size, n + m + 1)
    )
    limits = (a < 0) | (b == 0)  # sides and bounds, which need not be near the answer
    target, base_weights = -np.log2(np.abs(values)), np.where(limits, 0.01, 1.0)
    unknowns, weights = np.zeros(n + m + 1), base_weights
    # in exact arithmetic there are at most as many iterations as unknowns, with such weights more
    settings = {"atol": 1e-10, "btol": 1e-10, "conlim": 0.0, "maxiter": 4 * (n + m + 1)}
    for _ in range(2):
        weighted = scipy.sparse.diags_array(weights) @ E
        unknowns = lsmr(weighted, weights * target, **settings)[0]
        # 1/√2 for a residual of ten bits: a bound of 1e9 may mean none
        weights = base_weights / np.hypot(1.0, (E @ unknowns - target) / 10.0)
    sizes = (E @ unknowns - target)[limits]
    # a limit a million times farther than that may mean none
    sizes = sizes[np.abs(sizes) < 20.0]
    shift = 0.5 * float(np.quantile(sizes, 0.9)) if sizes.size else 0.0
    # not 0.5, since means of logarithms of powers of two are often half-integers
    return np.floor(unknowns[:n] + shift + 0.43).astype(np.int64)


def _clipped_exponent(size: Any, smallest: Any, largest: Any) -> Any:
    """Return −size, clipped so that the other two stay exponents of numbers with all their digits."""
    lower, upper = np.minimum(0, -1021 - smallest), np.maximum(0, 1023 - largest)
    return np.clip(-size, lower, upper)


def scaled_columns(M: Any, exponents: Indices) -> Any:
    """Return a CSR matrix with column j multiplied by 2 to the power of exponents[j]."""
    data = np.ldexp(M.data, exponents[M.indices])
    return scipy.sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)


def scaled_rows(M: Any, exponents: Indices) -> Any:
    """Return a CSR matrix with row i multiplied by 2 to the power of exponents[i]."""
    if not exponents.any():
        return M
    data = np.ldexp(M.data, np.repeat(exponents, np.diff(M.indptr)))
    return scipy.sparse.csr_array((data, M.indices, M.indptr), shape=M.shape)
