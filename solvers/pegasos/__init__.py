"""Pegasos: stochastic subgradient steps on the regularised risk, with a dual point of its own.

    min ½‖w‖² + Σ Cᵢ·lossᵢ(wᵀφ(xᵢ))  =  (1/lam)·min (lam/2)‖w‖² + Σ (Cᵢ/ΣC)·lossᵢ,   lam = 1/ΣC

In step t, on a batch A of k samples with A⁺ those whose loss has a slope −signᵢ ≠ 0 at w:
    w ← (1 − 1/t)·w + 1/(lam·t·k)·Σ_{i ∈ A⁺} signᵢφ(xᵢ),   w ← min(1, radius/‖w‖)·w
(Shalev-Shwartz, Singer, Srebro & Cotter 2011, figures 1 to 3). Hence w = Σ βᵢφ(xᵢ) with β the shrunk
counts of violations: a dual point, carried through projection and averaging.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Literal, get_args

import numpy as np

from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.forms import ERM, FormPoint
from dualgap.problems.losses import EpsilonInsensitive, Hinge, IntervalLoss
from dualgap.problems.validation import check_choice, check_whole
from dualgap.solvers.base import SHARE_OF_GAP, Solver
from dualgap.solvers.needs import NO_INTERCEPT, Need, one_loss
from dualgap.solvers.numerics.claims import relative_gap
from dualgap.solvers.numerics.rows import Rows, as_rows
from dualgap.solvers.pegasos.steps import WEIGHTS, State, initial_state, risk_of, settle, steps

Sampling = Literal["permutation", "iid"]
_BLOCK_ENTRIES = 2**21  # entries of X or K read between two yields: some 10 ms
_NEIGHBOURS = 4  # that stay together in a permutation: a tenth to a fifth less time, for the caches
# Epochs; evaluating the gap after each took a third of the time.
_FIRST_CHECK, _CHECK_GROWTH = 10, 1.5


@dataclass(frozen=True)
class Pegasos(Solver):
    """Projected stochastic subgradient method for the hinge and epsilon-insensitive losses.

    An epoch draws n samples and cuts them into batches; the last may be smaller and weighs less, and
    a `batch_size` of n or more is the deterministic subgradient method. With unequal Cᵢ, `iid` draws
    i with probability Cᵢ/ΣC and `permutation` gives it the weight n·Cᵢ/ΣC. A start is not used: the
    first step multiplies it by 0. It claims nothing ("stopped").

    After 60 epochs it is 4 to 14 times nearer to the optimum than scikit-learn's averaged SGD, in about
    the same time (a9a, w8a and ijcnn1 with C = 1). Averaging made 6e-2 into 6e-3 on 16,000 samples of
    a9a; projection hardly matters; permutations halve the certified gap.

    Attributes
    ----------
    tol : stop after an epoch whose certified relative gap of the clipped β is at or below it; the
        gap costs one product with the Gram matrix, so it is evaluated after epochs 10, 15, 22, ...
    epochs : passes over the data after which it stops. max_iter : steps, if fewer.
    batch_size : samples in a step.
    project : onto the ball that holds the optimum; False is the later, unprojected variant.
    average : answer with the mean of all wₜ weighted by t³ (polynomial decay, Shamir & Zhang 2013)
        instead of the last one.
    sampling : "permutation", of blocks of four neighbours, keeps 0 ≤ α ≤ C at the end of each epoch,
        averaging aside; "iid", as published, overshoots C, and the certificate clips.
    seed : of the samples drawn.
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
    tol_share: ClassVar = SHARE_OF_GAP
    warm_up_size: ClassVar = 32
    source: ClassVar[str] = (
        "Shalev-Shwartz, Singer, Srebro & Cotter 2011; Shamir & Zhang 2013; COMP 790-125 notes"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self.batch_size, "batch_size")
        check_choice(self.sampling, "sampling", get_args(Sampling))

    def fits(self, form: ERM) -> bool:
        """Whether the kernel rows of a batch fit in memory; the linear kernel needs none."""
        return form.gram.is_linear or 8 * min(self.batch_size, form.n) * form.n <= form.gram.memory

    def worst_case(self, k: Vector, problem: Mapping[str, float]) -> Vector | None:
        """Return G²(1 + ln T)/(2·lam²·T) after T = `k` steps, G = √(lam·L(0)) + R, in expectation.

        Shalev-Shwartz et al. 2011, theorem 1, over lam: of independent samples and the plain mean of all
        iterates, where this one weighs them by t³. None for permutations, unprojected steps and the last
        iterate.
        """
        if not (self.sampling == "iid" and self.project and self.average):
            return None
        lam = 1.0 / problem["total_weight"]
        G = lam * np.sqrt(problem["loss_at_zero"]) + problem["radius"]
        return G**2 * (1 + np.log(k)) / (2 * lam**2 * k)

    def iterates(self, form: ERM) -> Iterator[FormPoint]:
        """Yield after each epoch, and within long ones after each block of batches."""
        linear = form.gram.is_linear
        shares = form.C / form.C.sum()
        weight = form.n * shares if self.sampling == "permutation" else np.ones(form.n)
        risk = risk_of(form, weight, 0.0, self.project, 3 if self.average else 0)
        state = initial_state(form.gram.X.shape[1] if linear else 0, form.n)
        assert isinstance(form.loss, IntervalLoss)
        lower, upper = form.loss.ends(form.y)
        box = np.where(upper < inf, -form.C, 0.0), np.where(lower > -inf, form.C, 0.0)
        draws = np.random.default_rng(self.seed)
        limit = inf if self.max_iter is None else self.max_iter
        batch = np.empty((2, min(self.batch_size, form.n)))
        done, next_check = 0, _FIRST_CHECK
        for epoch in range(1, self.epochs + 1):
            samples = self._draw(form, draws)
            samples = samples[: int(min(samples.size, (limit - done) * self.batch_size))]
            left = samples.size
            for rows, row_of, block in _blocks(form, samples, self.batch_size):
                done += steps(rows, not linear, row_of, block, batch, risk, state)
                left -= block.size
                if left > 0:
                    yield self._point(form, state, done)
            point = self._point(form, state, done)
            last = epoch == self.epochs or done >= limit
            if not last and epoch >= next_check:
                next_check = int(_CHECK_GROWTH * epoch)
                clipped = np.clip(np.asarray(point.beta), *box)
                # abs: rounding, or an indefinite kernel, may put the primal value below the dual
                last = abs(relative_gap(form, clipped)) <= self.tolerance
            yield replace(point, claim="stopped" if last else "none")
            if last:
                return

    def _draw(self, form: ERM, draws: np.random.Generator) -> Indices:
        """Return the n samples of an epoch, in order."""
        if self.sampling == "permutation":
            blocks = form.n // _NEIGHBOURS
            first = _NEIGHBOURS * draws.permutation(blocks)
            last = np.arange(_NEIGHBOURS * blocks, form.n)
            return np.append(first[:, None] + np.arange(_NEIGHBOURS), last)
        return draws.choice(form.n, form.n, p=form.C / form.C.sum())

    def _point(self, form: ERM, state: State, done: int) -> FormPoint:
        settle(state)
        w, beta = state.v.copy(), state.counts.copy()
        if self.average:
            weights = state.numbers[WEIGHTS]
            w, beta = state.total / weights, state.count_total / weights
        return FormPoint(w if form.gram.is_linear else None, beta, iterations=done)


def _blocks(
    form: ERM, samples: Indices, batch_size: int
) -> Iterator[tuple[Rows, Indices, Indices]]:
    """Yield whole batches of an epoch with their rows: of X, of the Gram matrix, or some of its own."""
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
            some = as_rows(gram.block(block, slice(None)))
            yield some, np.arange(block.size), block
        else:
            yield rows, block, block
