"""Sequential minimal optimisation with second-order working pairs, on working sets.

    min ½xᵀQx + pᵀx  s.t. aᵀx = delta, lb ≤ x ≤ ub

One step moves two variables along the equality, xᵢ += t/aᵢ and xⱼ −= t/aⱼ, to the exact minimum in
the box (Platt 1998). i is the most violating variable, the largest −gᵢ/aᵢ among those that can move
that way; j gains most by a second-order estimate (Fan, Chen & Lin 2005, WSS 2). Without the equality
a step moves one variable, the one that gains most. Steps run on a working set whose small matrix
stays in the processor's cache; the other gradients are brought up to date once per round, from the
rows of the variables that moved (Joachims 1999).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numba
import numpy as np

from problems.box_gap import violating_pair
from problems.dataset import Indices, Vector, check_positive
from problems.forms import BoxQP, Claim, FormPoint
from problems.kernels import Block
from problems.projection import project
from solvers.base import Solver, warm_up
from solvers.face import newton_step
from solvers.row_cache import RowCache

_WORKING_SET = 512  # a 512² float64 block is 2 MiB: it stays in the second-level cache ...
_LARGEST_SET = 2048  # ... but with many free variables a larger set needs far fewer rounds
_WHOLE = 1024  # problems up to this many variables are one working set
_STEPS_PER_ROUND = 20_000
_INNER_ACCURACY = 0.1  # a round ends when its set's violation has fallen to this share
_PATIENCE = 5  # rounds without halving the violation, after which it tries harder
_LONG_PATIENCE = 10  # the same for working sets, whose rounds do less
_FACE_STEPS = 20
_TINY_CURVATURE = 1e-12  # LIBSVM's: in place of a curvature that is zero or negative


@dataclass(frozen=True)
class SMO(Solver):
    """Second-order SMO for any box QP, with or without the equality.

    Attributes
    ----------
    tol : stop when the maximal violating pair is at or below it (LIBSVM's meaning).
    max_iter : steps after which it stops without a claim.
    cache_size : megabytes for kernel rows.
    """

    tol: float = 1e-3
    max_iter: int = 10_000_000
    cache_size: float = 1000.0

    form: ClassVar = BoxQP
    source: ClassVar[str] = "Platt 1998; Fan, Chen & Lin 2005; Joachims 1999"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.cache_size, "cache_size")

    def refuses(self, form: BoxQP) -> str | None:
        """Every variable must take part in the equality, or none."""
        if form.a is not None and (form.a == 0).any():
            return "SMO needs every coefficient of the equality to be nonzero"
        return None

    def prepare(self, form: BoxQP) -> BoxQP:
        """Compile the steps."""
        warm_up(self, form)
        return form

    def iterates(self, form: BoxQP) -> Iterator[FormPoint]:
        """Yield after each round on a working set."""
        progress = _Progress(form, self.cache_size)
        steps, working = 0, np.empty(0, np.int64)
        slow, reference = 0, np.inf
        while True:
            violation = progress.violation()
            if violation <= 0.5 * reference:
                slow, reference = 0, violation
            slow += 1
            if slow > _PATIENCE and progress.whole is not None:
                progress.face_steps(progress.whole)
                violation = progress.violation()
            elif slow > _LONG_PATIENCE:
                slow, progress.set_size = 0, min(2 * progress.set_size, _LARGEST_SET)
            claim = _claim(violation, self.tol, steps >= self.max_iter or progress.stuck)
            if progress.unbounded:
                claim = "infeasible"
            yield FormPoint(progress.x.copy(), iterations=steps, claim=claim)
            if claim != "none":
                return
            working = progress.choose(working)
            target = max(0.5 * self.tol, _INNER_ACCURACY * violation)
            steps += progress.round(working, target, min(_STEPS_PER_ROUND, self.max_iter - steps))


def _claim(violation: float, tol: float, at_limit: bool) -> Claim:
    return "optimal" if violation <= tol else "stopped" if at_limit else "none"


class _Progress:
    """The point x, its scores f = Kβ from which every gradient follows, and the kernel rows."""

    def __init__(self, form: BoxQP, cache_size: float) -> None:
        self.form, self.sign, self.index = form, form.Q.sign, form.Q.index
        self.equality = form.a is not None
        self.a = np.ones(form.n) if form.a is None else form.a
        self.x = _start(form)
        self.f = self._scores()
        self.whole = form.Q.dense() if form.n <= _WHOLE else None
        rows_needed = self.whole is None and not form.gram.is_linear
        self.cache = RowCache(form.gram, cache_size * 1e6) if rows_needed else None
        self.set_size = _WORKING_SET
        self.stuck = self.unbounded = False

    def gradient(self) -> Vector:
        return self.sign * self.f[self.index] + self.form.p

    def violation(self) -> float:
        below, above = self.x - self.form.lb, self.form.ub - self.x
        return violating_pair(self.gradient(), self.form.a, below, above)

    def choose(self, previous: Indices) -> Indices:
        """Return the next working set: the worst violators, and what is free of the last set."""
        n = self.form.n
        if self.whole is not None:
            return np.arange(n)
        g, form = self.gradient(), self.form
        can_rise, can_fall = self.x < form.ub, self.x > form.lb
        if not self.equality:
            projected = np.where(can_rise & (g < 0) | can_fall & (g > 0), np.abs(g), 0.0)
            fresh = _largest(projected, self.set_size // 2)
        else:
            score = -g / self.a
            can_raise = np.where(self.a > 0, can_rise, can_fall)
            can_lower = np.where(self.a > 0, can_fall, can_rise)
            half = self.set_size // 4
            fresh = np.concatenate(
                [
                    _largest(np.where(can_raise, score, -np.inf), half),
                    _largest(np.where(can_lower, -score, -np.inf), half),
                ]
            )
        moving = previous[can_rise[previous] & can_fall[previous]]
        return np.unique(np.concatenate([fresh, moving[: self.set_size // 2]]))

    def round(self, working: Indices, target: float, max_steps: int) -> int:
        """Solve on the working set to a violation of `target`; return the steps taken."""
        form = self.form
        Q = self.whole if self.whole is not None else form.Q.block(working, working)
        x, g = self.x[working], self.gradient()[working]
        lb, ub = form.lb[working], form.ub[working]
        run = _pair_steps if self.equality else _single_steps
        steps, self.unbounded = run(Q, x, g, self.a[working], lb, ub, target, max_steps)
        self._move(working, x - self.x[working])
        self.x[working] = x
        self.stuck = steps == 0
        return steps

    def face_steps(self, Q: Block) -> None:
        """Take Newton steps on the free variables, until one stays inside the box."""
        lb, ub = self.form.lb, self.form.ub
        for _ in range(_FACE_STEPS):
            self.f = self._scores()  # fresh: a million updates have left rounding errors
            free = np.flatnonzero((self.x > lb) & (self.x < ub))
            g, a = self.gradient()[free], self.a[free] if self.equality else None
            residual = self.form.delta - float(self.a @ self.x) if self.equality else 0.0
            moved = newton_step(
                Q[np.ix_(free, free)], g, a, residual, self.x[free], lb[free], ub[free]
            )
            if moved is None:
                return
            self.x[free] = moved
            if ((moved > lb[free]) & (moved < ub[free])).all():
                break
        self.f = self._scores()

    def _scores(self) -> Vector:
        beta = np.bincount(self.index, self.sign * self.x, self.form.gram.n)
        return self.form.gram.matvec(beta.astype(np.float64))

    def _move(self, working: Indices, change: Vector) -> None:
        """Bring f up to date from the rows of the samples whose coefficient changed."""
        samples, inverse = np.unique(self.index[working], return_inverse=True)
        change = np.bincount(inverse, self.sign[working] * change).astype(np.float64)
        samples, change = samples[change != 0], change[change != 0]
        if self.cache is not None:
            self.cache.add_rows(self.f, samples, change)
        else:
            beta = np.zeros(self.form.gram.n)
            beta[samples] = change
            self.f += self.form.gram.matvec(beta)


def _start(form: BoxQP) -> Vector:
    """Return the given start, else the feasible point nearest to 0."""
    if form.start is not None:
        return form.start.copy()
    return project(np.zeros(form.n), form.lb, form.ub, form.a, form.delta)


def _largest(values: Vector, count: int) -> Indices:
    """Return indices of the `count` largest values, without a sort."""
    if count >= values.size:
        return np.arange(values.size)
    return np.argpartition(values, values.size - count)[values.size - count :]


@numba.njit(cache=True)
def _pair_steps(
    Q: Block, x: Vector, g: Vector, a: Vector, lb: Vector, ub: Vector, target: float, max_steps: int
) -> tuple[int, bool]:
    """Take second-order pair steps in place; return their number, and whether one is unbounded."""
    n = x.size
    for step in range(max_steps):
        i, highest = -1, -np.inf  # first: the largest −g/a that can be raised
        for t in range(n):
            if (x[t] < ub[t] if a[t] > 0 else x[t] > lb[t]) and -g[t] / a[t] > highest:
                i, highest = t, -g[t] / a[t]
        if i < 0:
            return step, False
        j, lowest, best, curvature = -1, np.inf, 0.0, 1.0  # second: the largest gain with i
        for t in range(n):
            if x[t] > lb[t] if a[t] > 0 else x[t] < ub[t]:
                score = -g[t] / a[t]
                lowest = min(lowest, score)
                if score < highest:
                    c = Q[i, i] / a[i] ** 2 + Q[t, t] / a[t] ** 2 - 2 * Q[i, t] / (a[i] * a[t])
                    gain = (highest - score) ** 2 / max(c, _TINY_CURVATURE)
                    if gain > best:
                        j, best, curvature = t, gain, c
        if j < 0 or highest - lowest <= target:
            return step, False
        length = (highest + g[j] / a[j]) / max(curvature, _TINY_CURVATURE)
        room_i = a[i] * (ub[i] - x[i]) if a[i] > 0 else a[i] * (lb[i] - x[i])
        room_j = a[j] * (x[j] - lb[j]) if a[j] > 0 else a[j] * (x[j] - ub[j])
        room = min(room_i, room_j)
        if curvature <= 0 and room == np.inf:
            return step, True
        length = min(length, room)
        old_i, old_j = x[i], x[j]
        # a variable that reaches its bound is put there exactly
        x[i] = _moved(x[i], length / a[i], lb[i], ub[i], length == room_i)
        x[j] = _moved(x[j], -length / a[j], lb[j], ub[j], length == room_j)
        change_i, change_j = x[i] - old_i, x[j] - old_j
        if change_i == 0.0 and change_j == 0.0:
            return step, False
        for t in range(n):
            g[t] += Q[i, t] * change_i + Q[j, t] * change_j
    return max_steps, False


@numba.njit(cache=True)
def _single_steps(
    Q: Block, x: Vector, g: Vector, _: Vector, lb: Vector, ub: Vector, target: float, max_steps: int
) -> tuple[int, bool]:
    """Take single steps in place, each on the variable that gains most."""
    n = x.size
    for step in range(max_steps):
        i, best, most, least = -1, 0.0, 0.0, 0.0
        for t in range(n):
            if (g[t] < 0 and x[t] < ub[t]) or (g[t] > 0 and x[t] > lb[t]):
                most, least = max(most, g[t]), min(least, g[t])
                gain = g[t] ** 2 / max(Q[t, t], _TINY_CURVATURE)
                if gain > best:
                    i, best = t, gain
        if i < 0 or most - least <= target:
            return step, False
        if Q[i, i] <= 0 and g[i] < 0 and ub[i] == np.inf:
            return step, True
        old = x[i]
        x[i] = min(max(x[i] - g[i] / max(Q[i, i], _TINY_CURVATURE), lb[i]), ub[i])
        if x[i] == old:
            return step, False
        for t in range(n):
            g[t] += Q[i, t] * (x[i] - old)
    return max_steps, False


@numba.njit(cache=True)
def _moved(x: float, change: float, lb: float, ub: float, to_bound: bool) -> float:
    if to_bound:
        return ub if change > 0 else lb
    return min(max(x + change, lb), ub)
