"""Dual coordinate descent for linear kernels, finished by proximal Newton steps.

    min ½‖Mᵀx‖² + pᵀx  s.t. aᵀx = delta (or none), lb ≤ x ≤ ub,   w = Mᵀx kept up to date
A coordinate step x ← clip(x − g/h, lb, ub) costs one sample (Hsieh et al. 2008). Epochs of them, on
all samples or on a random sixteenth that predicts the others, find roughly which variables end at which
bound; the last digits, and degenerate data, would take thousands. Proximal steps solved by Newton's
method take over there: `descent` holds both, `blocks` and `proximal` have the compiled loops.

Starts at the answer for another C took a third of the cold time on a9a, w8a and ijcnn1 (20 values from
0.01 to 100), from α scaled with the box half of it. Merging equal samples did not help: a9a has 20%
fewer rows then, and took 20% longer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.gram.threads import Pool, Threads
from dualgap.solvers.base import Solver
from dualgap.solvers.dual_coordinate_descent.blocks import compile_sparse_systems, whole
from dualgap.solvers.dual_coordinate_descent.descent import Descent
from dualgap.solvers.needs import ALL_IN_EQUALITIES, LINEAR, ONE_EQUALITY
from dualgap.solvers.numerics.claims import NO_MARGIN, may_claim

_SHARE = 16  # one variable in so many is the sample; 8 and 32 were no faster
_SMALLEST_SAMPLE = 2000
_SAMPLE_EPOCHS, _SAMPLE_STEPS = 5, 2
_EPOCHS = 5
_LOOK = 10  # epochs from one measurement to the next where systems are large
_LOOKS_BEFORE_LARGE_SYSTEMS = 50  # on farm-ads they halved the Newton steps of 100 epochs
_LARGE_SYSTEM = 1000  # equations
_COSTLY = 10  # multiplications of a factorisation per entry of X, above which epochs are cheap
_PATIENCE = 5  # full checks in a row that fail, though no variable was shrunk


@dataclass(frozen=True)
class DualCoordinateDescent(Solver):
    """Coordinate descent and proximal Newton steps for any box QP over a linear Gram matrix.

    Attributes
    ----------
    tol : stop when the maximal violating pair of the box QP is at or below it: LIBSVM's
        m − M if there is an equality, which the point then meets, and LIBLINEAR's PGmax − PGmin if
        there is none.
    gap : stop also when the relative duality gap is at or below it; None never does, and a box with
        infinite bounds has no gap to go by.
    max_iter : epochs and Newton steps after which it stops without a claim.
    seed : of the order of the variables and the choice of the sample.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 10_000
    seed: int = 0

    form: ClassVar = BoxQP
    needs: ClassVar = (LINEAR, ONE_EQUALITY, ALL_IN_EQUALITIES)
    finest_tol: ClassVar = 0.0  # it ends by its gap
    warm_up_size: ClassVar = 32
    warm_up_settings: ClassVar = {"tol": 1e-6, "gap": None}  # fine enough for all loops
    source: ClassVar[str] = "Hsieh et al. 2008; Rockafellar 1976; Yan & Li 2020"

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile both systems of Newton steps on sparse rows: which is smaller depends on the data."""
        if scipy.sparse.issparse(form.gram.X):
            compile_sparse_systems(form.gram.X)
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each epoch and each Newton step, after several where they are short.

        The point changes with whole proximal steps.
        """
        # small products and systems: on busy cores linear algebra on two made w8a ten times slower
        threads = Threads()
        with Pool(threads.count) as pool:
            yield from threads.one_at_a_time(self._points(form, pool))

    def _points(self, form: BoxQP, pool: Pool) -> Iterator[FormPoint]:
        free = np.isinf(form.ub) & (form.p < 0)
        if form.a is None and free.any() and (form.Q.diagonal()[free] == 0).any():
            # a variable without curvature or upper bound has a falling cost
            yield FormPoint(form.first_point(), claim="stopped", note=NO_MARGIN)
            return
        state = Descent(
            whole(form),
            float(form.delta.sum()),
            form.a is not None,
            form.first_point(),
            pool=pool,
        )
        claim: Claim = "optimal"
        for count, _ in enumerate(self.improvements(state, form.start is not None), 1):
            if state.count.total() >= self.max_iter or state.stuck:
                claim = "stopped"
                state.balance()
                break
            if count % state.between_pauses == 0:
                yield self._point(state, "none")
        yield self._point(
            state, claim if may_claim(form, state.x, state.gap, self.gap) else "stopped"
        )

    def _point(self, state: Descent, claim: Claim) -> FormPoint:
        count = state.count
        return FormPoint(
            state.x.copy(), iterations=count.total(), claim=claim, counters=dict(count)
        )

    def improvements(self, state: Descent, warm: bool) -> Iterator[None]:
        """Run the algorithm until the full check is passed, pausing now and then."""
        rng = np.random.default_rng(self.seed)
        sample = None if warm else _sample(state, rng)
        if warm:
            state.start_warm()
        elif sample is None:
            large = min(state.x.size, state.w.size) > _LARGE_SYSTEM
            for _ in range(_LOOKS_BEFORE_LARGE_SYSTEMS if large else 1):
                yield from state.epochs(_LOOK if large else _EPOCHS, rng)
                state.measure()
                if self._reached(state):
                    return
            state.lengthen()
        else:
            yield from sample.epochs(_SAMPLE_EPOCHS, rng)
            for _ in range(_SAMPLE_STEPS):
                yield from sample.proximal_step()
            state.start_from(sample)
        failed = 0
        while not self._reached(state):
            steps_before = state.count["newton_steps"]
            yield from state.proximal_step()
            idle = state.count["newton_steps"] == steps_before
            if self._reached(state) or idle:  # judged by the active variables alone
                watched = state.active.size
                state.measure()
                failed = failed + 1 if state.active.size == watched else 0
                state.stuck |= failed > _PATIENCE and not self._reached(state)
                yield

    def _reached(self, state: Descent) -> bool:
        return state.violation <= self.tolerance or (self.gap is not None and state.gap <= self.gap)


def _sample(state: Descent, rng: np.random.Generator) -> Descent | None:
    """Return a random sixteenth of a large problem, each variable standing for several; None if small.

    None also where a Newton step's d³ outweighs an epoch: there epochs go first (w8a: 0.12 s for 0.20).
    """
    n, block, d = state.x.size, state.block, state.w.size
    size = n // _SHARE
    too_small = size < max(_SMALLEST_SAMPLE, 2 * d)
    if too_small or d**3 > _COSTLY * block.rows.size or not np.isfinite(block.ub).all():
        return None
    chosen = np.sort(rng.choice(n, size, replace=False))
    taken = block.take(chosen, n / size)
    start = np.clip(np.zeros(size), taken.lb, taken.ub)
    sample = Descent(taken, state.delta, state.equality, start, state.count, pool=state.pool)
    sample.sigma *= n / size
    return sample
