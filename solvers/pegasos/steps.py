"""The compiled steps of Pegasos, for dense rows, CSR rows and rows of a Gram matrix alike.

The weights are w = scale·v with v = Σ countsᵢφ(xᵢ), so that shrinking w costs nothing, and their
average Σ weightₜ·wₜ is unaveraged·v − lag, where unaveraged = Σ weightₜ·scaleₜ: a sample that is added
to v goes into lag with the `unaveraged` of that moment, for it had no part in what was before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import scipy

from problems.dataset import Indices, Vector
from problems.kernels import Block
from solvers.arrays import read_only, unsigned

# Sums may be taken in any order, which lets dense products use vector instructions.
FAST = {"reassoc", "contract", "nsz"}
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
    """lam/2‖w‖² + (1/n) Σ weightᵢ·(max(0, lowerᵢ − fᵢ) + max(0, fᵢ − upperᵢ)), with ‖w‖ ≤ radius.

    samples (n, 4) : lowerᵢ, upperᵢ, weightᵢ and ‖φ(xᵢ)‖², side by side, for they are read in random
        order.
    """

    samples: Block
    lam: float
    radius: float


def as_rows(X: Any, of_gram: bool = False) -> Rows:
    """Return samples as `Rows`, read-only so that every caller shares one compiled version."""
    dense, data, no = np.empty((0, 0)), np.empty(0), np.empty(0, np.uint32)
    if not scipy.sparse.issparse(X):
        return Rows(read_only(X), read_only(data), read_only(no), read_only(no), of_gram)
    csr = read_only(X.data), unsigned(X.indices), unsigned(X.indptr)
    return Rows(read_only(dense), *csr, of_gram)


@numba.njit(cache=True, fastmath=FAST)
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
    lag, count_lag = state.lag, state.count_lag
    scale, norm2, drawn = numbers[SCALE], numbers[NORM2], numbers[DRAWN]
    unaveraged, weights = numbers[UNAVERAGED], numbers[WEIGHTS]
    sign, scores = np.empty(min(batch_size, samples.size)), np.empty(min(batch_size, samples.size))
    done = 0
    for first in range(0, samples.size, batch_size):
        size = min(batch_size, samples.size - first)
        for k in range(size):
            i, f = samples[first + k], scale * _dot(rows, row_of[first + k], v, counts)
            lower, upper = risk.samples[i, 0], risk.samples[i, 1]
            scores[k], sign[k] = f, 1.0 if f < lower else -1.0 if f > upper else 0.0
        shrink = drawn / (drawn + size) if drawn > 0.0 else 1.0  # before the first step w is 0
        drawn += size
        scale, norm2, moved = scale * shrink, norm2 * shrink**2, False
        for k in range(size):
            if sign[k] != 0.0:
                i, row = samples[first + k], row_of[first + k]
                change = sign[k] * risk.samples[i, 2] / (risk.lam * drawn)
                f = scale * _dot(rows, row, v, counts) if moved else shrink * scores[k]
                norm2 += change * (2.0 * f + change * risk.samples[i, 3])
                change, moved = change / scale, True
                counts[i] += change
                count_lag[i] += unaveraged * change
                _add(rows, row, change, v, unaveraged * change, lag)
        if norm2 > risk.radius**2:  # projection
            scale, norm2 = scale * risk.radius / np.sqrt(norm2), risk.radius**2
        if average:
            unaveraged, weights = unaveraged + drawn**3 * scale, weights + drawn**3
        if scale < _SMALLEST_SCALE:
            numbers[SCALE], numbers[UNAVERAGED] = scale, unaveraged
            settle(state)
            scale, unaveraged = 1.0, 0.0
        done += 1
    numbers[SCALE], numbers[NORM2], numbers[DRAWN] = scale, norm2, drawn
    numbers[UNAVERAGED], numbers[WEIGHTS] = unaveraged, weights
    return done


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


@numba.njit(inline="always", fastmath=FAST)
def _dot(rows: Rows, row: int, v: Vector, counts: Vector) -> float:
    """Return vᵀφ(x) for the sample in `row`."""
    total = 0.0
    if rows.of_gram:
        for k in range(counts.size):
            total += rows.dense[row, k] * counts[k]
    elif rows.dense.size > 0:
        for k in range(v.size):
            total += rows.dense[row, k] * v[k]
    else:
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            total += rows.data[k] * v[rows.indices[k]]
    return total


@numba.njit(inline="always", fastmath=FAST)
def _add(rows: Rows, row: int, change: float, v: Vector, late: float, lag: Vector) -> None:
    """Add change·x to v and late·x to lag, where they have coordinates."""
    if rows.of_gram:
        return
    if rows.dense.size > 0:
        for k in range(v.size):
            v[k] += change * rows.dense[row, k]
            lag[k] += late * rows.dense[row, k]
    else:
        for k in range(rows.indptr[row], rows.indptr[row + 1]):
            v[rows.indices[k]] += change * rows.data[k]
            lag[rows.indices[k]] += late * rows.data[k]
