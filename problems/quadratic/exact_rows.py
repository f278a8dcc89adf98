"""Rows of E u = e at a float64 point: residuals rounded once, and exact signs.

Dekker 1971, "A floating-point technique for extending the available precision".
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import fsum, nan
from typing import Any

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.intervals import UNIT, lost_to_underflow
from dualgap.problems.dataset import Vector


def residuals(E: Any, v: Vector, e: Vector) -> Intervals:
    """Return e − E v, rounded once: each exact product is a sum of two numbers (Dekker 1971).

    A row in which all products are of zeros is exactly its side.
    """
    factors = v[E.indices]
    (a, a_low), (b, b_low) = _halves(E.data), _halves(factors)
    high = E.data * factors
    low = ((a * b - high) + a * b_low + a_low * b) + a_low * b_low
    parts = -np.stack([high, low])
    ends = zip(E.indptr[:-1].tolist(), E.indptr[1:].tolist(), e.tolist(), strict=True)
    exact = np.array([_sum([side, *parts[:, i:j].ravel().tolist()]) for i, j, side in ends])
    n_products = np.diff(np.concatenate([[0], np.cumsum(factors != 0)])[E.indptr])
    rounding = 2 * UNIT * np.abs(exact) + lost_to_underflow(v, E.shape[1])
    return Intervals(exact, np.where(n_products, rounding, 0.0))


def exact_signs(E: Any, v: Vector, e: Vector) -> Vector:
    """Return the exact signs of E v − e, in rational arithmetic for rows with extreme numbers."""
    signs = -np.sign(residuals(E, v, e).mid)
    factors = v[E.indices]
    with np.errstate(over="ignore", under="ignore"):
        sizes = np.abs([E.data, factors, E.data * factors])
    # within this range a product is exactly a sum of two numbers
    safe = ((sizes > 1e-250) & (sizes < 1e250)).all(axis=0) | (factors == 0)
    rows = np.repeat(np.arange(e.size), np.diff(E.indptr))
    for row in np.unique(rows[~safe]).tolist():
        terms = (value * Fraction(float(v[at])) for at, value in exact_row(E, row))
        residual = sum(terms, -Fraction(float(e[row])))
        signs[row] = (residual > 0) - (residual < 0)
    return signs


def _sum(values: list[float]) -> float:
    """Return the exact sum, rounded once; NaN where it overflows on the way."""
    try:
        return fsum(values)
    except (OverflowError, ValueError):  # ValueError: infinities of both signs
        return nan


def _halves(values: Vector) -> tuple[Vector, Vector]:
    """Return two numbers of 26 bits that add up to each value (Veltkamp 1968)."""
    high = (2.0**27 + 1) * values
    high = high - (high - values)
    return high, values - high


def exact_row(E: Any, row: int) -> Iterator[tuple[int, Fraction]]:
    """Return the columns and values of a row of CSR `E`."""
    part = slice(*E.indptr[row : row + 2])
    return zip(E.indices[part].tolist(), map(Fraction, E.data[part].tolist()), strict=True)
