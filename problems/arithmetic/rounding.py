"""How far what float64 computes may be from what was meant: bounds that always hold.

A float64 operation returns the exact result times 1 + δ with |δ| ≤ u = 2⁻⁵³, so that Σ of m products, in
any order, is wrong by at most γ_m·Σ|products| with γ_m = m·u/(1 − m·u) (Higham 2002, "Accuracy and
stability of numerical algorithms", sections 2.2 and 3.1). Where a result falls below the normal numbers
it is wrong by at most the smallest of them, which is added. Long sums are taken in blocks, so that m is
the length of a block plus their number, rather than n.
"""

from typing import Any

import numpy as np

from dualgap.problems.arithmetic.midpoint_radius import Intervals
from dualgap.problems.dataset import Matrix, Vector

UNIT = 2.0**-53
# One hundredth covers the square of m·u, and the rounding of the bounds themselves.
SPARE = 1.01
# At most so many units in exp, log, tanh and powers: NumPy tests its own to 4 units in the last place.
ELEMENTARY = 16
# That of exp is right to less than one unit in the last place, here as in the C libraries.
EXPONENTIAL = 4
SMALLEST = float(np.finfo(np.float64).tiny)


def gamma(operations: float) -> float:
    """Return γ_m for m operations, never too small."""
    return SPARE * operations * UNIT


def grown(relative: float) -> float:
    """Return by how much a factor grows that is wrong by `relative` in its logarithm."""
    return float(1.01 * np.expm1(relative))


def products(X: Matrix, w: Any) -> Intervals:
    """Return balls around Xw for `X` (n, d) and `w` (d,) or (d, K), of numbers or balls."""
    w = w if isinstance(w, Intervals) else Intervals(w)
    scores, errors = (np.empty((X.shape[0], *w.shape[1:])) for _ in range(2))
    for rows in _blocks(X):
        part = X[rows]
        scores[rows] = part @ w.mid
        errors[rows] = abs(part) @ (gamma(terms(part)) * np.abs(w.mid) + SPARE * w.rad)
    return Intervals(scores, errors + lost_to_underflow(w.mid, X.shape[1]))


def transposed_products(X: Matrix, v: Any) -> Intervals:
    """Return balls around Xᵀv for `X` (n, d) and `v` (n,) or (n, K), of numbers or balls."""
    v = v if isinstance(v, Intervals) else Intervals(v)
    sums, errors = (np.zeros((X.shape[1], *v.shape[1:])) for _ in range(2))
    blocks = _blocks(X)
    wrong = gamma(blocks[0].stop + len(blocks)) * np.abs(v.mid) + SPARE * v.rad
    for rows in blocks:
        part = X[rows].T
        sums += part @ v.mid[rows]
        errors += abs(part) @ wrong[rows]
    return Intervals(sums, errors + lost_to_underflow(v.mid, X.shape[0]))


def leading_digits(count: int, precision: int = 53) -> int:
    """Return of how many binary digits two factors may be for so many products to add up exactly."""
    return (precision - int(np.ceil(np.log2(count)))) // 2


def split(
    values: Vector, digits: int, largest: float, out: Vector | None = None
) -> tuple[Vector, Vector]:
    """Return the leading binary digits of all values, counted from the largest, and what is left.

    The latter is written to `out` if it is given, which may be `values`.
    """
    exponent = int(np.frexp(largest)[1])
    shift = np.ldexp(1.5, exponent + 52 - digits)
    high = values + shift
    high -= shift
    return high, np.subtract(values, high, out=out)


def terms(X: Matrix) -> int:
    """Return the most entries that are not 0 in any row: of how many products a sum with it is."""
    if isinstance(X, np.ndarray):
        return int(np.count_nonzero(X, axis=1).max(initial=0))
    return int(np.diff(X.indptr).max(initial=0))


def lost_to_underflow(factors: Vector, count: int) -> float:
    """Return what so many products with some numbers may lose below the normal numbers."""
    return count * SMALLEST if factors.any() else 0.0


def _blocks(X: Matrix) -> list[slice]:
    """Return about √n blocks of rows."""
    n = X.shape[0]
    size = max(1, int(np.ceil(np.sqrt(n))))
    return [slice(k, min(k + size, n)) for k in range(0, n, size)]
