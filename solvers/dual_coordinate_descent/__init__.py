"""Dual coordinate descent for linear kernels, followed by proximal Newton steps.

    min ½‖Mᵀx‖² + pᵀx  s.t. aᵀx = delta (or none), lb ≤ x ≤ ub,   w = Mᵀx kept up to date
A coordinate step x ← clip(x − g/h, lb, ub) reads one sample (Hsieh et al. 2008). Epochs of such steps,
on all samples or on a random sixteenth that predicts the others, find roughly which variables end at
which bound; once the gap is small, they visit only those that may still move. The last digits, and
degenerate data, would take thousands of epochs. There proximal steps, solved by Newton's method, take
over, or, where features and samples are both many, conjugate gradients on the free variables between
epochs. `descent` holds the point, `blocks`, `face` and `proximal` the loops.

Starting at the solution for another C took a third of the cold time on a9a, w8a and ijcnn1 (20 values
from 0.01 to 100), and a third to four fifths of it with steps on a face; starting from α scaled with the
box took half. Merging equal samples did not help: a9a then has 20 % fewer rows, but took 20 % longer.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import BoxQP, Claim, FormPoint
from dualgap.problems.gram.threads import Pool, Threads
from dualgap.solvers.base import Solver
from dualgap.solvers.dual_coordinate_descent.blocks import compile_sparse_systems, whole_block
from dualgap.solvers.dual_coordinate_descent.descent import Descent
from dualgap.solvers.dual_coordinate_descent.tuning import TUNING
from dualgap.solvers.needs import ALL_IN_EQUALITIES, LINEAR, ONE_EQUALITY
from dualgap.solvers.numerics.claims import NO_MARGIN, may_claim


@dataclass(frozen=True)
class DualCoordinateDescent(Solver):
    """Coordinate descent and proximal Newton steps for any box QP over a linear Gram matrix.

    Attributes
    ----------
    tol : stop when the violation of the maximal violating pair is at most `tol`: LIBSVM's m − M with an
        equality, which the point then satisfies, and LIBLINEAR's PGmax − PGmin without one.
    gap : stop also when the relative duality gap is at most `gap`; None disables this. A box with
        infinite bounds has no gap.
    max_iter : number of epochs and Newton steps after which to stop without a claim.
    seed : determines the order of the variables and the sample.
    """

    tol: float | None = None
    gap: float | None = None
    max_iter: int = 10_000
    seed: int = 0

    form: ClassVar = BoxQP
    needs: ClassVar = (LINEAR, ONE_EQUALITY, ALL_IN_EQUALITIES)
    finest_tol: ClassVar = 0.0  # the gap stops it
    warm_up_size: ClassVar = 32
    warm_up_settings: ClassVar = {"tol": 1e-6, "gap": None}  # fine enough for all loops
    source: ClassVar[str] = "Hsieh et al. 2008; Rockafellar 1976; Yan & Li 2020"

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile what only some sparse data need: copies of rows, and both systems of Newton steps."""
        if scipy.sparse.issparse(form.gram.X):
            compile_sparse_systems(form.gram.X)
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each epoch and Newton step, or after several short ones.

        The point changes only after complete proximal steps.
        """
        # products and systems are small: on busy cores, two BLAS threads made w8a ten times slower
        threads = Threads()
        with Pool(threads.count) as pool:
            yield from threads.with_one_blas_thread(self._points(form, pool))

    def _points(self, form: BoxQP, pool: Pool) -> Iterator[FormPoint]:
        free = np.isinf(form.ub) & (form.p < 0)
        if form.a is None and free.any() and (form.Q.diagonal()[free] == 0).any():
            # the cost of a variable without curvature or upper bound falls without limit
            yield FormPoint(form.first_point(), claim="stopped", note=NO_MARGIN)
            return
        state = Descent(
            whole_block(form),
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
        """Run the algorithm until the check on all variables passes, pausing now and then."""
        rng = np.random.default_rng(self.seed)
        sample = None if warm else _sample(state, rng)
        if warm:
            state.start_warm()
        if sample is not None:
            yield from sample.epochs(TUNING.sample_epochs, rng)
            for _ in range(2):
                yield from sample.proximal_step()
            state.start_from(sample)
        elif state.is_large or not warm:
            first = self._epochs_and_faces if state.is_large else self._first_epochs
            u = yield from first(state, rng)
            if self._reached(state):
                return
            if state.gap > TUNING.small_gap:
                state.active = np.arange(state.x.size)
            state.lengthen(u)
        failed = 0
        while not self._reached(state):
            steps_before = state.count["newton_steps"]
            yield from state.proximal_step()
            idle = state.count["newton_steps"] == steps_before
            if self._reached(state) or idle:  # as measured on the active variables only
                active_before = state.active.size
                state.measure()
                failed = failed + 1 if state.active.size == active_before else 0
                state.stuck |= failed > TUNING.max_failed_checks and not self._reached(state)
                yield

    def _first_epochs(
        self, state: Descent, rng: np.random.Generator
    ) -> Generator[None, None, Vector]:
        """Run epochs on all variables or, once the gap is small, on those that may still move.

        Returns the Lagrangian's gradient.
        """
        everything, narrowing, rounds = state.active, False, [5]
        if state.x.size >= TUNING.min_narrowed_variables:
            yield from state.epochs(1, rng)
            state.narrow()
            narrowing = state.gap <= TUNING.small_gap
            rounds = [4, 10] if narrowing else [4]
        if not narrowing:
            state.active = everything
        u = state.x
        for number in rounds:
            yield from state.epochs(number, rng)
            u = self._narrowed(state) if narrowing else state.measure()
            if self._reached(state):
                break
        return u

    def _epochs_and_faces(
        self, state: Descent, rng: np.random.Generator
    ) -> Generator[None, None, Vector]:
        """Run epochs on the variables that may still move, and steps on the face of the free ones.

        Newton steps are dear: on 50,000 x 20,000 sparse samples one took 18 s, 820 epochs 6 s, and 60
        with such steps 0.5 s. Where they are not, they begin once a turn does not halve a large gap:
        10,000 x 1,200 dense samples then took 2.6 s, not 8. Returns the Lagrangian's gradient.
        """
        u = state.x
        yield from state.epochs(1, rng)
        state.narrow()
        for turn in range(1, TUNING.max_face_steps + 1):
            gap_before = state.gap
            yield from state.epochs(5, rng)
            u = self._narrowed(state)
            is_slow = state.gap > max(TUNING.small_gap, 0.5 * gap_before)
            if self._reached(state) or (is_slow and state.factor_is_cheap):
                break
            state.face_step(turn)
            yield
        return u

    def _narrowed(self, state: Descent) -> Vector:
        """Set variables aside, then measure on all if the target is reached; return the gradient."""
        u = state.narrow()
        if self._reached(state):  # with an equality, only nearly
            state.measure()
        return u

    def _reached(self, state: Descent) -> bool:
        return state.violation <= self.tolerance or (self.gap is not None and state.gap <= self.gap)


def _sample(state: Descent, rng: np.random.Generator) -> Descent | None:
    """Return a random sixteenth of a large problem, with a box 16 times as wide; None if it is small.

    None also if a Newton step's d³ outweighs an epoch: then epochs come first (w8a: 0.12 s, not 0.20 s).
    """
    n, block, d = state.x.size, state.block, state.w.size
    size = n // TUNING.sample_divisor
    too_small = size < max(TUNING.min_sample_variables, 2 * d)
    if (
        too_small
        or d**3 > TUNING.max_factor_per_entry * block.rows.size
        or not np.isfinite(block.ub).all()
    ):
        return None
    chosen = np.sort(rng.choice(n, size, replace=False))
    sampled = block.take(chosen, n / size)
    start = np.clip(np.zeros(size), sampled.lb, sampled.ub)
    sample = Descent(sampled, state.delta, state.equality, start, state.count, pool=state.pool)
    sample.sigma *= n / size
    return sample
