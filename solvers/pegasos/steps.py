"""Compiled stochastic subgradient steps, for dense rows, CSR rows and rows of a Gram matrix.

    min F = (lam/2)‖w‖² + (1/n) Σ weightᵢ·ℓᵢ(wᵀφ(xᵢ))   over ‖w‖ ≤ radius

The weights are w = scale·v with v = Σ countsᵢφ(xᵢ), so that shrinking w costs nothing, and their
average Σ weightₜ·wₜ is unaveraged·v − lag, where unaveraged = Σ weightₜ·scaleₜ: a sample that is added
to v is also added to `lag` with the current `unaveraged`, as earlier weights did not contain it.
"""

from enum import IntEnum
from typing import NamedTuple

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import ERM
from dualgap.problems.kernels import Block
from dualgap.problems.kernels.compiled import FASTMATH
from dualgap.problems.losses import IntervalLoss, Logistic
from dualgap.solvers.numerics.rows import SampleRows, add, dot, read_only


class SubgradientState(NamedTuple):
    """The arrays that a step updates in place.

    v (d,), counts (n,) : w and its dual coefficients, up to the scale.
    lag, count_lag : corrections of the lazy average.
    total, count_total : the sums Σ weightₜ·wₜ as of the last `settle`.
    numbers : scalars, at the indices that `Scalar` names.
    """

    v: Vector
    counts: Vector
    lag: Vector
    count_lag: Vector
    total: Vector
    count_total: Vector
    numbers: Vector


class Scalar(IntEnum):
    """Indices of `numbers`: the scale, ‖w‖², samples drawn so far, unaveraged, and Σ weightₜ."""

    SCALE = 0
    NORM2 = 1
    DRAWN = 2
    UNAVERAGED = 3
    WEIGHTS = 4


class RiskTerms(NamedTuple):
    """The parameters of a step.

    samples (n, 4) : ends of the zero-loss interval (for the logistic loss y twice), weightᵢ and
        ‖φ(xᵢ)‖², stored together as they are read in random order.
    smoothing, lipschitz : of the loss, see `IntervalLoss`.
    lam, radius : of F. first : t₀ in the step sizes 1/(lam·(t + t₀)).
    power : exponent of t in the weights of the average, 1 or 3; 0 for no average.
    """

    samples: Block
    smoothing: float
    lipschitz: float
    logistic: bool
    lam: float
    first: float
    radius: float
    power: int


def risk_of(form: ERM, weight: Vector, first: float, projected: bool, power: int) -> RiskTerms:
    """Return the risk of `form` with sample weights (n,).

    The ball of radius √(ΣC·L(0)) contains the optimum, where ‖w‖² + ΣC·L(w) ≤ ΣC·L(0) for the mean loss
    L, by strong duality and Fenchel-Young.
    """
    at_zero = float(form.C @ form.loss.value(form.y, np.zeros(form.n)))
    return RiskTerms(
        *scored_samples(form, weight),
        lam=1.0 / float(form.C.sum()),
        first=first,
        radius=float(np.sqrt(at_zero)) if projected else np.inf,
        power=power,
    )


def scored_samples(form: ERM, weight: Vector) -> tuple[Block, float, float, bool]:
    """Return the fields of `RiskTerms` that define the loss of each sample, for weights (n,)."""
    loss, y = form.loss, form.y
    lower, upper = loss.ends(y) if isinstance(loss, IntervalLoss) else (y, y)
    samples = np.column_stack([lower, upper, weight, form.gram.diagonal()])
    smoothing = loss.smoothing if isinstance(loss, IntervalLoss) else 0.0
    return read_only(samples), smoothing, float(loss.lipschitz), isinstance(loss, Logistic)


def initial_state(d: int, n: int) -> SubgradientState:
    """Return w = 0 with d coordinates (0 with a kernel) and n dual coefficients."""
    state = SubgradientState(*(np.zeros(size) for size in (d, n, d, n, d, n, len(Scalar))))
    state.numbers[Scalar.SCALE] = 1.0
    return state


@numba.njit(cache=True, fastmath=FASTMATH)
def steps(
    rows: SampleRows,
    of_gram: bool,
    row_of: Indices,
    samples: Indices,
    batch: Block,
    risk: RiskTerms,
    state: SubgradientState,
) -> int:
    """Take one step per batch of `samples`, in place; return the number of steps.

    `row_of` is the row index of each of `samples`, in X or, if `of_gram`, in the Gram matrix; `batch`
    (2, k), for batches of k samples, is overwritten. Step t is
    w ← (1 − 1/(t + t₀))·w − Σ ℓ'ᵢ(w)·weightᵢ/(lam·(t + t₀)·k)·φ(xᵢ), then w ← min(1, radius/‖w‖)·w;
    t·k is `drawn`, so that a short last batch weighs less.
    """
    v, counts, numbers = state.counts if of_gram else state.v, state.counts, state.numbers
    lag, count_lag = state.lag, state.count_lag
    scale, norm2, drawn = numbers[Scalar.SCALE], numbers[Scalar.NORM2], numbers[Scalar.DRAWN]
    unaveraged, weights = numbers[Scalar.UNAVERAGED], numbers[Scalar.WEIGHTS]
    slope, scores = batch[0], batch[1]
    count = 0
    for start in range(0, samples.size, slope.size):
        size = samples.size - start if samples.size - start < slope.size else slope.size
        for k in range(size):
            scores[k] = scale * dot(rows, row_of[start + k], v)
            slope[k] = _negative_slope(risk, samples[start + k], scores[k])
        before = drawn + risk.first
        shrink = before / (before + size) if drawn > 0.0 else 1.0  # before the first step w is 0
        drawn += size
        scale, norm2, moved = scale * shrink, norm2 * shrink**2, False
        for k in range(size):
            if slope[k] != 0.0:
                i, row = samples[start + k], row_of[start + k]
                change = slope[k] * risk.samples[i, 2] / (risk.lam * (drawn + risk.first))
                f = scale * dot(rows, row, v) if moved else shrink * scores[k]
                norm2 += change * (2.0 * f + change * risk.samples[i, 3])
                change, moved = change / scale, True
                counts[i] += change
                count_lag[i] += unaveraged * change
                if not of_gram:
                    add(rows, row, change, v)
                    add(rows, row, unaveraged * change, lag)
        if norm2 > risk.radius**2:  # projection; a radius of 0 must not make the scale 0
            shrink = risk.radius / np.sqrt(norm2)
            scale *= shrink if shrink > 1e-150 else 1e-150
            norm2 = risk.radius**2
        if risk.power > 0:
            weight = drawn**3 if risk.power == 3 else drawn
            unaveraged, weights = unaveraged + weight * scale, weights + weight
        if scale < 1e-3:  # the lazy average loses as many digits as the scale
            numbers[Scalar.SCALE], numbers[Scalar.UNAVERAGED] = scale, unaveraged
            settle(state)
            scale, unaveraged = 1.0, 0.0
        count += 1
    numbers[Scalar.SCALE], numbers[Scalar.NORM2], numbers[Scalar.DRAWN] = scale, norm2, drawn
    numbers[Scalar.UNAVERAGED], numbers[Scalar.WEIGHTS] = unaveraged, weights
    return count


@numba.njit(inline="always", fastmath=FASTMATH)
def _negative_slope(risk: RiskTerms, i: int, f: float) -> float:
    """Return −ℓ'ᵢ(f), 0 at a kink."""
    lower, upper = risk.samples[i, 0], risk.samples[i, 1]
    if risk.logistic:
        power = lower * f
        slope = lower / (1.0 + np.exp(power if power < 700.0 else 700.0))
    else:
        e = lower - f if f < lower else upper - f if f > upper else 0.0
        slope = risk.lipschitz if e > 0.0 else -risk.lipschitz if e < 0.0 else 0.0
        if abs(e) < risk.lipschitz * risk.smoothing:
            slope = e / risk.smoothing
    return slope


@numba.njit(cache=True)
def settle(state: SubgradientState) -> None:
    """Reset the scale to one, and update the lazy averages."""
    numbers = state.numbers
    scale, unaveraged = numbers[Scalar.SCALE], numbers[Scalar.UNAVERAGED]
    for k in range(state.v.size):
        state.total[k] += unaveraged * state.v[k] - state.lag[k]
        state.lag[k] = 0.0
        state.v[k] *= scale
    for k in range(state.counts.size):
        state.count_total[k] += unaveraged * state.counts[k] - state.count_lag[k]
        state.count_lag[k] = 0.0
        state.counts[k] *= scale
    numbers[Scalar.SCALE], numbers[Scalar.UNAVERAGED] = 1.0, 0.0
