"""Stochastic subgradient steps on a regularised risk with any loss of one score.

    min F = (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·ℓ(yᵢ, wᵀxᵢ),   lam = 1/ΣC
Step t, for a sample i drawn with probability Cᵢ/ΣC,
    w ← (1 − lam·ηₜ)·w − ηₜ·ℓ'(yᵢ, wᵀxᵢ)·xᵢ,   ηₜ = 1/(lam·(t + t₀)),   w ← min(1, radius/‖w‖)·w
with t₀ = L·max‖xᵢ‖²/lam for a smooth loss of curvature at most L, so that no step overshoots, and 0
for one with kinks; with the hinge loss this is Pegasos (Shalev-Shwartz et al. 2011, figure 1). The
answer is the mean of all wₜ weighted by t (Lacoste-Julien et al. 2012; Bottou et al. 2018, section 4).
The ball of radius √(L(0)/lam) contains the optimum, as for Pegasos; for the perceptron loss it is 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import IntervalLoss, Logistic
from dualgap.solvers.base import Solver
from dualgap.solvers.needs import LINEAR, NO_INTERCEPT, one_loss
from dualgap.solvers.numerics.rows import as_rows
from dualgap.solvers.pegasos.steps import Scalar, initial_state, risk_of, settle, steps


@dataclass(frozen=True)
class StochasticSubgradient(Solver):
    """Projected stochastic subgradient method for every loss; it claims nothing.

    Attributes
    ----------
    epochs : number of times n samples after which it stops. max_iter : limit on the steps.
    seed : for drawing the samples.
    """

    epochs: int = 100
    max_iter: int | None = None
    seed: int = 0

    form: ClassVar = ERM
    needs: ClassVar = (
        NO_INTERCEPT,
        one_loss("a piecewise linear or quadratic loss, or the logistic", IntervalLoss, Logistic),
        LINEAR,
    )
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Shalev-Shwartz et al. 2011; Lacoste-Julien et al. 2012"

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each block of steps."""
        smoothness = form.loss.smoothness if form.loss.smoothness < np.inf else 0.0
        first = smoothness * float(form.gram.diagonal().max()) * float(form.C.sum())
        risk = risk_of(form, np.ones(form.n), first, True, 1)
        rows = as_rows(form.gram.X)
        state = initial_state(form.gram.X.shape[1], form.n)
        draws, probabilities = np.random.default_rng(self.seed), form.C / form.C.sum()
        limit = form.n * int(self.epochs)
        limit = limit if self.max_iter is None else min(limit, int(self.max_iter))
        batch = np.empty((2, 1))
        size = 2**14  # samples between two yields
        for drawn in range(0, limit, size):
            samples = draws.choice(form.n, min(size, limit - drawn), p=probabilities)
            steps(rows, False, samples, samples, batch, risk, state)
            settle(state)
            yield FormPoint(
                state.total / state.numbers[Scalar.WEIGHTS],
                b=0.0,
                iterations=int(state.numbers[Scalar.DRAWN]),
                claim="stopped" if drawn + size >= limit else "none",
            )
