"""Stochastic subgradient steps on a regularised risk with any loss of one score.

    min F = (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·ℓ(yᵢ, wᵀxᵢ),   lam = 1/ΣC
In step t, for a sample i drawn with probability Cᵢ/ΣC,
    w ← (1 − lam·ηₜ)·w − ηₜ·ℓ'(yᵢ, wᵀxᵢ)·xᵢ,   ηₜ = 1/(lam·(t + t₀)),   w ← min(1, radius/‖w‖)·w
with t₀ = L·max‖xᵢ‖²/lam for a smooth loss of curvature at most L, so that no step overshoots, and 0
for one with kinks: then with the hinge loss it is Pegasos (Shalev-Shwartz et al. 2011, figure 1). The
answer is the mean of all wₜ weighted by t (Lacoste-Julien et al. 2012; Bottou et al. 2018, section 4).
radius = √(L(0)/lam) holds the optimum, as for Pegasos: for the perceptron loss it is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numba
import numpy as np

from problems.dataset import Indices, Vector
from problems.forms import ERM, FormPoint
from problems.kernels import Block
from problems.losses import IntervalLoss, Logistic
from solvers.base import Solver, warm_up
from solvers.dual_coordinate_descent.rows import FAST, Rows, add, dot
from solvers.sdca import as_rows

_SMALLEST_SCALE = 1e-3  # below it v is rescaled: the lazy average loses as many digits as the scale
_BLOCK = 2**14  # samples between two yields


class Risk(NamedTuple):
    """What a step reads.

    samples (n, 3) : the ends of the interval without loss (for the logistic loss y twice), ‖xᵢ‖².
    softness, steepest : of the loss, see `IntervalLoss`. lam, first : of ηₜ, with first = t₀.
    """

    rows: Rows
    samples: Block
    softness: float
    steepest: float
    logistic: bool
    lam: float
    first: float
    radius: float


class State(NamedTuple):
    """w = scale·v, and the average: Σ t·wₜ = total + unaveraged·v − lag; see the names below."""

    v: Vector
    lag: Vector
    total: Vector
    numbers: Vector


SCALE, NORM2, STEPS, UNAVERAGED, WEIGHTS = range(5)


@dataclass(frozen=True)
class StochasticSubgradient(Solver):
    """Projected stochastic subgradient method for every loss; it claims nothing.

    Attributes
    ----------
    epochs : times n samples, after which it stops. max_iter : steps, if fewer.
    seed : of the samples drawn.
    """

    epochs: int = 100
    max_iter: int | None = None
    seed: int = 0

    form: ClassVar = ERM
    source: ClassVar[str] = "Shalev-Shwartz et al. 2011; Lacoste-Julien et al. 2012"

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.epochs) != self.epochs or self.epochs < 1:
            raise ValueError(f"epochs: must be a whole number of 1 or more, got {self.epochs!r}")

    def refuses(self, form: ERM) -> str | None:
        """It needs w, a loss of one score, and no intercept."""
        if form.intercept:
            return "the stochastic subgradient method has no unregularised intercept"
        if not isinstance(form.loss, (IntervalLoss, Logistic)):
            return f"the stochastic subgradient method has no step for the {form.loss.name} loss"
        if not form.gram.is_linear:
            return "the stochastic subgradient method keeps w, which needs the linear kernel"
        return None

    def prepare(self, form: ERM) -> ERM:
        """Compile the steps."""
        warm_up(self, form)
        return form

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each block of steps."""
        risk, d = _risk(form), form.gram.X.shape[1]
        state = State(np.zeros(d), np.zeros(d), np.zeros(d), np.array([1.0, 0, 0, 0, 0]))
        draws, shares = np.random.default_rng(self.seed), form.C / form.C.sum()
        limit = form.n * int(self.epochs)
        limit = limit if self.max_iter is None else min(limit, int(self.max_iter))
        for done in range(0, limit, _BLOCK):
            _steps(risk, draws.choice(form.n, min(_BLOCK, limit - done), p=shares), state)
            _settle(state)
            last = done + _BLOCK >= limit
            yield FormPoint(
                state.total / state.numbers[WEIGHTS],
                b=0.0,
                iterations=int(state.numbers[STEPS]),
                claim="stopped" if last else "none",
            )


def _risk(form: ERM) -> Risk:
    loss, y, diagonal = form.loss, form.y, form.gram.diagonal()
    lower, upper = loss.ends(y) if isinstance(loss, IntervalLoss) else (y, y)
    total = float(form.C.sum())
    at_zero = float(form.C @ loss.value(y, np.zeros(form.n)))  # ΣC·L(0)
    smoothness = loss.smoothness if loss.smoothness < np.inf else 0.0
    return Risk(
        as_rows(form.gram.X),
        np.column_stack([lower, upper, diagonal]),
        loss.softness if isinstance(loss, IntervalLoss) else 0.0,
        float(loss.steepest),
        isinstance(loss, Logistic),
        1.0 / total,
        smoothness * float(diagonal.max()) * total,
        float(np.sqrt(at_zero)),
    )


@numba.njit(cache=True, fastmath=FAST)
def _steps(risk: Risk, samples: Indices, state: State) -> None:
    """Take one step for each of `samples`, in place."""
    v, lag, numbers = state.v, state.lag, state.numbers
    scale, norm2, t = numbers[SCALE], numbers[NORM2], numbers[STEPS]
    for i in samples:
        t += 1.0
        f = scale * dot(risk.rows, i, v)
        lower, upper = risk.samples[i, 0], risk.samples[i, 1]
        if risk.logistic:
            downhill = lower / (1.0 + np.exp(min(lower * f, 700.0)))
        else:
            e = max(lower - f, 0.0) - max(f - upper, 0.0)
            steep = e / risk.softness if risk.softness > 0.0 else np.sign(e)
            downhill = min(max(steep, -risk.steepest), risk.steepest)
        shrink = 1.0 - 1.0 / (t + risk.first)
        if shrink <= 0.0:  # the first step, from w = 0
            shrink = 1.0
        scale, norm2, f = scale * shrink, norm2 * shrink**2, f * shrink
        change = downhill / (risk.lam * (t + risk.first))
        norm2 += change * (2.0 * f + change * risk.samples[i, 2])
        if change != 0.0:
            add(risk.rows, i, change / scale, v)
            add(risk.rows, i, numbers[UNAVERAGED] * change / scale, lag)
        if norm2 > risk.radius**2:  # projection
            scale, norm2 = scale * max(risk.radius / np.sqrt(norm2), 1e-150), risk.radius**2
        numbers[UNAVERAGED] += t * scale
        numbers[WEIGHTS] += t
        if scale < _SMALLEST_SCALE:
            numbers[SCALE] = scale
            _settle(state)
            scale = 1.0
    numbers[SCALE], numbers[NORM2], numbers[STEPS] = scale, norm2, t


@numba.njit(cache=True)
def _settle(state: State) -> None:
    """Bring the scale back to one, and the average up to date."""
    numbers = state.numbers
    state.total[:] += numbers[UNAVERAGED] * state.v - state.lag
    state.lag[:] = 0.0
    state.v[:] *= numbers[SCALE]
    numbers[SCALE], numbers[UNAVERAGED] = 1.0, 0.0
