"""What must hold of every certificate and verdict, judged against the exact optimum of a problem."""

import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np
from flint import fmpq
from tests.differential.drawing import Drawn
from tests.differential.posed import ZERO, rational, real
from tests.differential.reference import Reference, exact_reference

from dualgap.problems import Certificate, ChainMargin, Formulation, Multiclass, Point, SoftmaxERM
from dualgap.problems.answers.geometry import coefficients, upper_limits
from dualgap.problems.forms import Claim
from dualgap.solvers import (
    LBFGS,
    SMO,
    CuttingPlane,
    CvxoptQP,
    DualCoordinateDescent,
    Solution,
    Status,
    Target,
    solve,
)
from dualgap.solvers.base import Solver

TARGETS = (1e-3, 1e-6, 1e-9)
_SPARE = 1 + fmpq(1, 10**6)  # a gap is relative to a bound, not to the optimum
_PROVEN = 0.3  # of the answers other than the optimum, how many are certified in balls too


class Fault(NamedTuple):
    """Something that does not hold.

    Attributes
    ----------
    kind : lower bound, upper bound, infeasible, gap, solved, wrong, crash, no reference.
    """

    kind: str
    point: str
    detail: str


class Answer(NamedTuple):
    """A point to certify: a name, and what its solver claims."""

    name: str
    point: Point
    claim: Claim = "optimal"


class Said(NamedTuple):
    """What is said of one answer, to be compared with what other code says: bounds as hexadecimal."""

    answer: str
    claim: Claim
    verdict: str
    lower: str
    upper: str
    reason: str


@dataclass
class Judged:
    """What was found about one problem.

    Attributes
    ----------
    number, words : which one it is, and its formulation, kernel and scale.
    said : what each certificate says.
    width : relative error of the worse bound at the optimum rounded to float64, infinite without one.
    proven_width : the same of proven bounds.
    """

    number: int
    words: tuple[str, str, str]
    statements: list[Said] = field(default_factory=list[Said])
    faults: list[Fault] = field(default_factory=list[Fault])
    width: float = float("inf")
    proven_width: float = float("inf")


def certify_answers(drawn: Drawn, seed: int) -> Judged:
    """Certify several answers to a problem and return what does not hold."""
    result = Judged(drawn.number, (drawn.formulation, drawn.kernel, drawn.scale))
    rng = np.random.default_rng([seed, drawn.number, 1])
    try:
        reference = exact_reference(drawn.problem)
    except ArithmeticError as error:
        result.faults.append(Fault("no reference", "the problem", str(error)))
        return result
    for answer in _answers(drawn.problem, reference, rng):
        target = float(rng.choice(TARGETS))
        _judge(drawn.problem, answer, target, False, reference, result)
        if answer.name == "optimum" or rng.random() < _PROVEN:
            _judge(drawn.problem, answer, target, True, reference, result)
    return result


def _judge(
    problem: Formulation,
    answer: Answer,
    target: float,
    rigorous: bool,
    reference: Reference,
    result: Judged,
) -> None:
    """Certify one answer and add what does not hold."""
    name = answer.name + ", rigorous" * rigorous
    solution = Solution(
        problem,
        SMO(),
        answer.point,
        Status.FINISHED,
        answer.claim,
        target=Target(target, rigorous),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            certificate, verdict = solution.certificate, solution.verdict
    except Exception as error:
        result.faults.append(Fault("crash", name, last(error)))
        return
    bounds = (certificate.dual_objective.hex(), certificate.primal_objective.hex())
    result.statements.append(Said(name, answer.claim, verdict, *bounds, certificate.reason))
    contradictions = [
        *_of_bounds(certificate, reference),
        *_of_verdict(solution, verdict, reference),
    ]
    result.faults += [Fault(kind, name, detail) for kind, detail in contradictions]
    if answer.name == "optimum":
        width = _width(certificate, reference)
        if rigorous:
            result.proven_width = width
        else:
            result.width = width


def last(error: Exception) -> str:
    """Return an error with the place that it is from."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}"
    return f"{type(error).__name__}: {error} ({where})"


def _answers(
    problem: Formulation, reference: Reference, rng: np.random.Generator
) -> Iterator[Answer]:
    """Yield the optimum in float64, an answer that is not optimal, and perhaps one of weights."""
    size = (problem.n, problem.outputs) if problem.outputs > 1 else problem.n
    best = None if reference.is_infeasible else reference.point()
    if best is not None and not np.isfinite(best.alpha).all():
        best = None  # it is beyond float64's range
    largest = np.max(upper_limits(problem)) if _has_limits(problem) else 10.0 ** rng.uniform(-3, 3)
    if reference.is_infeasible:
        yield Answer("claim of infeasibility", Point(np.full(size, largest)), "infeasible")
    elif best is not None:
        yield Answer("optimum", best)
    if problem.may_be_infeasible and rng.random() < 0.2:
        yield Answer("nothing", Point(), "infeasible")
    kind = int(rng.integers(5))
    if kind == 0:
        yield Answer("zero", Point(np.zeros(size)))
    elif kind == 1:
        fraction = rng.choice([0.0, 1.0, rng.random()], size)
        yield Answer("random", Point(fraction * largest), "stopped")
    elif kind == 2:
        yield Answer(
            "infeasible", Point(rng.normal(size=size) * largest * 10.0 ** rng.uniform(-6, 6))
        )
    elif kind == 3 and best is not None:
        nudge = 1 + 10.0 ** rng.uniform(-16, -3) * rng.normal(size=size)
        yield Answer("near the optimum", Point(best.alpha * nudge))
    else:
        yield from _of_a_solver(problem, rng)
    if problem.samples.is_linear and rng.random() < 0.5:
        yield from _weights(problem, best, rng)


def _has_limits(problem: Formulation) -> bool:
    several = isinstance(problem, ChainMargin | Multiclass | SoftmaxERM)
    return not several and bool(np.isfinite(upper_limits(problem)).all())


def _weights(
    problem: Formulation, best: Point | None, rng: np.random.Generator
) -> Iterator[Answer]:
    """Yield the optimal weights, alone and with their multipliers, or random ones."""
    if best is None or rng.random() < 0.4:
        w = rng.normal(size=prod(problem.weights_shape)) * 10.0 ** rng.uniform(-6, 3)
        w = w if isinstance(problem, ChainMargin) else w.reshape(problem.d, -1)
        yield Answer("random weights", Point(w=w))
        return
    w = problem.X.T @ coefficients(problem, best.alpha) if best.w is None else best.w
    yield Answer("weights of the optimum", Point(w=w))
    yield Answer("alpha and weights", Point(best.alpha, w))


def _of_a_solver(problem: Formulation, rng: np.random.Generator) -> Iterator[Answer]:
    """Yield what a solver has after few iterations, or at its end."""
    solver: Solver = SMO(tol=1e-6)
    if isinstance(problem, ChainMargin):
        solver = CuttingPlane()
    elif not isinstance(problem, Multiclass) and problem.risk.terms is None:
        solver = LBFGS()
    elif rng.random() < 0.3:
        solver = CvxoptQP()
    elif problem.samples.is_linear and rng.random() < 0.3:
        solver = DualCoordinateDescent(tol=1e-6)
    budget = int(rng.choice([1, 3, 30]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = solve(problem, solver, max_iter=budget)
    except Exception:  # what solvers cannot do is tested elsewhere
        return
    if solution.point.alpha is not None or solution.point.w is not None:
        yield Answer(f"{solver.name} after {budget}", solution.point, solution.claimed)


def _of_bounds(c: Certificate, reference: Reference) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the bounds and with what is said to be infeasible."""
    lower, upper = c.dual_objective, c.primal_objective
    if reference.is_infeasible:
        if np.isfinite(upper):
            yield "upper bound", f"{upper!r}, but no point is feasible"
        return
    if c.infeasible:
        yield "infeasible", f"the optimum is {real(reference.upper)!r}"
        return
    if lower == np.inf or (np.isfinite(lower) and rational(lower) > reference.upper):
        yield "lower bound", _excess(lower, reference)
    if upper == -np.inf or (np.isfinite(upper) and rational(upper) < reference.lower):
        yield "upper bound", _excess(upper, reference)


def _excess(bound: float, reference: Reference) -> str:
    if not np.isfinite(bound):
        return f"{bound} for an optimum of {real(reference.upper)!r}"
    off = rational(bound) - reference.upper
    relative = real(off / abs(reference.upper) if reference.upper else off)
    return f"{bound!r} for an optimum of {real(reference.upper)!r}: off by {relative:+.1e}"


def _width(c: Certificate, reference: Reference) -> float:
    """Return the relative error of the worse bound, infinite where one is missing."""
    bounds = c.dual_objective, c.primal_objective
    if not np.isfinite(bounds).all():
        return float("inf")
    worst = max(abs(rational(v) - reference.upper) for v in bounds)
    unit = abs(reference.upper) or reference.size_at_zero() or fmpq(1)
    return real(worst / unit)


def _of_verdict(
    solution: Solution, verdict: str, reference: Reference
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the gap and the verdict: too good for an answer, or too bad."""
    c, target = solution.certificate, rational(solution.target.gap)
    if reference.is_infeasible:
        if verdict == "solved" or (verdict == "wrong" and solution.claimed == "infeasible"):
            yield verdict, "no point is feasible"
        return
    primal, solver_primal, dual = reference.values(c, solution.point)
    if primal is None:
        return
    error = primal - reference.upper
    # a hard margin's point is stretched after it was certified, which rounds it
    stretched = solution.problem.may_be_infeasible
    if np.isfinite(c.gap) and error > rational(c.gap) and not stretched:
        yield "gap", f"{c.gap:.2e}, but the point is {real(error):.2e} above the optimum"
    unit = abs(reference.upper) or reference.size_at_zero()
    if reference.may_be_zero:
        size = reference.size_at_zero()
        if not c.primal_objective < -(2.0**-30) * real(size):  # as far as the answer shows
            unit = max(unit, size)
    if unit == ZERO:
        return
    relative = error / max(unit, reference.unresolved())
    if verdict == "solved" and relative > target * _SPARE:
        yield "solved", f"true error {real(relative):.1e}, target {solution.target.gap:.0e}"
    if verdict == "wrong" and solver_primal is not None and dual is not None:
        gap = (solver_primal - dual) / unit
        if gap <= target:
            yield "wrong", f"true gap {real(gap):.1e}, shown {c.relative_gap:.1e}"
