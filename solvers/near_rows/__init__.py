"""Near rows: samples in blocks, where the driver holds w and a few rows, but nothing of size n.

    min ½‖w‖² + Σ Cᵢ·max(0, −uᵢ),   u = s·(Xw + b) + p   (hinge: s = y, p = −1; tube: s = ±1, p = ε ∓ y)

An iteration has two rounds; a round makes one pass over the blocks.

1. The blocks return the m variables with u nearest to the kink; equal rows are merged, with the sum of
   their C, as a choice among them would leave the others with a wrong x. For all other variables the
   blocks return v = Σ C[u<0]·mᵢ and H = Σ C/(2|u|)·mᵢmᵢᵀ, the Hessian of the quadratic majoriser of the
   hinge (Groenen et al. 2008).
2. The driver minimises ½‖w'‖² + (γ/2)(w'−w)ᵀH(w'−w) − vᵀw' + Σ_near Cᵢ·max(0, −uᵢ(w')), for several γ,
   by dual coordinate descent and proximal Newton steps on the rows ML⁻ᵀ, LLᵀ = I + γH. The blocks return
   the objective along each segment from w to w', and the sums of the dual variables that the model
   implies (`DualRule`). These are always feasible, so that each round has a duality gap.

The best (γ, t) gives the next w; γ is halved if t ≥ 1 and doubled if t is short.

With an unregularised intercept b is one more weight, on which I is 0. Then Σβ = 0 has to hold: the near
variables, which cost little to move, balance the sum of the others.

Smooth losses have one round per iteration, without near rows: Newton's method with the true Hessian.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from dualgap.problems.blocks import ArraySource, Block
from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint
from dualgap.problems.gram.threads import Threads
from dualgap.problems.losses import Perceptron, ScalarLoss
from dualgap.problems.risk.risk import (
    KernelSamples,
    Risk,
    blocks_of,
    in_blocks,
    on_block,
    one_offset,
)
from dualgap.problems.validation import check_choice, check_integer
from dualgap.solvers.base import GAP_FRACTION, Solver, import_optional
from dualgap.solvers.finite_newton import MAX_FEATURES
from dualgap.solvers.near_rows import rounds
from dualgap.solvers.near_rows.engines import open_engine
from dualgap.solvers.near_rows.piecewise import piecewise_rounds
from dualgap.solvers.near_rows.rounds import stack
from dualgap.solvers.near_rows.smooth import newton_rounds
from dualgap.solvers.near_rows.state import RoundState
from dualgap.solvers.needs import Need

_log = logging.getLogger("dualgap")


def _has_unit_box(risk: Risk) -> bool:
    """Whether the loss is of one score and its dual variables have 0 ≤ x ≤ C as their box."""
    loss = risk.loss
    if not isinstance(loss, ScalarLoss) or isinstance(loss, Perceptron):
        return False
    terms = loss.terms(np.ones(1))
    return terms is None or all((side.low, side.high) == (0.0, 1.0) for side in terms.sides())


@dataclass(frozen=True)
class NearRows(Solver):
    """Near rows for hinge and tube, Newton's method for smooth losses, on samples in blocks.

    Attributes
    ----------
    tol : relative gap at which it stops, as computed from its sums.
    near : variables sent to the driver in the first iteration, four times as many after one in which the
        gap hardly falls, at most 256 MB; None for 200 per feature, at least 5,000.
    engine : "here" reads one block after another in this process; "dask" uses the workers of a cluster.
    address : address of a Dask scheduler, `tcp://host:port`; None for a cluster on this machine.
    workers, memory_limit : of that cluster: by default one per core and no limit; such as "700MiB".
    max_iter : rounds after which it stops without a claim.
    seed : for drawing the rows of the starting point.
    """

    tol: float | None = None
    near: int | None = None
    engine: Literal["here", "dask"] = "here"
    address: str | None = None
    workers: int | None = None
    memory_limit: str | None = None
    max_iter: int = 300
    seed: int = 0

    form: ClassVar = Risk
    needs: ClassVar = (
        Need("the linear kernel", lambda risk, _: risk.samples.is_linear),
        Need(
            "at most one offset, without a cost",
            lambda risk, _: risk.groups is None and not risk.costs.any(),
        ),
        Need("the hinge, the tube or a smooth loss", lambda risk, _: _has_unit_box(risk)),
        Need(
            f"at most {MAX_FEATURES} features, as each block sends a matrix of d² entries",
            lambda risk, _: risk.samples.d <= MAX_FEATURES,
        ),
        Need(
            "files, a Dask array or a generator with engine=dask, whose workers read the samples",
            lambda risk, solver: (
                solver.engine != "dask" or not isinstance(blocks_of(risk).source, ArraySource)
            ),
        ),
    )
    tol_share: ClassVar = GAP_FRACTION
    source: ClassVar[str] = "Groenen, Nalbantov & Bioch 2008 (majoriser); Hsieh et al. 2008"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.engine, "engine", ("here", "dask"))
        for name in ("near", "workers"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name)
        cluster = "address", "workers", "memory_limit"
        options = [name for name in cluster if getattr(self, name) is not None]
        if self.engine == "here" and options:
            raise ValueError(f"{options[0]}: is only for a Dask cluster; set engine='dask' too")
        if self.address is not None and len(options) > 1:
            raise ValueError(f"{options[1]}: leave it out; the scheduler at `address` decides it")

    def prepare(self, risk: Risk) -> Risk:
        """Import Dask if needed, and compile the loops on a small problem of the same kind."""
        if self.engine == "dask":
            import_optional("distributed", "engine: dask", "dualgap[dask]")
        _compile(risk.loss, bool(risk.costs.size), blocks_of(risk).sparse)
        return risk

    def iterates(self, risk: Risk) -> Iterator[FormPoint]:
        """Yield the best weights and dual variables so far after each round."""
        # the driver's products are small: two BLAS threads on busy cores took half of all CPU time
        threads = Threads()
        yield from threads.with_one_blas_thread(self.points(risk, threads.count))

    def points(self, risk: Risk, threads: int = 1, quiet: bool = False) -> Iterator[FormPoint]:
        """Yield as `iterates` does, on `threads` threads, with a log line per round unless `quiet`."""
        workers = self.workers or threads
        options = self.engine, risk, threads, self.address, workers, self.memory_limit
        with open_engine(*options) as engine:
            state = RoundState(risk, engine)
            for _ in self._rounds(state):
                converged, exhausted = state.gap <= self.tolerance, engine.rounds >= self.max_iter
                stopped = exhausted or state.idle > 20
                if not quiet:
                    _log.info("round %d: relative gap %.2g", engine.rounds, state.gap)
                yield state.point("optimal" if converged else "stopped" if stopped else "none")
                if converged or stopped:
                    return
            yield state.point("stopped")

    def _rounds(self, state: RoundState) -> Iterator[None]:
        """Run all rounds; stop if the curvature is so large that float64 absorbs the 1 next to it."""
        d, is_smooth = state.risk.samples.d, state.risk.loss.terms(np.ones(1)) is None
        max_near = 2**25 // d  # their matrix takes 256 MB
        # with 40 per feature a9a (d = 123), with 20,000 a set of 100,000 × 30 took twice the time
        near_count = self.near or min(max(200 * d, 5000), max_near)
        try:
            if is_smooth:
                yield from newton_rounds(state, self._newton_start(state, near_count))
            else:
                yield from piecewise_rounds(state, near_count, max_near, self.seed)
        except np.linalg.LinAlgError:
            state.note = "float64 does not resolve ½‖w‖²: scale the features, or C, down"

    def _newton_start(self, state: RoundState, count: int) -> Vector:
        """Return the optimum for a random sample, by the same method; 0 if that is over half of all."""
        risk, fraction = state.risk, count / state.risk.n
        if fraction >= 0.5:
            return np.zeros(risk.samples.d + 1)
        X, y, C = stack(state.engine.map(rounds.draw_samples, fraction, self.seed))
        solver = NearRows(tol=1e-3, near=y.size)
        *_, last = solver.points(in_blocks(on_block(risk, Block(X, y, C / fraction))), quiet=True)
        assert last.x is not None
        return np.append(last.x, last.b or 0.0)


@cache
def _compile(loss: Any, intercept: bool, sparse: bool) -> None:
    """Run all loops on a small problem, once per kind and process."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((64, 3)), np.where(np.arange(64) % 3 == 0, 1.0, -1.0)
    data: Any = scipy.sparse.csr_array(X) if sparse else X
    risk = in_blocks(Risk(KernelSamples(data), y, loss, 1.0, one_offset(intercept)))
    for near_count in (10, 100):
        for _ in NearRows(near=near_count).points(risk, quiet=True):
            pass
