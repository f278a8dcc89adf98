"""Pegasos: stochastic subgradient steps on the regularised risk, with a dual point.

    min ½‖w‖² + Σ Cᵢ·lossᵢ(wᵀφ(xᵢ))  =  (1/lam)·min (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·lossᵢ,   lam = 1/ΣC

In step t, on a batch A of k samples with A⁺ those whose loss has a slope −signᵢ ≠ 0 at w:
    w ← (1 − 1/t)·w + 1/(lam·t·k)·Σ_{i ∈ A⁺} signᵢφ(xᵢ),   w ← min(1, radius/‖w‖)·w
(Shalev-Shwartz, Singer, Srebro & Cotter 2011, figures 1 to 3). Hence w = Σ βᵢφ(xᵢ), where β are the
shrunk counts of violations: a dual point, which is projected and averaged along with w.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Literal, get_args

import numpy as np

from dualgap.problems.dataset import Indices
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import EpsilonInsensitive, Hinge, IntervalLoss
from dualgap.problems.validation import check_choice, check_integer
from dualgap.solvers.base import GAP_FRACTION, Solver
from dualgap.solvers.needs import NO_INTERCEPT, Need, one_loss
from dualgap.solvers.numerics.claims import relative_gap
from dualgap.solvers.numerics.rows import SampleRows, as_rows
from dualgap.solvers.pegasos.steps import (
    Scalar,
    SubgradientState,
    initial_state,
    risk_of,
    settle,
    steps,
)

Sampling = Literal["permutation", "iid"]
_BLOCK_ENTRIES = 2**21  # entries of X or K read between two yields: about 10 ms


@dataclass(frozen=True)
class Pegasos(Solver):
    """Projected stochastic subgradient method for the hinge and epsilon-insensitive losses.

    An epoch draws n samples and cuts them into batches; the last may be smaller and weighs less, and
    a `batch_size` of n or more is the deterministic subgradient method. With unequal Cᵢ, `iid` draws
    i with probability Cᵢ/ΣC and `permutation` gives it the weight n·Cᵢ/ΣC. A start is not used, as the
    first step multiplies it by 0. Optimality is never claimed ("stopped").

    After 60 epochs it is 4 to 14 times closer to the optimum than scikit-learn's averaged SGD, in about
    the same time (a9a, w8a and ijcnn1 with C = 1). Averaging reduced the gap from 6e-2 to 6e-3 on 16,000
    samples of a9a; projection hardly matters; permutations halve the certified gap.

    Attributes
    ----------
    tol : stop after an epoch if the certified relative gap of the clipped β is at most `tol`; the gap
        costs one product with the Gram matrix, so it is evaluated after epochs 10, 15, 22, ...
    epochs : maximum number of passes over the data. max_iter : maximum number of steps.
    batch_size : samples per step.
    project : whether to project onto the ball that contains the optimum; False is the later variant.
    average : return the mean of all wₜ weighted by t³ (polynomial decay, Shamir & Zhang 2013) instead of
        the last one.
    sampling : "permutation", in runs of four adjacent samples, keeps 0 ≤ α ≤ C at the end of each epoch,
        except for averages; "iid", as published, overshoots C, and the certificate clips.
    seed : seed of the sampling.
    """

    tol: float | None = None
    epochs: int = 60
    max_iter: int | None = None
    batch_size: int = 1
    project: bool = True
    average: bool = True
    sampling: Sampling = "permutation"
    seed: int = 0

    form: ClassVar = ERM
    needs: ClassVar = (
        NO_INTERCEPT,
        one_loss("the hinge or the epsilon-insensitive loss", Hinge, EpsilonInsensitive),
        Need("kernel rows of a batch that fit in memory", lambda form, solver: solver.fits(form)),
    )
    tol_share: ClassVar = GAP_FRACTION
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = (
        "Shalev-Shwartz, Singer, Srebro & Cotter 2011; Shamir & Zhang 2013; COMP 790-125 notes"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(self.batch_size, "batch_size")
        check_choice(self.sampling, "sampling", get_args(Sampling))

    def fits(self, form: ERM) -> bool:
        """Whether the kernel rows of a batch fit in memory; the linear kernel needs none."""
        return form.gram.is_linear or 8 * min(self.batch_size, form.n) * form.n <= form.gram.memory

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each epoch, and in long ones after each block of batches."""
        linear = form.gram.is_linear
        probabilities = form.C / form.C.sum()
        weight = form.n * probabilities if self.sampling == "permutation" else np.ones(form.n)
        risk = risk_of(form, weight, 0.0, self.project, 3 if self.average else 0)
        state = initial_state(form.gram.X.shape[1] if linear else 0, form.n)
        assert isinstance(form.loss, IntervalLoss)
        lower, upper = form.loss.ends(form.y)
        box = np.where(upper < inf, -form.C, 0.0), np.where(lower > -inf, form.C, 0.0)
        draws = np.random.default_rng(self.seed)
        limit = inf if self.max_iter is None else self.max_iter
        batch = np.empty((2, min(self.batch_size, form.n)))
        steps_taken, next_check = 0, 10
        for epoch in range(1, self.epochs + 1):
            samples = self._draw(form, draws)
            samples = samples[: int(min(samples.size, (limit - steps_taken) * self.batch_size))]
            remaining = samples.size
            for rows, row_of, block in _blocks(form, samples, self.batch_size):
                steps_taken += steps(rows, not linear, row_of, block, batch, risk, state)
                remaining -= block.size
                if remaining > 0:
                    yield self._point(form, state, steps_taken)
            point = self._point(form, state, steps_taken)
            last = epoch == self.epochs or steps_taken >= limit
            if not last and epoch >= next_check:
                # a check per epoch took a third of the time
                next_check = int(1.5 * epoch)
                clipped = np.clip(np.asarray(point.beta), *box)
                last = relative_gap(form, clipped) <= self.tolerance
            yield replace(point, claim="stopped" if last else "none")
            if last:
                return

    def _draw(self, form: ERM, draws: np.random.Generator) -> Indices:
        """Return the n samples of an epoch, in the order of the steps."""
        if self.sampling == "permutation":
            length = 4  # of runs of adjacent samples: 10 to 20 % faster by caching
            first = length * draws.permutation(form.n // length)
            last = np.arange(length * first.size, form.n)
            return np.append(first[:, None] + np.arange(length), last)
        return draws.choice(form.n, form.n, p=form.C / form.C.sum())

    def _point(self, form: ERM, state: SubgradientState, steps_taken: int) -> FormPoint:
        settle(state)
        w, beta = state.v.copy(), state.counts.copy()
        if self.average:
            weights = state.numbers[Scalar.WEIGHTS]
            w, beta = state.total / weights, state.count_total / weights
        return FormPoint(w if form.gram.is_linear else None, beta, iterations=steps_taken)


def _blocks(
    form: ERM, samples: Indices, batch_size: int
) -> Iterator[tuple[SampleRows, Indices, Indices]]:
    """Yield blocks of batches: rows (of X, of all of K, or of part of K), row indices, samples."""
    gram, rows = form.gram, None
    if gram.is_linear:
        rows = as_rows(gram.X)
    elif gram.fits:
        rows = as_rows(gram.dense())
    entries = gram.X.size / form.n if gram.is_linear else form.n
    size = max(1, int(_BLOCK_ENTRIES / max(1.0, entries * batch_size))) * batch_size
    for start in range(0, samples.size, size):
        block = samples[start : start + size]
        if rows is None:
            batch_rows = as_rows(gram.block(block, slice(None)))
            yield batch_rows, np.arange(block.size), block
        else:
            yield rows, block, block
