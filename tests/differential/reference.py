"""The exact optimum of a problem, and the exact values of what a certificate holds up against it."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import inf, nextafter
from typing import Protocol

import numpy as np
from flint import fmpq
from tests.differential.active_sets import Optimum, largest_dual, solved
from tests.differential.chains import ChainReference
from tests.differential.kernels import exact_rows, inner, is_psd, seen_rows
from tests.differential.posed import (
    HALF,
    NARROW,
    ONE,
    ZERO,
    Group,
    Posed,
    Values,
    rational,
    rational_problem,
    real,
)
from tests.differential.smooth import SmoothReference

from dualgap.problems import (
    Certificate,
    ChainMargin,
    Formulation,
    Multiclass,
    NuSVR,
    Point,
    SoftmaxERM,
    Vector,
    certify,
)
from dualgap.problems.losses import Logistic
from dualgap.problems.problem import join, split

_PRECISIONS = (320, 1280, 10_240)  # bits of kernel values that are no rationals
_ROUNDING = fmpq(11, 10**9)  # how short of a margin an answer may be to be stretched to it


class Reference(Protocol):
    """What certificates are judged by.

    Attributes
    ----------
    lower, upper : the optimum is between them.
    is_infeasible : whether no point is feasible.
    """

    lower: fmpq
    upper: fmpq
    is_infeasible: bool

    @property
    def may_be_zero(self) -> bool:
        """Whether the optimum may be 0 to float64: gaps are then relative to the size at zero."""
        ...

    def point(self) -> Point:
        """Return an optimal answer rounded to float64."""
        ...

    def size_at_zero(self) -> fmpq:
        """Return the primal objective at w = 0 and no offset: what an optimum of 0 is compared with.

        That of a tube's width where there is one and an offset.

        Where the problem has no size of its own, ½‖w‖² of orthogonal samples of their variance that
        share the costs equally.
        """
        ...

    def unresolved(self) -> fmpq:
        """Return 2⁻³⁰ times the weighted targets and tubes if losses at w = 0 may be smaller, else 0.

        Float64 has under six digits of such losses, and gaps are relative to this at least.
        """
        ...

    def values(self, c: Certificate, answer: Point) -> Values:
        """Return the objectives of an answer and its certified point."""
        ...


def exact_reference(problem: Formulation, C: list[fmpq | None] | None = None) -> Reference:
    """Return the reference of a problem, with weights of the losses in place of its own if given.

    Raises
    ------
    ArithmeticError
        If the optimum is not known to thirty digits.
    """
    if isinstance(problem, Multiclass):
        return SummedReference(problem)
    if isinstance(problem, ChainMargin):
        return ChainReference(problem)
    if isinstance(problem, SoftmaxERM) or isinstance(problem.risk.loss, Logistic):
        return SmoothReference(problem, C)
    return (DoubledReference if isinstance(problem, NuSVR) else EnumeratedReference)(problem, C)


class EnumeratedReference:
    """The reference of a problem whose losses are linear or quadratic beside an interval."""

    def __init__(self, problem: Formulation, C: list[fmpq | None] | None = None) -> None:
        self.problem = problem
        self.exact, optimum = _enumerated(problem, C)
        self.is_infeasible = optimum is None
        if optimum is not None:
            self.lower, self.upper, self.beta = optimum.lower, optimum.upper, optimum.beta

    def point(self) -> Point:
        return Point(self.problem.risk.alpha(np.array([real(v) for v in self.beta])))

    def size_at_zero(self) -> fmpq:
        zero, exact = [ZERO] * self.exact.n, self.exact
        if not self.is_homogeneous:
            tubes = ((c, c.upper - c.lower) for c in exact.curves if None not in (c.lower, c.upper))
            width = sum((HALF * w * max(c.below or ZERO, c.above or ZERO) for c, w in tubes), ZERO)
            if exact.groups and width > 0:  # an offset takes what is added to all targets
                return width
            return exact.primal(ZERO, zero, [ZERO] * len(exact.groups)) or ZERO
        costs = sum((abs(group.cost) for group in exact.groups), ZERO)
        length2 = sum((exact.K[i][i] for i in range(exact.n)), ZERO) / exact.n
        mean2 = sum((sum(row, ZERO) for row in exact.K), ZERO) / exact.n**2
        return HALF * costs**2 / exact.n * max(length2 - mean2, ZERO)

    @property
    def may_be_zero(self) -> bool:
        return self.is_homogeneous or self._targets_are_equal()

    @property
    def is_homogeneous(self) -> bool:
        """Whether offsets have costs and nothing else has a size: the optimum is at most 0."""
        costs = any(group.cost != 0 for group in self.exact.groups)
        return costs and all(curve.value(ZERO) == 0 for curve in self.exact.curves)

    def _targets_are_equal(self) -> bool:
        """Whether w = 0 leaves no loss but that of targets that float64 rounded: two last digits."""
        sizes = np.abs(self.problem.y) + self.problem.risk.loss.tube
        return self._fits_at_zero(2 * np.spacing(sizes))

    def unresolved(self) -> fmpq:
        sizes = 2.0**-30 * (np.abs(self.problem.y) + self.problem.risk.loss.tube)
        fits = self._fits_at_zero(4 * sizes)  # a loss may have a slope of a quarter
        return rational(float(self.problem.risk.C @ sizes)) if fits else ZERO

    def _fits_at_zero(self, widths: Vector) -> bool:
        """Whether w = 0 leaves no loss if the targets of a regression may move by `widths`."""
        problem, curves, scores = self.problem, self.exact.curves, [ZERO] * self.exact.n
        if problem.risk.costs.any() or not problem.risk.loss.is_regression:
            return False
        wider = [
            c._replace(lower=c.lower - u, upper=c.upper + u)
            for c, u in zip(curves, map(rational, widths.tolist()), strict=True)
        ]
        exact = replace(self.exact, curves=wider)
        return _best_primal(exact, ZERO, scores, [], stretched=False) == 0

    def values(self, c: Certificate, answer: Point) -> Values:
        """Return the objectives of an answer and its certified point.

        The primal is that of its weights or of those that its multipliers make up, at its offsets or
        the best ones, stretched to a margin that rounding left it short of: the least. A hard margin's
        answer is the same in any length, so that it counts before it was rounded to its own one too.
        """
        indefinite = self.problem.kernel.is_psd is None and not is_psd(self.exact.K)
        if c.point.alpha is None or indefinite:  # no primal is above all of its dual
            return Values(None)
        arrays = [v for v in (c.point.alpha, c.point.w) if v is not None]
        if not all(np.isfinite(v).all() for v in arrays):  # it is beyond float64's range
            return Values(None)
        coefficients, scale = self._beta(c.point.alpha), rational(c.scale)
        beta = self.exact.feasible(coefficients)
        of_alpha = [  # weights need not be those of multipliers that are feasible
            (scale * scale * self.exact.norm2(v), [scale * f for f in self.exact.scores(v)])
            for v in (beta, coefficients)
        ]
        ws = [c.point.w]
        if self.exact.is_hard:
            before = certify(self.problem, answer, target_gap=np.inf).point
            ws.append(before.w)
            previous = [self._beta(v) for v in (before.alpha, answer.alpha) if v is not None]
            of_alpha += [(self.exact.norm2(v), self.exact.scores(v)) for v in previous]
        offsets = [rational(u) for u in c.offsets]
        of_w = [self._of_weights(w) for w in ws if w is not None]
        primals = [
            [_best_primal(self.exact, *point, offsets) for point in points]
            for points in (of_alpha, of_w)
        ]
        best = [
            min((v for v in objectives if v is not None), default=None) for objectives in primals
        ]
        primal = min(
            (v - self.exact.doubt(coefficients) for v in best if v is not None), default=None
        )
        solver_primal = best[1]
        if answer.w is None:
            solver_primal = _best_primal(self.exact, *of_alpha[-1], offsets, stretched=False)
        return Values(primal, solver_primal, self.exact.dual(beta))

    def _of_weights(self, w: Vector) -> tuple[fmpq, list[fmpq]]:
        """Return ‖w‖² and the scores of weights, which rounding parts from those of multipliers."""
        weights = [rational(v) for v in w.ravel().tolist()]
        return inner(weights, weights), [inner(x, weights) for x in exact_rows(self.problem.X)]

    def _beta(self, alpha: Vector) -> list[fmpq]:
        return [rational(v) for v in self.problem.risk.beta(alpha).tolist()]


class DoubledReference(EnumeratedReference):
    """The reference of ν-SVR, whose samples are there twice: below the tube and above it."""

    is_homogeneous = False  # its targets have a size

    def point(self) -> Point:
        n = self.problem.n
        return Point(np.array([real(self.beta[i] + self.beta[n + i]) for i in range(n)]))

    def _of_weights(self, w: Vector) -> tuple[fmpq, list[fmpq]]:
        norm2, scores = super()._of_weights(w)
        return norm2, scores + scores

    def _beta(self, alpha: Vector) -> list[fmpq]:
        """Return both parts of each β, and as much of both as the sums lack."""
        beta = super()._beta(alpha)
        above, below = [max(v, ZERO) for v in beta], [min(v, ZERO) for v in beta]
        for i in range(len(beta)):
            shortfall = self.exact.groups[0].cost - max(sum(above), -sum(below))
            slack = self.exact.curves[i].below - abs(beta[i])
            more = max(ZERO, min(shortfall, slack))
            above[i], below[i] = above[i] + more, below[i] - more
        return above + below


def _enumerated(problem: Formulation, C: list[fmpq | None] | None) -> tuple[Posed, Optimum | None]:
    for bits in _PRECISIONS:
        exact = rational_problem(problem, bits, C)
        if problem.kernel.is_psd is None and not is_psd(exact.K):
            return exact, largest_dual(exact)
        if problem.may_be_infeasible and _has_opposite_twins(problem):
            return exact, None
        optimum = solved(exact)
        if optimum is None and exact.error == 0:
            assert problem.may_be_infeasible, "every problem with finite losses has an optimum"
            return exact, None
        if optimum is not None and optimum.upper - optimum.lower <= NARROW * _size(exact, optimum):
            return exact, optimum
    raise ArithmeticError(f"{_PRECISIONS[-1]} bits do not tell the optimum")


def _size(exact: Posed, optimum: Optimum) -> fmpq:
    """Return the size of an optimum; where it is 0, that of what cancels in ‖w‖²."""
    terms = exact.mass(optimum.beta)
    cancelled = max(exact.K[i][i] for i in range(exact.n)) * terms * terms
    return max(abs(optimum.upper), NARROW * cancelled)


def _has_opposite_twins(problem: Formulation) -> bool:
    """Whether two samples that are equal to the kernel have opposite labels."""
    samples, y = seen_rows(problem.X, problem.kernel), problem.y
    pairs = ((i, j) for i in range(problem.n) for j in range(i))
    return any(samples[i] == samples[j] and y[i] != y[j] for i, j in pairs)


def _best_primal(
    exact: Posed, norm2: fmpq, scores: list[fmpq], offsets: list[fmpq], stretched: bool = True
) -> fmpq | None:
    """Return the primal objective at the best offsets, stretched by what rounding may have taken."""
    if exact.is_hard:
        return _hard_primal(exact, norm2, scores)
    best = offsets[: len(exact.groups)] or [ZERO] * len(exact.groups)
    for k, group in enumerate(exact.groups):  # they share no sample
        candidates = [best] + [
            [*best[:k], u, *best[k + 1 :]] for u in _offsets(exact, group, scores)
        ]
        best = min(candidates, key=lambda u: exact.primal(norm2, scores, u))
    if not stretched:
        return exact.primal(norm2, scores, best)
    between = [
        best
    ]  # where margins are short of one on both sides, the middle of two kinks is best
    for k, group in enumerate(exact.groups):
        ends = pairwise(sorted(_offsets(exact, group, scores)))
        between += [[*best[:k], HALF * (u + v), *best[k + 1 :]] for u, v in ends]
    return min(
        exact.primal(s * s * norm2, [s * f for f in scores], [s * v for v in offsets])
        for offsets in between
        for s in _stretches(exact, scores, offsets)
    )


def _offsets(exact: Posed, group: Group, scores: list[fmpq]) -> list[fmpq]:
    """Return the offsets among which the best one of a group is.

    It is at a kink, or where the slope is 0 between two kinks or beyond them; slopes are linear there.
    """
    curves = [(exact.curves[i], scores[i]) for i in group.members]
    kinks = sorted({end - f for curve, f in curves for end in curve[:2] if end is not None})
    if not any(curve.smoothing for curve, _ in curves):
        return kinks
    points = [kinks[0] - 1, *kinks, kinks[-1] + 1]
    slopes = [sum((curve.slope(f + u) for curve, f in curves), group.cost) for u in points]
    pieces = zip(pairwise(points), pairwise(slopes), strict=True)
    return kinks + [u - s * (v - u) / (t - s) for (u, v), (s, t) in pieces if s != t]


def _hard_primal(exact: Posed, norm2: fmpq, scores: list[fmpq]) -> fmpq | None:
    """Return ½‖w‖² over the squared smallest margin at the best offset; None if none is positive."""
    sides = [
        (-f, -1) if curve.lower is None else (f, 1)
        for curve, f in zip(exact.curves, scores, strict=True)
    ]
    if not exact.groups:
        margin = min(f for f, _ in sides)
    else:
        smallest = [min((f for f, s in sides if s == side), default=None) for side in (-1, 1)]
        margin = ONE if None in smallest else HALF * (smallest[0] + smallest[1])
    return HALF * norm2 / margin**2 if margin > 0 else None


def _stretches(exact: Posed, scores: list[fmpq], offsets: list[fmpq]) -> Iterator[fmpq]:
    """Yield what takes margins that are just short of one to one, and that rounded up to float64."""
    yield ONE
    for curve, f in zip(exact.curves, exact.shifted(scores, offsets), strict=True):
        end = curve.upper if curve.lower is None else curve.lower
        if (curve.lower is None or curve.upper is None) and abs(end) == 1 and not curve.smoothing:
            short = ONE - f / end
            if 0 <= short < _ROUNDING:
                yield 1 / (1 - short)
                yield rational(nextafter(real(1 / (1 - short)), inf))


class SummedReference:
    """The reference of several binary problems: the sum of theirs."""

    is_infeasible = False
    may_be_zero = False

    def __init__(self, problem: Multiclass) -> None:
        self.problem = problem
        C = np.broadcast_to(problem.C, problem.n)
        self.parts = [
            exact_reference(sub.problem, [rational(v) for v in C[sub.rows].tolist()])
            for sub in problem.parts
        ]
        self.lower = sum((part.lower for part in self.parts), ZERO)
        self.upper = sum((part.upper for part in self.parts), ZERO)

    def point(self) -> Point:
        return join(self.problem, [part.point() for part in self.parts])

    def size_at_zero(self) -> fmpq:
        return sum((part.size_at_zero() for part in self.parts), ZERO)

    def unresolved(self) -> fmpq:
        return sum((part.unresolved() for part in self.parts), ZERO)

    def values(self, c: Certificate, answer: Point) -> Values:
        parts = zip(self.parts, c.parts, split(self.problem, answer), strict=True)
        part_values = [
            part.values(part_certificate, point) for part, part_certificate, point in parts
        ]
        columns = zip(*part_values, strict=True)
        return Values(*(None if None in column else sum(column, ZERO) for column in columns))
