"""A problem's dual in rationals: its box and equalities, and points that satisfy them exactly."""

from __future__ import annotations

from fractions import Fraction
from math import isinf
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from problems.certificates.proofs.balls import Unprovable, balls
from problems.dataset import Indices, Vector
from problems.dual_problem.dual import DualProblem
from problems.projection import members_of

_SLIGHT = fmpq(1, 10**9)  # of its size, that a variable may be moved by its share
# Of the room that the freest variable has, what another needs to count as free too.
_FREE = 1e-9
_MOST_MOVED = 32  # variables for which the equations are solved: some hundredths of a second
_BITS = 424  # matrices of samples far from the origin are singular but for their last digits
_TINY = 2.0**-200  # of the trace, added to the diagonal: a matrix may be singular altogether


class Exact:
    """What a problem's dual asks for, in rationals.

    Attributes
    ----------
    C : the weights, None for no bound. low, high : of each βᵢ, None likewise.
    groups : the samples of each equality. costs : the right sides.
    """

    def __init__(self, problem: DualProblem) -> None:
        self.problem, self._targets = problem, dict[int, Any]()
        self.C = [None if c is None else exact_value(c) for c in problem.exact_weights()]
        smallest, largest = problem.loss.dual_range
        self.low, self.high = [], []
        for c, label in zip(self.C, problem.y.tolist(), strict=True):
            flipped = not problem.is_regression and label < 0  # β = yα
            ends = (-largest, -smallest) if flipped else (smallest, largest)
            self.low.append(_times(c, ends[0]))
            self.high.append(_times(c, ends[1]))
        self.costs = [exact_value(c) for c in problem.costs.tolist()]
        self.groups: list[Indices] = []
        if problem.groups is not None:
            self.groups = members_of(problem.groups, len(self.costs))
        elif self.costs:
            self.groups = [np.arange(problem.n)]

    @property
    def targets(self) -> Any:
        """Balls around the targets (n,), computed once a precision: those of SVDD are kernel values."""
        if ctx.prec not in self._targets:
            found = self.problem.ball_targets()
            self._targets[ctx.prec] = balls(self.problem.y) if found is None else found
        return self._targets[ctx.prec]

    @property
    def is_bounded(self) -> bool:
        """Whether every weight is finite."""
        return all(c is not None for c in self.C)

    def beta(self, alpha: Vector, gram: Any) -> Any:
        """Return β as rationals in the dual's domain that satisfy every equality exactly.

        Its shape is that of `alpha`: (n,), or (n, K) for K classes. `values` are those of the kernel in
        balls, (rows, cols) ↦ a matrix: where samples are far from the origin, what an equality lacks
        would move w = Σ βᵢφ(xᵢ) much if any variables gave way.

        Raises
        ------
        Unprovable
            If no such β is found.
        """
        values = exact_array(self.problem.beta(alpha))
        if values.ndim == 2:
            C = np.array(self.C, object)[:, None]
            return -C * self.problem.loss.exact_slopes(self.problem.y, -values / C)
        x = [_clip(v, *box) for v, *box in zip(values, self.low, self.high, strict=True)]
        order = np.argsort(-np.abs(alpha))
        place = np.argsort(order)
        for members, cost in zip(self.groups, self.costs, strict=True):
            excess = sum((x[i] for i in members), fmpq(0)) - cost
            moved = list(x)
            shares = self._shares(x, members, gram) if excess else []
            if any(abs(share * excess) > _SLIGHT * abs(x[i]) for i, share in shares):
                shares = []  # of a matrix that is as good as singular
            for i, share in shares:
                moved[i] = _clip(x[i] - share * excess, self.low[i], self.high[i])
            rest = sum((moved[i] for i in members), fmpq(0)) - cost
            if abs(rest) < abs(excess):  # it is not where a bound was in the way
                x, excess = moved, rest
            # of what rounding leaves the entries of largest size give way; moving all of them is enough
            for i in members[np.argsort(place[members])]:
                if excess == 0:
                    break
                value = _clip(x[i] - excess, self.low[i], self.high[i])
                excess += value - x[i]
                x[i] = value
            if excess != 0:
                raise Unprovable("no dual point meets an equality exactly")
        return np.array(x, object)

    def _shares(self, x: list[Any], members: Indices, gram: Any) -> list[tuple[int, Any]]:
        """Return some free variables and the shares of 1 that move w least: K⁻¹1 / 1ᵀK⁻¹1.

        Those are free that are far from both bounds and from 0, where a conjugate may have a kink. There
        are none where that is not found.
        """
        ends = [
            [abs(x[i] - end) for end in (fmpq(0), self.low[i], self.high[i]) if end is not None]
            for i in members
        ]
        room = np.array([float(arb(min(far))) for far in ends])
        largest = np.argsort(-room)[:_MOST_MOVED]
        free = members[largest[room[largest] > _FREE * room[largest[0]]]]
        with ctx.workprec(_BITS):
            K = gram(free, free)
            trace = sum((K[k, k] for k in range(free.size)), arb(0))
            for k in range(free.size):
                K[k, k] += trace * _TINY
            try:
                shares = K.solve(arb_mat([[arb(1)]] * free.size)).entries()
            except ZeroDivisionError:
                return []
            total = sum(shares, arb(0))
            found = [float(v / total) for v in shares]
        return (
            list(zip(free.tolist(), exact_array(found), strict=True))
            if np.isfinite(found).all()
            else []
        )


def exact_value(value: float | Fraction) -> Any:
    """Return a finite number as a rational."""
    return fmpq(*value.as_integer_ratio())


# the same of each number in an array
exact_array: Any = np.frompyfunc(lambda value: exact_value(float(value)), 1, 1)


def _times(C: Any, end: float) -> Any:
    """Return C·end, None where it has no bound."""
    if end == 0:
        return fmpq(0)
    return None if C is None or isinf(end) else C * exact_value(end)


def _clip(value: Any, low: Any, high: Any) -> Any:
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)
