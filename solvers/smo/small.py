"""Alternate pair steps and Newton steps, for problems whose whole matrix K is computed.

    min ½zᵀKz + qᵀz + Σ epsᵢ|zᵢ|  s.t. Σz = delta in each group (or none), lo ≤ z ≤ hi

Pair steps (`pairs`) find which variables are free; a Newton step then moves all of these to their
minimum (`dualgap.solvers.numerics.subspace`). They alternate, at first while each pays off, and once
the violation is at most `tol` until it is at most `fine`. A few hundred variables are solved before
larger problems have set up their first product: there are no threads, rounds or cached rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from dualgap.problems.dataset import Vector
from dualgap.problems.forms import FormPoint, GroupedTerms, KernelQP
from dualgap.problems.kernels import Block
from dualgap.problems.problem.certificate import WRONG_GAP
from dualgap.solvers.numerics.claims import NO_MARGIN, may_claim
from dualgap.solvers.numerics.subspace import MAX_FREE, minimise_on_subspaces
from dualgap.solvers.smo.conditions import (
    best_multiple,
    free_variables,
    gap_and_dual,
    on_one_side,
    slopes,
)
from dualgap.solvers.smo.pairs import pair_steps
from dualgap.solvers.smo.tuning import TUNING


def minimise_by_matrix(
    form: KernelQP, tol: float, gap: float | None, max_iter: int
) -> Iterator[FormPoint]:
    """Yield every few thousand steps, and once the violation or the gap is small enough."""
    n, terms = form.n, form.terms
    K = form.gram.dense()
    if form.sample is not None:
        K = K[np.ix_(form.sample, form.sample)]
    K = np.require(K, requirements=["C", "W"])  # compiled code needs this layout
    problem = SmallProblem(K, terms)
    coarse = 1e-3  # violation below which Newton steps may take longer than pair steps
    z, steps, fine = form.first_point(), 0, tol if gap is None else max(tol, coarse)
    best = np.inf
    support = np.flatnonzero(z)
    f = K @ z if 4 * support.size > n else z[support] @ K[support]  # the rows are copied
    if form.start is not None:
        multiple = best_multiple(form, z, f, terms)
        z, f = multiple * z, multiple * f
    counters = {"active": n, "bits": 64, "cache_size": 8e-6 * n**2}
    while True:
        # 1000 steps take ten times as long as the gap, 10,000 take milliseconds
        max_steps = min(max_iter - steps, 10_000 if gap is None else 1000)
        _, new_steps, _, unbounded = problem.minimise(z, f, max(fine, coarse), fine, max_steps)
        steps += new_steps
        if n <= TUNING.max_small:  # for more variables it takes as long as the steps
            f = K @ z  # recomputed, without the rounding errors of each step
        violation = slopes(f, z, terms, problem.count)[3]
        absolute_gap, dual = gap_and_dual(f, z, terms, form.sums, 0.0, np.inf)
        gap_now = np.inf if gap is None else absolute_gap / dual
        by_gap = gap is not None and gap_now <= gap
        solved = violation <= tol or by_gap
        # with far bounds the gap may be large at a violation of `tol`; relative to an optimum of 0 it
        # always is
        finished = by_gap or (solved and (gap_now > WRONG_GAP or violation >= 0.5 * best))
        if finished or unbounded or steps >= max_iter or (new_steps == 0 and violation > fine):
            break
        best = min(best, violation)
        if violation <= fine:
            fine = 0.01 * violation if solved else max(tol, 0.01 * violation)
        yield FormPoint(np.clip(z, form.lo, form.hi), iterations=steps, counters=counters)
    # if targets differ only in their last digits, rounding hides f, and with it the gap
    largest, width = (np.abs(f) + np.abs(form.q)).max(), (form.hi - form.lo).sum()
    rounding = np.finfo(float).eps * float(largest * width)
    certain = (absolute_gap + rounding) / dual
    x = np.clip(z, form.lo, form.hi)
    solved &= not unbounded
    claim = "optimal" if solved and may_claim(form, x, certain, gap) else "stopped"
    note = NO_MARGIN if unbounded else ""
    yield FormPoint(x, iterations=steps, claim=claim, counters=counters, note=note)


class SmallFit(NamedTuple):
    """Multipliers of the equalities, steps, violation, and whether a pair can move without limit."""

    b: Vector
    steps: int
    violation: float
    unbounded: bool


class SmallProblem:
    """The problem of variables z, given all of K.

    Without an equality K gets a zero row and column: a free partner for every variable.
    """

    def __init__(self, K: Block, terms: GroupedTerms) -> None:
        self.terms, self.count = terms, int(terms.groups.max()) + 1
        self.K = K if self.count else np.pad(K, (0, 1))

    def minimise(self, z: Vector, f: Vector, tol: float, fine: float, max_steps: int) -> SmallFit:
        """Minimise to a violation of `tol`, and from there to `fine`.

        From a feasible `z` (n,) with f = Kz, which are overwritten.
        """
        steps, turn_steps, best, stalled, unbounded = 0, 0, np.inf, 0, False
        _, _, b, violation = slopes(f, z, self.terms, self.count)
        while True:
            stalled = 0 if violation < 0.5 * best else stalled + 1
            best = min(best, violation)
            refining = best <= tol
            stop = violation <= (fine if refining else tol) or steps >= max_steps or unbounded
            if stop or stalled > 40:  # only rounding errors remain
                return SmallFit(b, steps, violation, unbounded)
            if refining or turn_steps > 0:
                # at most as long as the pair steps took
                seconds = np.inf if refining else turn_steps * (1e-7 + 1e-9 * z.size)
                self.newton_step(z, f, b, seconds)
                _, _, b, violation = slopes(f, z, self.terms, self.count)
            turn_steps, target = 0, fine if violation <= tol else tol
            if violation > target:
                # pair steps between Newton steps
                limit = 100 if refining else max(100, z.size // 2)
                limit = min(max_steps - steps, limit)
                turn_steps, unbounded = self._pair_steps(z, f, b, target, limit)
                steps += turn_steps
                _, _, b, violation = slopes(f, z, self.terms, self.count)

    def _pair_steps(
        self, z: Vector, f: Vector, b: Vector, target: float, max_steps: int
    ) -> tuple[int, bool]:
        """Take pair steps on the current side of each tube.

        Returns the number of steps, and whether the last pair can move without limit.
        """
        n, groups = z.size, self.terms.groups
        before, low, high = on_one_side(f, z, self.terms, b)
        x, u = z.copy(), before.copy()
        if self.count == 0:
            x, u, groups = np.append(x, 0.0), np.append(u, 0.0), np.zeros(n + 1, np.int64)
            low, high = np.append(low, -np.inf), np.append(high, np.inf)
            target *= 0.5  # a violation counts twice there, at either end of a pair
        steps, unbounded = pair_steps(self.K, x, u, low, high, target, max_steps, groups)
        z[:] = x[:n]
        f += before - u[:n]
        return steps, unbounded

    def newton_step(self, z: Vector, f: Vector, b: Vector, seconds: float) -> None:
        """Move the free variables to the minimum on their face."""
        free = free_variables(z, self.terms)
        if not 0 < free.size <= MAX_FREE:
            return
        u, low, high = on_one_side(f, z, self.terms, b)
        rows, before = self.K.take(free, 0), z[free]
        A, moved, groups = rows.take(free, 1), before.copy(), self.terms.groups[free]
        minimise_on_subspaces(A, u[free], moved, low[free], high[free], groups, seconds)
        z[free] = moved
        f += ((moved - before) @ rows)[: f.size]


@cache
def compile_newton() -> None:
    """Compile or load a Newton step, which only some problems of any kind need, once per process."""
    middle, zero, ones = np.full(2, 0.5), np.zeros(2), np.ones(2)
    terms = GroupedTerms(zero, zero, zero, ones, np.zeros(2, np.int64))
    SmallProblem(np.eye(2), terms).newton_step(middle, zero.copy(), np.zeros(1), np.inf)
