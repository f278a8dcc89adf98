"""A problem in rationals: kernel values, losses, groups, and both objectives.

    min over w, u   ½‖w‖² + cᵀu + Σᵢ Cᵢℓᵢ(fᵢ),      f = Kβ + u,   w = Σ βᵢφ(xᵢ)
Nothing here is taken from the certificates that are tested; the stored float64 numbers are the data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import fmpq
from tests.differential.kernels import exact_gram

from dualgap.problems import SVDD, Formulation, HingeERM, NuSVR, RegularizedERM, SoftmaxERM

ZERO, ONE, HALF = fmpq(0), fmpq(1), fmpq(1, 2)
NARROW = fmpq(1, 10**30)  # the largest relative width of an optimum that is not rational


def rational(value: float | Fraction) -> fmpq:
    """Return a number as it is."""
    return fmpq(*value.as_integer_ratio())


def real(value: fmpq) -> float:
    """Return a float64, infinite for what is beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else -float("inf")


class Curve(NamedTuple):
    """C·ℓ of one sample: 0 on [lower, upper], from there on slopes of `below` and `above`.

    An end of None is infinite; a slope of None too, which no f may pay. With `smoothing` s > 0 the loss
    is slope·e²/(2s) in the distance e to the interval, else slope·e.
    """

    lower: fmpq | None
    upper: fmpq | None
    below: fmpq | None
    above: fmpq | None
    smoothing: fmpq = ZERO

    def value(self, f: fmpq) -> fmpq | None:
        """Return C·ℓ(f), None where it is infinite."""
        for end, slope, e in self._sides(f):
            if end is not None and e > 0:
                if slope is None:
                    return None
                return slope * e * e / (2 * self.smoothing) if self.smoothing else slope * e
        return ZERO

    def _sides(self, f: fmpq) -> Iterator[tuple[fmpq | None, fmpq | None, fmpq]]:
        yield self.lower, self.below, ZERO if self.lower is None else self.lower - f
        yield self.upper, self.above, ZERO if self.upper is None else f - self.upper

    def slope(self, f: fmpq) -> fmpq:
        """Return C·ℓ'(f) of a loss that is smooth."""
        left, right = (ZERO if end is None or e < 0 else s * e for end, s, e in self._sides(f))
        return (right - left) / self.smoothing

    def conjugate(self, beta: fmpq) -> fmpq:
        """Return max over f of −βf − C·ℓ(f), for β within `limits`."""
        if beta == 0:
            return ZERO
        end, slope = (self.lower, self.below) if beta > 0 else (self.upper, self.above)
        square = self.smoothing * beta * beta / (2 * slope) if self.smoothing else ZERO
        return square - beta * end

    @property
    def limits(self) -> tuple[fmpq | None, fmpq | None]:
        """The smallest and the largest β, None for no limit."""
        bounds = []
        for end, slope, sign in ((self.upper, self.above, -1), (self.lower, self.below, 1)):
            free = end is not None and (slope is None or self.smoothing)
            bounds.append(None if free else ZERO if end is None else sign * slope)
        return bounds[0], bounds[1]

    def change(self, beta: fmpq, distance: fmpq) -> fmpq:
        """Return a bound on C·ℓ(f + δ) − C·ℓ(f) for |δ| ≤ distance, at an f with −β a slope there."""
        slopes = [s for s in (self.below, self.above) if s is not None]
        steepest = max(slopes, default=ZERO)
        if self.smoothing:
            return abs(beta) * distance + steepest * distance * distance / (2 * self.smoothing)
        return steepest * distance


class State(NamedTuple):
    """One side of a sample's optimality conditions.

    Free: f + rho·β = target, and β within [low, high]. Else β = target, and f within [low, high].
    """

    free: bool
    target: fmpq
    rho: fmpq
    low: fmpq | None
    high: fmpq | None


def states(curve: Curve) -> list[State]:
    """Return all states of a sample: 0 first, as most active sets of an SVM have it."""
    candidates = [State(False, ZERO, ZERO, curve.lower, curve.upper)]
    for end, slope, sign in ((curve.lower, curve.below, 1), (curve.upper, curve.above, -1)):
        if end is None:
            continue
        rho = curve.smoothing / slope if curve.smoothing else ZERO
        steepest = None if slope is None or curve.smoothing else sign * slope
        if sign > 0:
            candidates.append(State(True, end, rho, ZERO, steepest))
        else:
            candidates.append(State(True, end, rho, steepest, ZERO))
        if steepest is not None:
            limits = (None, end) if sign > 0 else (end, None)
            candidates.append(State(False, steepest, ZERO, *limits))
    return candidates


class Group(NamedTuple):
    """The samples that share an offset, and its linear cost."""

    members: tuple[int, ...]
    cost: fmpq


class Values(NamedTuple):
    """Exact objectives of an answer, None for what is not known.

    Attributes
    ----------
    primal : the least that the certified point stands for. own : of what the solver gave alone.
    """

    primal: fmpq | None
    solver_primal: fmpq | None = None
    dual: fmpq | None = None


@dataclass(frozen=True)
class Posed:
    """A problem in rationals.

    Attributes
    ----------
    K : kernel values. error : how far each may be from the problem's own, 0 where all are rational.
    samples : how many there are, if they are there a second time; else 0.
    """

    K: list[list[fmpq]]
    error: fmpq
    curves: list[Curve]
    groups: list[Group]
    samples: int = 0

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.curves)

    @property
    def is_hard(self) -> bool:
        """Whether no sample may be short of its margin."""
        return any(None in (c.below, c.above) for c in self.curves)

    def scores(self, beta: Sequence[fmpq]) -> list[fmpq]:
        """Return Kβ."""
        used = [j for j, v in enumerate(beta) if v != 0]
        return [sum((row[j] * beta[j] for j in used), ZERO) for row in self.K]

    def norm2(self, beta: Sequence[fmpq]) -> fmpq:
        """Return βᵀKβ."""
        return sum((b * f for b, f in zip(beta, self.scores(beta), strict=True)), ZERO)

    def mass(self, beta: Sequence[fmpq]) -> fmpq:
        """Return Σ|βᵢ|, of a sample that is there twice with the sum of both."""
        n = self.samples or len(beta)
        return sum((abs(sum(beta[i::n], ZERO)) for i in range(n)), ZERO)

    def dual(self, beta: Sequence[fmpq]) -> fmpq:
        """Return the dual objective of a feasible β."""
        conjugates = (c.conjugate(b) for c, b in zip(self.curves, beta, strict=True))
        return -HALF * self.norm2(beta) - sum(conjugates, ZERO)

    def doubt(self, beta: Sequence[fmpq]) -> fmpq:
        """Return how far the objectives of β may be off as kernel values are, but for smooth losses."""
        size = self.mass(beta)
        slopes = sum((max(c.below or ZERO, c.above or ZERO) for c in self.curves), ZERO)
        return self.error * size * (size + slopes)

    def feasible(self, beta: Sequence[fmpq]) -> list[fmpq]:
        """Return a β near one that nearly satisfies the box and the equalities, which it does."""
        limits = [curve.limits for curve in self.curves]

        def clipped(value: fmpq, i: int) -> fmpq:
            low, high = limits[i]
            value = value if low is None else max(value, low)
            return value if high is None else min(value, high)

        beta = [clipped(v, i) for i, v in enumerate(beta)]
        for group in self.groups:
            excess = sum((beta[i] for i in group.members), ZERO) - group.cost
            for i in sorted(group.members, key=lambda i: -abs(beta[i])):
                moved = clipped(beta[i] - excess, i)
                excess += moved - beta[i]
                beta[i] = moved
        return beta

    def shifted(self, scores: Sequence[fmpq], offsets: Sequence[fmpq]) -> list[fmpq]:
        """Return the decisions f: scores with the offset of each sample's group."""
        decision = list(scores)
        for group, offset in zip(self.groups, offsets, strict=True):
            for i in group.members:
                decision[i] += offset
        return decision

    def primal(self, norm2: fmpq, scores: Sequence[fmpq], offsets: Sequence[fmpq]) -> fmpq | None:
        """Return the primal objective, None where it is infinite."""
        total = HALF * norm2
        for group, offset in zip(self.groups, offsets, strict=True):
            total += group.cost * offset
        for curve, f in zip(self.curves, self.shifted(scores, offsets), strict=True):
            value = curve.value(f)
            if value is None:
                return None
            total += value
        return total


def exact_weights(problem: Formulation) -> list[fmpq | None]:
    """Return Cᵢ, None for a hard margin."""
    if isinstance(problem, HingeERM | RegularizedERM | SoftmaxERM):
        return [1 / (problem.n * rational(problem.lam))] * problem.n
    if problem.may_be_infeasible:
        return [None] * problem.n
    # of machines whose nu stands for a share of the samples all weights are 1
    return [rational(c) for c in np.broadcast_to(getattr(problem, "C", 1.0), problem.n).tolist()]


def exact_curve(loss: Any, y: fmpq, C: fmpq | None) -> Curve:
    """Return C·ℓ(y, ·) from the loss's definition."""
    twice = None if C is None else 2 * C
    match type(loss).__name__:
        case "Hinge" | "Perceptron" | "SquaredHinge" as name:
            margin = ZERO if name == "Perceptron" else y
            slope, smoothing = (twice, ONE) if name == "SquaredHinge" else (C, ZERO)
            ends = (margin, None) if y > 0 else (None, margin)
            return Curve(*ends, slope, slope, smoothing)
        case "Squared":
            return Curve(y, y, C, C, ONE)
        case "EpsilonInsensitive":
            epsilon = rational(loss.epsilon)
            return Curve(y - epsilon, y + epsilon, C, C)
        case "SquaredEpsilonInsensitive":
            epsilon = rational(loss.epsilon)
            return Curve(y - epsilon, y + epsilon, twice, twice, ONE)
        case "Shortfall":
            return Curve(y, None, C, C)
        case "Pinball":
            tau = rational(loss.tau)
            return Curve(y, y, C * tau, C * (1 - tau))
        case name:
            raise NotImplementedError(f"no exact curve of the loss {name}")


def rational_problem(
    problem: Formulation, bits: int, weights: list[fmpq | None] | None = None
) -> Posed:
    """Return a problem in rationals, kernel values to so many bits.

    `weights` stand in place of its own Cᵢ.
    """
    K, error = exact_gram(problem.X, problem.kernel, bits)
    targets = [rational(v) for v in problem.y.tolist()]
    if isinstance(problem, SVDD):
        targets = [
            HALF * rational(problem.risk.costs[0].item()) * K[i][i] for i in range(problem.n)
        ]
    C = weights or exact_weights(problem)
    costs = [rational(c) for c in problem.risk.costs.tolist()]
    if isinstance(problem, NuSVR):  # each sample twice: below its target, and above it
        K, labels = [row + row for row in K + K], np.repeat([0, 1], problem.n)
        sides = [
            (Curve(y, None, c, c), Curve(None, y, c, c)) for y, c in zip(targets, C, strict=True)
        ]
        curves = [below for below, _ in sides] + [above for _, above in sides]
    else:
        curves = [
            exact_curve(problem.risk.loss, *sample) for sample in zip(targets, C, strict=True)
        ]
        labels = (
            problem.risk.groups if problem.risk.groups is not None else np.zeros(problem.n, np.intp)
        )
    groups = [
        Group(tuple(np.flatnonzero(labels == g).tolist()), cost) for g, cost in enumerate(costs)
    ]
    return Posed(K, error, curves, groups, problem.n if isinstance(problem, NuSVR) else 0)
