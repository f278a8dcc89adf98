"""What must hold of every certificate and verdict, judged against the exact optimum of a problem."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from flint import fmpq

from problems import Certificate, Formulation, Point
from solvers import SMO, CvxoptQP, DualCoordinateDescent, Solution, Status, solve
from tests.differential.drawing import Drawn
from tests.differential.kernels import exact_rows, inner
from tests.differential.posed import ONE, ZERO, Posed, posed, rational
from tests.differential.reference import Optimum, solved

PRECISIONS = (320, 1280)  # bits of kernel values that are no rationals
NARROW = fmpq(1, 10**30)  # the reference's own relative width
TARGETS = (1e-3, 1e-6, 1e-9)
_SPARE = 1 + fmpq(1, 10**6)  # a gap is relative to a bound, not to the optimum
_ROUNDING = fmpq(11, 10**9)  # how short of a margin an answer may be to be stretched to it


@dataclass(frozen=True)
class Fault:
    """Something that does not hold.

    Attributes
    ----------
    kind : lower bound, upper bound, infeasible, solved, wrong, crash.
    """

    kind: str
    point: str
    detail: str


@dataclass
class Judged:
    """What was found about one problem.

    Attributes
    ----------
    width : relative error of the worse bound at the optimum rounded to float64, infinite without one.
    proven_width : the same of proven bounds.
    """

    drawn: Drawn
    certificates: int = 0
    faults: list[Fault] = field(default_factory=list[Fault])
    width: float = float("inf")
    proven_width: float = float("inf")


def reference(problem: Formulation) -> tuple[Posed, Optimum]:
    """Return the problem in rationals and its optimum, known to thirty digits at least."""
    for bits in PRECISIONS:
        exact = posed(problem, bits)
        found = solved(exact)
        if found is None and (exact.error == 0 or _has_opposite_twins(exact)):
            assert problem.may_be_infeasible, "every problem with finite losses has an optimum"
            return exact, Optimum(None, None, [], [])
        if found is not None and found.upper - found.lower <= NARROW * abs(found.upper):
            return exact, found
    raise ArithmeticError(f"{PRECISIONS[-1]} bits do not tell the optimum")


def _has_opposite_twins(exact: Posed) -> bool:
    pairs = ((i, j) for i in range(exact.n) for j in range(i))
    return any(
        exact.K[i] == exact.K[j]
        and (exact.curves[i].lower is None) != (exact.curves[j].lower is None)
        for i, j in pairs
    )


def judged(drawn: Drawn, seed: int) -> Judged:
    """Certify several answers to a problem and return what does not hold."""
    result, rng = Judged(drawn), np.random.default_rng([seed, drawn.number, 1])
    exact, optimum = reference(drawn.problem)
    for name, point, claim in _points(drawn.problem, optimum, rng):
        for rigorous in (False, True) if name == "optimum" or rng.random() < 0.25 else (False,):
            label = f"{name}, rigorous" if rigorous else name
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    answer = Solution(
                        drawn.problem,
                        SMO(),
                        point,
                        Status.FINISHED,
                        claim,
                        target_gap=float(rng.choice(TARGETS)),
                        rigorous=rigorous,
                    )
                    certificate, verdict = answer.certificate, answer.verdict
            except Exception as error:
                result.faults.append(Fault("crash", label, _last(error)))
                continue
            result.certificates += 1
            checks = _bounds(certificate, optimum), _verdict(answer, verdict, exact, optimum)
            found = [fault for check in checks for fault in check]
            result.faults += [Fault(kind, label, detail) for kind, detail in found]
            if name == "optimum":
                width = _width(certificate, optimum)
                if rigorous:
                    result.proven_width = width
                else:
                    result.width = width
    return result


def _last(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}"
    return f"{type(error).__name__}: {error} ({where})"


def _points(
    problem: Formulation, optimum: Optimum, rng: np.random.Generator
) -> Iterator[tuple[str, Point, str]]:
    """Yield answers, each with a name and what its solver claims."""
    n, d = problem.n, problem.d
    low, high = problem.limits
    largest = np.where(np.isfinite(high), high, 10.0 ** rng.uniform(-3, 3))
    smallest = np.where(np.isfinite(low), low, -largest)
    if not optimum.is_infeasible:
        alpha = problem.alpha(np.array([float(v) for v in optimum.beta]))
        yield "optimum", Point(alpha), "optimal"
    else:
        yield "claim of infeasibility", Point(largest), "infeasible"
    kind = int(rng.integers(5))
    if kind == 0:
        yield "zero", Point(np.zeros(n)), "optimal"
    elif kind == 1:
        share = rng.choice([0.0, 1.0, rng.random()], n)
        yield "random", Point(smallest + share * (largest - smallest)), "stopped"
    elif kind == 2:
        size = 10.0 ** rng.uniform(-6, 6)
        yield "infeasible", Point(rng.normal(size=n) * largest * size), "optimal"
    elif kind == 3:
        nudge = 1 + 10.0 ** rng.uniform(-16, -3) * rng.normal(size=n)
        if not optimum.is_infeasible:
            yield "near the optimum", Point(alpha * nudge), "optimal"
    else:
        yield from _solver_answer(problem, rng)
    if problem.is_linear and rng.random() < 0.5:
        X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
        if rng.random() < 0.6 and not optimum.is_infeasible:
            w = X.T @ np.array([float(v) for v in optimum.beta])
            yield "weights of the optimum", Point(w=w), "optimal"
            yield "alpha and weights", Point(alpha, w), "optimal"
        else:
            w = rng.normal(size=d) * 10.0 ** rng.uniform(-6, 3)
            yield "random weights", Point(w=w), "optimal"


def _solver_answer(
    problem: Formulation, rng: np.random.Generator
) -> Iterator[tuple[str, Point, str]]:
    if problem.pieces is None:
        return
    budget = int(rng.choice([1, 3, 30]))
    choices = [SMO(tol=1e-6), SMO(tol=1e-6), CvxoptQP()]
    if problem.is_linear and problem.groups is None and problem.is_bounded:
        choices.append(DualCoordinateDescent(tol=1e-6))
    solver = choices[int(rng.integers(len(choices)))]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer = solve(problem, solver, max_iter=budget)
    except Exception:
        return
    if answer.point.alpha is not None or answer.point.w is not None:
        yield f"{solver.name} after {budget}", answer.point, answer.claimed


def _bounds(c: Certificate, optimum: Optimum) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the bounds and with what is said to be infeasible."""
    lower, upper = c.dual_objective, c.primal_objective
    if optimum.is_infeasible:
        if np.isfinite(upper):
            yield "upper bound", f"{upper!r}, but no point is feasible"
        return
    if c.infeasible:
        yield "infeasible", f"the optimum is {float(optimum.upper)!r}"
        return
    if lower == np.inf or (np.isfinite(lower) and rational(lower) > optimum.upper):
        yield "lower bound", _excess(lower, optimum)
    if upper == -np.inf or (np.isfinite(upper) and rational(upper) < optimum.lower):
        yield "upper bound", _excess(upper, optimum)


def _excess(bound: float, optimum: Optimum) -> str:
    if not np.isfinite(bound):
        return f"{bound} for an optimum of {float(optimum.upper)!r}"
    off = rational(bound) - optimum.upper
    relative = float(off / abs(optimum.upper)) if optimum.upper else float(off)
    return f"{bound!r} for an optimum of {float(optimum.upper)!r}: off by {relative:+.1e}"


def _width(c: Certificate, optimum: Optimum) -> float:
    """Return the relative error of the worse bound, infinite where one is missing."""
    bounds = c.dual_objective, c.primal_objective
    if not np.isfinite(bounds).all():
        return float("inf")
    worst = max(abs(rational(v) - optimum.upper) for v in bounds)
    unit = abs(optimum.upper) or rational(c.unit) or fmpq(1)
    return float(worst / unit)


def _verdict(
    answer: Solution, verdict: str, exact: Posed, optimum: Optimum
) -> Iterator[tuple[str, str]]:
    c = answer.certificate
    if optimum.is_infeasible:
        if verdict == "solved" or (verdict == "wrong" and answer.claimed == "infeasible"):
            yield verdict, "no point is feasible"
        return
    if verdict not in ("solved", "wrong"):
        return
    error, gap = _true_error(answer, exact, optimum)
    target = rational(answer.target_gap)
    if verdict == "solved" and error is not None and error > target * _SPARE:
        yield "solved", f"true error {float(error):.1e}, target {answer.target_gap:.0e}"
    if verdict == "wrong" and gap is not None and gap <= target:
        yield "wrong", f"true gap {float(gap):.1e}, shown {c.relative_gap:.1e}"


def _true_error(
    answer: Solution, exact: Posed, optimum: Optimum
) -> tuple[fmpq | None, fmpq | None]:
    """Return how far the certified point's primal is above the optimum, and its gap; relative.

    None where that is infinite or the point has no multipliers.
    """
    problem, c = answer.problem, answer.certificate
    if c.point.alpha is None:
        return None, None
    beta = _feasible(exact, [rational(v) for v in problem.beta(c.point.alpha).tolist()])
    offsets, scale = [rational(u) for u in c.offsets], rational(c.scale)
    points = [(scale * scale * exact.norm2(beta), [scale * f for f in exact.scores(beta)])]
    if c.point.w is not None:  # rounded, it need not be the one of the multipliers
        weights = [rational(v) for v in c.point.w.tolist()]
        points.append((inner(weights, weights), [inner(x, weights) for x in exact_rows(problem.X)]))
    primals = [_best_primal(exact, *point, offsets) for point in points]
    primal = min((v for v in primals if v is not None), default=None)
    unit = abs(optimum.upper) or _size_at_zero(exact)
    if primal is None or not unit:
        return None, None
    return (primal - optimum.upper) / unit, (primal - exact.dual(beta)) / unit


def _size_at_zero(exact: Posed) -> fmpq:
    """Return the primal objective at w = 0 and no offset: what an optimum of 0 is compared with."""
    zero = [ZERO] * exact.n
    return exact.primal(ZERO, zero, [ZERO] * len(exact.groups)) or ZERO


def _best_primal(exact: Posed, norm2: fmpq, scores: list[fmpq], offsets: list[fmpq]) -> fmpq | None:
    """Return the least primal objective over the offset that is given and those at a kink.

    What is short of a margin by rounding may be stretched to it.
    """
    best = [offsets[: len(exact.groups)] or [ZERO] * len(exact.groups)]
    for k, group in enumerate(exact.groups):
        for i in group.members:
            for end in exact.curves[i].lower, exact.curves[i].upper:
                if end is not None:
                    best.append([*best[0][:k], end - scores[i], *best[0][k + 1 :]])
    values = [
        exact.primal(s * s * norm2, [s * f for f in scores], [s * v for v in u])
        for u in best
        for s in _stretches(exact, scores, u)
    ]
    return min((v for v in values if v is not None), default=None)


def _stretches(exact: Posed, scores: list[fmpq], offsets: list[fmpq]) -> Iterator[fmpq]:
    yield ONE
    for curve, f in zip(exact.curves, exact.shifted(scores, offsets), strict=True):
        end = curve.upper if curve.lower is None else curve.lower
        if (curve.lower is None or curve.upper is None) and abs(end) == 1:
            short = ONE - f / end
            if 0 < short < _ROUNDING:
                yield 1 / (1 - short)


def _feasible(exact: Posed, beta: list[fmpq]) -> list[fmpq]:
    """Return the β that satisfies the box and the equalities exactly, next to one that nearly does."""
    limits = [curve.limits for curve in exact.curves]

    def clipped(value: fmpq, i: int) -> fmpq:
        low, high = limits[i]
        value = value if low is None else max(value, low)
        return value if high is None else min(value, high)

    beta = [clipped(v, i) for i, v in enumerate(beta)]
    for group in exact.groups:
        excess = sum((beta[i] for i in group.members), ZERO) - group.cost
        for i in sorted(group.members, key=lambda i: -abs(beta[i])):
            moved = clipped(beta[i] - excess, i)
            excess += moved - beta[i]
            beta[i] = moved
    return beta
