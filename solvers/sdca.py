"""Stochastic dual coordinate ascent for a regularised risk with any loss of one score.

    max −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ),   w = Σ βᵢφ(xᵢ)
Each step maximises over one coefficient: with m = fᵢ − Kᵢᵢβᵢ, the score without sample i,
    βᵢ ← Cᵢ·s,   −s ∈ ∂ℓ(yᵢ, m + CᵢKᵢᵢ·s),
in closed form for losses of a distance, by Newton's method for the logistic loss (Shalev-Shwartz &
Zhang 2013, sections 3 and 6; Hsieh et al. 2008 for the hinge). It maintains w for the linear kernel,
else the scores f = Kβ. With the squared loss it is kernel ridge regression by coordinate descent on
its dual Kβ + n·lam·β = y (Straka's notes).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numba
import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.kernels import Block
from dualgap.problems.kernels.compiled import FASTMATH
from dualgap.problems.losses import IntervalLoss, Logistic
from dualgap.problems.losses.logistic import logistic_step
from dualgap.solvers.base import GAP_FRACTION, Solver
from dualgap.solvers.needs import LINEAR_OR_DENSE, NO_INTERCEPT, one_loss
from dualgap.solvers.numerics.claims import relative_gap
from dualgap.solvers.numerics.rows import SampleRows, add, as_rows, dot, read_only
from dualgap.solvers.pegasos.steps import scored_samples


class EpochData(NamedTuple):
    """Data of an epoch: rows for the linear kernel, the Gram matrix for any other.

    The other fields are those of `RiskTerms` for the weights Cᵢ.
    """

    rows: SampleRows
    gram: Block
    samples: Block
    smoothing: float
    lipschitz: float
    logistic: bool


@dataclass(frozen=True)
class SDCA(Solver):
    """Stochastic dual coordinate ascent; an epoch visits the samples in random order.

    Attributes
    ----------
    tol : relative duality gap at which it stops; evaluated less and less often.
    max_iter : epochs after which it stops without a claim.
    seed : for the order of the samples.
    """

    tol: float | None = None
    max_iter: int = 10_000
    seed: int = 0

    form: ClassVar = ERM
    needs: ClassVar = (
        NO_INTERCEPT,
        one_loss("a piecewise linear or quadratic loss, or the logistic", IntervalLoss, Logistic),
        LINEAR_OR_DENSE,
    )
    tol_share: ClassVar = GAP_FRACTION
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = "Shalev-Shwartz & Zhang 2013; NPFL129 notes (kernel ridge)"

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each epoch."""
        linear = form.gram.is_linear
        rows = as_rows(form.gram.X if linear else np.empty((0, 0)))
        gram = read_only(np.empty((0, 0)) if linear else form.gram.dense())
        dual = EpochData(rows, gram, *scored_samples(form, form.C))
        beta = np.zeros(form.n) if form.start is None else form.start.copy()
        state = form.gram.X.T @ beta if linear else form.gram.matvec(beta)
        draws, next_check = np.random.default_rng(self.seed), 1
        for epochs in range(1, self.max_iter + 1):
            _epoch(dual, draws.permutation(form.n), beta, state)
            reached = False
            if epochs >= next_check or epochs == self.max_iter:
                # an evaluation of the gap costs an epoch
                next_check = max(epochs + 1, int(1.2 * epochs))
                reached = relative_gap(form, beta) <= self.tolerance
            claim = "optimal" if reached else "stopped" if epochs == self.max_iter else "none"
            yield FormPoint(None, beta.copy(), 0.0, iterations=epochs, claim=claim)
            if reached:
                return


@numba.njit(cache=True, fastmath=FASTMATH)
def _epoch(dual: EpochData, order: Indices, beta: Vector, state: Vector) -> None:
    """Maximise over each coefficient in `order`; `state` is w, or f = Kβ with a kernel."""
    for position in range(order.size):
        i = order[position]
        lower, upper = dual.samples[i, 0], dual.samples[i, 1]
        C, square = dual.samples[i, 2], dual.samples[i, 3]
        f = state[i] if dual.gram.size > 0 else dot(dual.rows, i, state)
        m, t = f - square * beta[i], C * square
        if dual.logistic:
            s = lower * logistic_step(lower * m, t)
        else:
            e = lower - m if m < lower else upper - m if m > upper else 0.0
            width = t + dual.smoothing
            s = e / (width if width > 1e-300 else 1e-300)
            s = dual.lipschitz if s > dual.lipschitz else s
            s = -dual.lipschitz if s < -dual.lipschitz else s
        change = C * s - beta[i]
        if change != 0.0:
            beta[i] += change
            if dual.gram.size > 0:
                for k in range(state.size):
                    state[k] += change * dual.gram[i, k]
            else:
                add(dual.rows, i, change, state)
