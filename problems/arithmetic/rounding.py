"""Rigorous bounds on the rounding errors of float64 computations.

A float64 operation returns the exact result times 1 + δ with |δ| ≤ u = 2⁻⁵³, so the error of a sum of m
products, in any order, is at most γ_m·Σ|products| with γ_m = m·u/(1 − m·u) (Higham 2002, "Accuracy and
stability of numerical algorithms", sections 2.2 and 3.1). If a result underflows, its error is at most
the smallest normal number, which is added. Long sums are computed in blocks, so that m is the length of
a block plus the number of blocks, rather than n.
"""

from typing import Any

import numpy as np

from dualgap.problems.arithmetic.midpoint_radius import MIN_NORMAL, UNIT, Intervals
from dualgap.problems.dataset import Matrix, Vector

# One hundredth covers the square of m·u, and the rounding of the bounds themselves.
SPARE = 1.01
# Units of error of exp, which here and in C libraries is below one unit in the last place.
EXPONENTIAL = 4
# Error of a weight: C = 1/(n·lam), its inverse and a limit of α take up to eight operations.
WEIGHT_RTOL = 8 * UNIT


def gamma(operations: float) -> float:
    """Return an upper bound on γ_m for m operations."""
    return SPARE * operations * UNIT


def products(X: Matrix, w: Any) -> Intervals:
    """Return balls that contain Xw, for `X` (n, d) and `w` (d,) or (d, K) of numbers or balls."""
    w = w if isinstance(w, Intervals) else Intervals(w)
    scores, errors = (np.empty((X.shape[0], *w.shape[1:])) for _ in range(2))
    for rows in _blocks(X):
        part = X[rows]
        scores[rows] = part @ w.mid
        errors[rows] = abs(part) @ (gamma(terms(part)) * np.abs(w.mid) + SPARE * w.rad)
    return Intervals(scores, errors + lost_to_underflow(w.mid, X.shape[1]))


def transposed_products(X: Matrix, v: Any) -> Intervals:
    """Return balls that contain Xᵀv, for `X` (n, d) and `v` (n,) or (n, K) of numbers or balls."""
    v = v if isinstance(v, Intervals) else Intervals(v)
    sums, errors = (np.zeros((X.shape[1], *v.shape[1:])) for _ in range(2))
    blocks = _blocks(X)
    v_errors = gamma(blocks[0].stop + len(blocks)) * np.abs(v.mid) + SPARE * v.rad
    for rows in blocks:
        part = X[rows].T
        sums += part @ v.mid[rows]
        errors += abs(part) @ v_errors[rows]
    return Intervals(sums, errors + lost_to_underflow(v.mid, X.shape[0]))


def terms(X: Matrix) -> int:
    """Return the largest number of nonzero entries in a row: the number of terms of its products."""
    if isinstance(X, np.ndarray):
        return int(np.count_nonzero(X, axis=1).max(initial=0))
    return int(np.diff(X.indptr).max(initial=0))


def lost_to_underflow(factors: Vector, count: int) -> float:
    """Return a bound on the underflow error of a sum of `count` products with the factors."""
    return count * MIN_NORMAL if factors.any() else 0.0


def _blocks(X: Matrix) -> list[slice]:
    """Partition the rows into about √n blocks."""
    n = X.shape[0]
    size = max(1, int(np.ceil(np.sqrt(n))))
    return [slice(k, min(k + size, n)) for k in range(0, n, size)]
