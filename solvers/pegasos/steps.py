"""The compiled steps of Pegasos, for dense rows, CSR rows and rows of a Gram matrix alike.

The weights are w = scale·v with v = Σ countsᵢφ(xᵢ), so that shrinking w costs nothing, and their
average Σ weightₜ·wₜ is unaveraged·v − lag, where unaveraged = Σ weightₜ·scaleₜ: a sample that is added
to v goes into lag with the `unaveraged` of that moment, for it had no part in what was before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import scipy.sparse as sp

from problems.dataset import Indices, Vector
from problems.kernels import Block

_SMALLEST_SCALE = 1e-3  # below it v is rescaled: the lazy average loses as many digits as the scale


class Rows(NamedTuple):
    """Samples as rows: a dense matrix, or CSR arrays, or rows of the Gram matrix."""

    dense: Block
    data: Vector
    indices: Indices
    indptr: Indices
    of_gram: bool


class State(NamedTuple):
    """Everything that a step changes, in place.

    v (d,), counts (n,) : w and its dual coefficients, but for the scale.
    lag, count_lag : corrections of the lazy average.
    total, count_total : the sums Σ weightₜ·wₜ as of the last `settle`.
    numbers : scale, ‖w‖², samples drawn so far, unaveraged, and Σ weightₜ; see the names below.
    """

    v: Vector
    counts: Vector
    lag: Vector
    count_lag: Vector
    total: Vector
    count_total: Vector
    numbers: Vector


SCALE, NORM2, DRAWN, UNAVERAGED, WEIGHTS = range(5)


class Risk(NamedTuple):
    """lam/2‖w‖² + (1/n) Σ weightᵢ·(max(0, lowerᵢ − fᵢ) + max(0, fᵢ − upperᵢ)), with ‖w‖ ≤ radius."""

    lower: Vector
    upper: Vector
    weight: Vector
    diagonal: Vector
    lam: float
    radius: float


def as_rows(X: Any, of_gram: bool = False) -> Rows:
    """Return samples as `Rows`, read-only so that every caller shares one compiled version."""
    dense, data, no = np.empty((0, 0)), np.empty(0), np.empty(0, np.int32)
    if not sp.issparse(X):
        return Rows(_read_only(X), _read_only(data), _read_only(no), _read_only(no), of_gram)
    csr = _read_only(X.data), _read_only(X.indices), _read_only(X.indptr)
    return Rows(_read_only(dense), *csr, of_gram)


def _read_only(array: Any) -> Any:
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@numba.njit(cache=True)
def steps(
    rows: Rows,
    row_of: Indices,
    samples: Indices,
    batch_size: int,
    risk: Risk,
    average: bool,
    state: State,
) -> int:
    """Take one step for each batch of `samples`, in place; return the number of steps.

    `row_of` says which row belongs to each of `samples`. The step t with its batch of k samples is
    w ← (1 − 1/t)·w + Σ over violated i of signᵢ·weightᵢ/(lam·t·k)·φ(xᵢ), then w ← min(1, radius/‖w‖)·w;
    t·k is `drawn`, so that a short last batch weighs less.
    """
    v, counts, numbers = state.v, state.counts, state.numbers
    sign = np.empty(min(batch_size, samples.size))
    done = 0
    for first in range(0, samples.size, batch_size):
        size = min(batch_size, samples.size - first)
        for k in range(size):
            i = samples[first + k]
            f = numbers[SCALE] * _score(rows, row_of[first + k], v, counts)
            sign[k] = 1.0 if f < risk.lower[i] else -1.0 if f > risk.upper[i] else 0.0
        _shrink(numbers, size)
        for k in range(size):
            if sign[k] != 0.0:
                i, row = samples[first + k], row_of[first + k]
                change = sign[k] * risk.weight[i] / (risk.lam * numbers[DRAWN])
                f = numbers[SCALE] * _score(rows, row, v, counts)
                numbers[NORM2] += change * (2.0 * f + change * risk.diagonal[i])
                change /= numbers[SCALE]
                counts[i] += change
                _add(rows, row, change, v)
                if average:
                    state.count_lag[i] += numbers[UNAVERAGED] * change
                    _add(rows, row, numbers[UNAVERAGED] * change, state.lag)
        if numbers[NORM2] > risk.radius**2:  # projection
            numbers[SCALE] *= risk.radius / np.sqrt(numbers[NORM2])
            numbers[NORM2] = risk.radius**2
        if average:
            numbers[UNAVERAGED] += numbers[DRAWN] ** 3 * numbers[SCALE]
            numbers[WEIGHTS] += numbers[DRAWN] ** 3
        if numbers[SCALE] < _SMALLEST_SCALE:
            settle(state)
        done += 1
    return done


@numba.njit(cache=True)
def _shrink(numbers: Vector, size: int) -> None:
    """Multiply w by 1 − 1/t: w is (samples drawn before / samples drawn now) of what it was."""
    before = numbers[DRAWN]
    numbers[DRAWN] += size
    if before > 0:  # before the first step w is 0
        numbers[SCALE] *= before / numbers[DRAWN]
        numbers[NORM2] *= (before / numbers[DRAWN]) ** 2


@numba.njit(cache=True)
def settle(state: State) -> None:
    """Bring the scale back to one, and the lazy averages up to date."""
    numbers = state.numbers
    state.total[:] += numbers[UNAVERAGED] * state.v - state.lag
    state.count_total[:] += numbers[UNAVERAGED] * state.counts - state.count_lag
    state.lag[:] = 0.0
    state.count_lag[:] = 0.0
    state.v[:] *= numbers[SCALE]
    state.counts[:] *= numbers[SCALE]
    numbers[SCALE], numbers[UNAVERAGED] = 1.0, 0.0


@numba.njit(cache=True)
def _score(rows: Rows, row: int, v: Vector, counts: Vector) -> float:
    """Return vᵀφ(x) for the sample in `row`."""
    if rows.of_gram:
        return np.dot(rows.dense[row], counts)
    if rows.dense.size > 0:
        return np.dot(rows.dense[row], v)
    total = 0.0
    for k in range(rows.indptr[row], rows.indptr[row + 1]):
        total += rows.data[k] * v[rows.indices[k]]
    return total


@numba.njit(cache=True)
def _add(rows: Rows, row: int, change: float, v: Vector) -> None:
    """Add change·x to v, where it has coordinates."""
    if rows.of_gram:
        return
    if rows.dense.size > 0:
        for k in range(v.size):
            v[k] += change * rows.dense[row, k]
    else:
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            v[rows.indices[k]] += change * rows.data[k]
