"""A Newton step on all free variables at once.

The minimum over the plane Σd = 0 satisfies
    [K  1] [d]     [−g]
    [1ᵀ 0] [ν]  =  [ 0]
for K among the free variables and their gradient g (Nocedal & Wright 2006, section 16.5), with one row
of ones per group if there are several equalities. Pair steps soon find which variables are free, but
converge only linearly on them.

The system is solved by conjugate gradients on the plane (Gould, Hribar & Nocedal 2001), which need
products with K and with an approximate inverse: from the lower triangle of K and a low-rank
approximation (`triangle`), or for the last digits from all of K in float64 and its Cholesky factor
(`exact_system`).

An approximate step, on the lower triangle of K, replaces the rounds in which the free variables are
known and the gap falls by a constant factor. An exact step is for the last digits, or if neither rounds
nor approximate steps halve the gap. Costs are counted in values read from memory, 0.2 ns each on one
core, not measured: with the same number of threads a problem takes the same steps on any machine, up to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dualgap.problems.box import project
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.kernels import Block
from dualgap.solvers.numerics.projected_cg import Apply, conjugate_gradients, on_plane
from dualgap.solvers.smo.matrix import Matrix
from dualgap.solvers.smo.tuning import TUNING


def newton_step(
    product: Apply, invert: Apply, g: Vector, z: Vector, lo: Vector, hi: Vector, groups: Indices,
    residual: float,
) -> Vector | None:  # fmt: skip
    """Return the free variables after a Newton step within the box, or None if it is no descent step.

    Variables that the step moves out of the box are fixed at the bound they cross, and the step is
    solved again for the others: clipping it at the end would make it short if many leave. The end point
    is projected onto the equality; along the step s to it, the objective is smallest at −gᵀs/sᵀKs.

    Parameters
    ----------
    product, invert : v ↦ Kv, and v ↦ K⁻¹v, which need not be exact.
    g, z, lo, hi : gradient, value and bounds of the free variables, shape (k,).
    groups : index of each variable's equality; −1 throughout for none.
    residual : target residual, relative to the first, in the norm of `invert`.
    """
    d, inside, products = np.zeros(z.size), np.ones(z.size, np.bool_), 0
    # a coarse solution suffices to see which variables leave the box
    first, target_residual = 0.0, max(residual, 0.1)

    def masked_product(v: Vector) -> Vector:
        nonlocal products
        products += 1
        return np.where(inside, product(v), 0.0)

    def masked_inverse(v: Vector) -> Vector:
        return np.where(inside, invert(np.where(inside, v, 0.0)), 0.0)

    while products < TUNING.max_products:
        precondition, onto = on_plane(masked_inverse, groups)
        d = onto(d)  # the inner variables compensate for the fixed ones
        r = np.where(inside, g, 0.0) + (masked_product(d) if d.any() else 0.0)
        size = float(np.sqrt(max(0.0, r @ precondition(r))))
        first = first or size
        if size > target_residual * first:
            limit, reduction = TUNING.max_products - products, target_residual * first / size
            d = conjugate_gradients(masked_product, precondition, d, r, limit, reduction)
        end = z + d
        if not np.isfinite(end).all():
            return None
        leaving = inside & ((end < lo) | (end > hi))
        d[leaving] = (np.clip(end, lo, hi) - z)[leaving]
        inside &= ~leaving
        if not inside.any() or (target_residual == residual and not leaving.any()):
            break
        if not leaving.any():
            target_residual = residual
    totals = np.array([z[groups == group].sum() for group in range(groups.max() + 1)])
    end = project(np.clip(z + d, lo, hi), lo, hi, np.ones(z.size), totals, groups)
    s = end - z
    slope, curvature = float(g @ s), float(s @ product(s))
    if slope >= 0 or curvature <= 0:
        return None
    step_length = min(1.0, -slope / curvature)
    return end if step_length == 1.0 else np.clip(z + step_length * s, lo, hi)


def exact_system(matrix: Matrix, members: Indices) -> tuple[Apply, Apply]:
    """Return v ↦ Kv and v ↦ K⁻¹v, for K among some variables in float64.

    Raises
    ------
    LinAlgError
        If rounding makes K indefinite.
    """
    K = matrix.block(members, members, matrix.columns(members, np.float64))
    factor = factor_with_ridge(K, 1e-12 * float(np.trace(K)) / members.size)
    return K.__matmul__, partial(cho_solve, factor, check_finite=False)


def factor_with_ridge(K: Block, ridge: float) -> tuple[Block, bool]:
    """Return a Cholesky factor of K + ridge·I; the ridge grows by 100 each time rounding defeats it."""
    for attempt in range(4):
        shifted = K.copy()
        shifted[np.diag_indices(len(K))] += ridge * 100**attempt
        try:
            return cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError("K has no Cholesky factor")


class Situation(NamedTuple):
    """State of the active variables before a round, by which a search decides.

    Attributes
    ----------
    violation : of the n variables. factor : the factor by which it is still too large.
    free : the free variables.
    gap : evaluates the relative gap; None if rounds are exact.
    target_gap : the gap at which to stop; None to stop by the violation alone.
    """

    violation: float
    factor: float
    free: Indices
    n: int
    gap: Callable[[], float] | None
    target_gap: float | None

    @property
    def is_resolved(self) -> bool:
        """Whether rounds in float32 resolve the gap wanted."""
        return self.gap is not None and (self.target_gap or 0.0) >= 1e-7

    @property
    def remaining_factor(self) -> float:
        """How many times too large the gap is if rounds in float32 resolve it, else the violation."""
        if self.gap is None or not self.target_gap or not self.is_resolved:
            return self.factor
        return self.gap() / self.target_gap


class NewtonStep(NamedTuple):
    """A step that is due: exact, in float64, or approximate; `residual` is the target of its system."""

    exact: bool
    residual: float


class NewtonSearch:
    """Chooses between rounds and Newton steps by their progress so far.

    `init` starts with other active variables, `step` returns the step that is due, and `accept` records
    its effect.
    """

    def __init__(self, free_known: bool) -> None:
        """Expect most free variables to be known if the start is another answer."""
        self.exact, self.approximate = _ExactSteps(), _ApproximateSteps(free_known)
        self.init()

    def init(self) -> None:
        """Forget the progress of the violation, as the active variables have changed."""
        self._smallest, self._stalled, self._fruitless, self._gap = np.inf, 0, 0, np.inf
        self.exact.init()

    @property
    def is_futile(self) -> bool:
        """Whether five exact steps did not halve the violation: the rows' rounding limits progress."""
        return self.exact.futile > 5

    @property
    def is_exhausted(self) -> bool:
        """Whether hundreds of rounds and steps did not halve the violation."""
        return self._fruitless > 10 * TUNING.patience

    def step(self, now: Situation) -> NewtonStep | None:
        """Return the Newton step to take now; None calls for a round."""
        if now.violation <= 0.5 * self._smallest:
            self._smallest, self._stalled, self.exact.futile = now.violation, 0, 0
            self._fruitless, self.approximate.failed = 0, False
        self._stalled, self._fruitless = self._stalled + 1, self._fruitless + 1
        # computing K takes as long as the rounds added for many free variables
        if self._stalled > TUNING.patience + int(12 * (now.free.size / 1000) ** 2):
            self._stalled, is_small = 0, now.free.size <= TUNING.max_factored
            if not (is_small and self._has_halved_gap(now)):
                if step := self.approximate.without_progress(now, is_small):
                    return step
                if is_small:
                    return self.exact.without_progress()
        return self.exact.step(now) or self.approximate.step(now)

    def _has_halved_gap(self, now: Situation) -> bool:
        """Whether the gap wanted is nearer than when rounds last seemed to make no progress."""
        if now.gap is None or now.target_gap is None:
            return False
        last, self._gap = self._gap, now.gap()
        return self._gap <= 0.5 * last

    def accept(self, step: NewtonStep, free: Indices, gap: Callable[[], float]) -> None:
        """Take note of the free variables and of the relative gap after a step."""
        if step.exact:
            self.exact.accept(free)
        else:
            self.approximate.accept(gap())


class _ExactSteps:
    """Steps in float64: if rounds make no progress, and once refreshes leave the free variables alone.

    Attributes
    ----------
    futile : steps since the violation was halved.
    rounds_left : rounds after a refresh until a step is considered; inf for never.
    """

    _STEP = NewtonStep(exact=True, residual=3e-2)

    def __init__(self) -> None:
        self.rounds_left, self._free = np.inf, np.empty(0, np.int64)

    def init(self) -> None:
        self.futile, self._is_refining = 0, False

    def without_progress(self) -> NewtonStep:
        self.futile, self._is_refining = self.futile + 1, False
        return self._STEP

    def step(self, now: Situation) -> NewtonStep | None:
        if self.rounds_left <= 0:
            is_settled = np.array_equal(now.free, self._free)
            self.rounds_left, self._free = 4, now.free
            # where rounds would get there too, a step has to be short
            limit = TUNING.max_factored // (2 if now.is_resolved else 1)
            # for a factor below five, a few rounds suffice
            self._is_refining = (
                is_settled and now.free.size <= limit and now.remaining_factor >= 5.0
            )
            if self._is_refining:
                return self._STEP
        self.rounds_left -= 1
        return None

    def accept(self, free: Indices) -> None:
        if self._is_refining and np.array_equal(free, self._free):
            self.rounds_left = np.inf  # no further step is worthwhile


class _ApproximateSteps:
    """Steps on the triangle of K, instead of rounds that have cost as much and would cost more.

    Attributes
    ----------
    free_known : whether the free variables are known well enough.
    failed : whether the last step did not halve the gap, and the violation was not halved since.
    cost, speed, before : cost of the last step; the fall of log(gap) per unit of cost in rounds before
        it, and the gap, 0 once the step has been judged.
    backoff : cost of rounds required before the next step, relative to its cost.
    rounds, rounds_cost : rounds since the last step, and their cost.
    gap, gap_cost, wait : the gap when it was last evaluated, the cost of rounds then, and that at which
        it is evaluated again.
    """

    def __init__(self, free_known: bool) -> None:
        self.free_known, self.cost, self.speed, self.before = free_known, 1.0, 0.0, 0.0
        self.backoff, self.failed = 0.0 if free_known else 1.0, False
        self._count_from(np.inf)
        if free_known:
            self.rounds = TUNING.min_rounds

    def _count_from(self, gap: float) -> None:
        self.rounds, self.rounds_cost, self.gap, self.gap_cost, self.wait = 0, 0.0, gap, 0.0, 0.0

    def without_progress(self, now: Situation, is_small: bool) -> NewtonStep | None:
        """Return a step, but none for few variables if only one in float64 resolves the gap wanted."""
        if is_small and (self.failed or not now.is_resolved):
            return None
        gap = np.inf if now.gap is None else now.gap()
        if now.gap is not None and not self._is_free_set_known(gap):
            return None
        self.before = gap
        return self._due(1.0, now)

    def step(self, now: Situation) -> NewtonStep | None:
        step = None if now.gap is None else self._step_if_faster(now, now.gap)
        if step is None:
            self.rounds += 1
            self.rounds_cost += 5e6 + 512.0 * now.n  # rows of a working set, plus 1 ms
        return step

    def _step_if_faster(self, now: Situation, gap: Callable[[], float]) -> NewtonStep | None:
        """Return a step if rounds have cost as much, and would cost more until the end."""
        early = self.rounds < TUNING.min_rounds or self.rounds_cost < self.wait
        if early or now.free.size < TUNING.min_free:
            return None
        cost, size = self._cost_of(now), max(gap(), 1e-16)  # below, nothing can be gained
        fall = max(0.0, np.log(self.gap / size)) if np.isfinite(self.gap) else 0.0
        speed = fall / max(1.0, self.rounds_cost - self.gap_cost)
        interval = max(0.25 * cost, TUNING.min_rounds * self.rounds_cost / self.rounds)
        self.gap, self.gap_cost, self.wait = size, self.rounds_cost, self.rounds_cost + interval
        if self.before:
            self._judge_step(size)
        # after many rounds, even a step that fixes variables at the wrong bounds is worth its cost
        patience = min(4.0, max(1.0, self.rounds_cost / cost))
        if self.rounds_cost < self.backoff * cost or not self._is_free_set_known(size / patience):
            return None
        factor = max(1.0, now.factor if now.target_gap is None else size / now.target_gap)
        if speed * cost >= np.log(factor):
            return None
        self.speed, self.before = speed, size
        return self._due(factor, now)

    def _due(self, factor: float, now: Situation) -> NewtonStep:
        self.cost = self._cost_of(now)
        return NewtonStep(exact=False, residual=min(0.1, max(1e-3, 0.3 / factor)))

    @staticmethod
    def _cost_of(now: Situation) -> float:
        """Cost of the approximate inverse, of K and products with it, and of updating all scores."""
        k = now.free.size
        return 50.0 * k**1.5 + 10.0 * k**2 + 0.75 * k * now.n

    def _is_free_set_known(self, gap: float) -> bool:
        """Whether the current free variables are roughly those of the optimum."""
        return np.isfinite(gap) if self.free_known else gap <= TUNING.max_start_gap

    def accept(self, gap: float) -> None:
        self.failed = gap > 0.5 * self.before
        self._count_from(gap)

    def _judge_step(self, gap: float) -> None:
        """If rounds were faster, wait longer for the next step.

        A step may increase the gap, by fixing variables at the wrong bounds, until a few rounds have
        followed; what these gain as usual is not counted.
        """
        gained = np.log(max(1.0, self.before / gap)) - self.speed * self.rounds_cost
        speed = gained / self.cost
        if speed < 0.7 * self.speed or gap >= self.before:
            self.backoff = max(1.0, (4.0 if gap >= self.before else 2.0) * self.backoff)
        else:
            self.backoff = 0.0 if speed > self.speed else max(0.5, 0.5 * self.backoff)
        self.free_known |= gap <= TUNING.max_start_gap
        self.before = 0.0
