"""The whole regularisation path, certified: finitely many answers, and convex combinations of two.

Between the answers at C₁ and C₂ their convex combinations are answers too, and the certificates of the
two bound the gaps of these (`dualgap.problems.answers.interpolation`). The next C is as far away as
should make the largest gap in between nine tenths of what is allowed; where it turns out too large,
answers in between are computed. Each solve starts at an answer nearby, and kernel values are kept from
one C to the next. As the path of optima is piecewise linear, a tenth of the gap takes about twice the
answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, exp, log
from operator import itemgetter

from dualgap.problems import Formulation, Gram, Point
from dualgap.problems.answers.interpolation import (
    Interpolation,
    Parameter,
    primal_excess,
    with_value,
)
from dualgap.problems.dataset import Vector
from dualgap.problems.problem import replace_fields
from dualgap.solvers.base import Solver, Status
from dualgap.solvers.paths.interval import Ends, validate_interval
from dualgap.solvers.paths.path import NoPath, Path, PathAnswer
from dualgap.solvers.running.defaults import default_solvers
from dualgap.solvers.running.solution import Solution
from dualgap.solvers.running.solving import solve

_GAP_FRACTION = 0.2  # target of each answer; a quarter of it takes as many answers
_MAX_GAP_FRACTION = 0.5  # above it answers are too close together


def solve_path(
    problem: Formulation,
    C: Ends | None = None,
    gap: float = 1e-3,
    solver: Solver | None = None,
    *,
    lam: Ends | None = None,
    epsilon: Ends | None = None,
    time_limit: float | None = None,
    gram: Gram | None = None,
) -> Path:
    """Return an answer with a certified relative gap of at most `gap` at each C of a range.

    Parameters
    ----------
    problem : a soft margin, a regression or a risk; its own C, lam or epsilon does not matter. If
        samples have different weights, C is the largest, and the others stay in proportion.
    C, lam, epsilon : the interval (low, high) of the one parameter to follow: lam of a risk, epsilon
        of a support vector regression, C of any formulation that has it.
    gap : largest relative gap at any value, below 1.
    solver : any solver for the problem, which has to reach half of `gap`; None means the default.
    time_limit : total seconds of solving.
    gram : Gram matrix to share among paths on the same samples, as for `solve`.

    Raises
    ------
    ValueError
        If an argument is invalid, or the problem has no such path.
    NoPath
        If an answer is not good enough or has no bounds, or time ran out.
    """
    intervals: dict[Parameter, Ends | None] = {"C": C, "lam": lam, "epsilon": epsilon}
    parameter, low, high = validate_interval(problem, intervals, gap, time_limit)
    largest = with_value(problem, parameter, high)
    solvers = [solver] if solver else default_solvers(largest, _GAP_FRACTION * gap)
    values, shared = gram or Gram(problem.X, problem.kernel, keep=True), problem
    if values.X is problem.X:  # certificates must not depend on the values of other samples
        shared = replace_fields(problem, samples=problem.samples.derived(problem.X, values))
    search = _Search(shared, parameter, gap, solvers, values, time_limit)
    answers, segments = search.between(low, high)
    if gram is None:
        values.forget()
    return Path(problem, parameter, gap, tuple(answers), tuple(segments))


def assemble_path(
    problem: Formulation,
    interval: tuple[Parameter, float, float],
    gap: float,
    answers: Iterable[tuple[float, Solution]],
) -> Path:
    """Assemble a path from answers at given values, certified from their points alone.

    Raises
    ------
    NoPath
        If an answer is not good enough, or the answers do not cover the interval.
    """
    parameter, low, high = interval
    ordered = [
        _path_answer(answer, parameter, value, gap)
        for value, answer in sorted(answers, key=itemgetter(0))
    ]
    segments = [_segment(problem, parameter, *pair) for pair in pairwise(ordered)]
    ends = ordered[0].value, ordered[-1].value
    if ends != (low, high) or not all(_is_within(segment, gap) for segment in segments):
        raise NoPath(f"the answers do not cover {parameter} from {low:g} to {high:g}")
    return Path(problem, parameter, gap, tuple(ordered), tuple(segments))


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for answers between which all gaps are at most `gap`, see `solve_path`."""

    problem: Formulation
    parameter: Parameter
    gap: float
    solvers: Sequence[Solver]
    gram: Gram
    time_limit: float | None

    def between(self, low: float, high: float) -> tuple[list[PathAnswer], list[Interpolation]]:
        """Return answers from `low` to `high`, and the segments between each two of them."""
        # lengths are those of logarithms, except along epsilon, which may be 0
        position, value_at = (float, float) if self.parameter == "epsilon" else (log, exp)
        end, total = position(high), position(high) - position(low)
        answers, segments = [self.solve(low, None, [])], list[Interpolation]()
        step = total * self.gap**0.5
        while answers[len(segments)].value < high:
            last = answers[len(segments)]
            start = position(last.value)
            if last is answers[-1]:
                steps = max(1, ceil((end - start) / step))
                value = high if steps == 1 else value_at(start + (end - start) / steps)
                answers.append(self.solve(value, last.solution, answers))
            following = answers[len(segments) + 1]
            segment = _segment(self.problem, self.parameter, last, following)
            length = position(following.value) - start
            step = length * _longer(segment, self.gap)
            if _is_within(segment, self.gap):
                segments.append(segment)
                continue
            # each answer takes milliseconds; float64 hardly resolves a shorter segment
            if len(answers) == 2000 or length < 1e-12 * total:
                raise NoPath(
                    f"{len(answers)} answers only reach to {self.parameter} = {last.value:.6g}: the "
                    "optimum approaches 0, or the gap is very small; shorten the interval, or allow a "
                    "larger gap"
                )
            value = value_at(start + length / max(2, ceil(length / step)))
            answers.insert(len(segments) + 1, self.solve(value, segment.alpha(value), answers))
        return answers, segments

    def solve(
        self, value: float, start: Vector | Solution | None, answers: Sequence[PathAnswer]
    ) -> PathAnswer:
        """Return the answer at a value, from a starting point, after the answers so far."""
        time_left = None
        if self.time_limit is not None:
            time_left = self.time_limit - sum(a.solution.time_solve for a in answers)
            if time_left <= 0:
                raise NoPath(
                    f"the time limit of {self.time_limit:g} s ended with {len(answers)} answers",
                    replace(answers[-1].solution, status=Status.TIME_LIMIT),
                )
        answer = solve(
            with_value(self.problem, self.parameter, value),
            self.solvers,
            initial=start,
            gram=self.gram,
            target_gap=_GAP_FRACTION * self.gap,
            time_limit=time_left,
        )
        return _path_answer(answer, self.parameter, value, self.gap)


def _segment(
    problem: Formulation, parameter: Parameter, first: PathAnswer, second: PathAnswer
) -> Interpolation:
    """Return the answers between two."""
    values, certificates = (first.value, second.value), (first.certificate, second.certificate)
    return Interpolation(problem, parameter, values, certificates)


def _is_within(segment: Interpolation, gap: float) -> bool:
    """Whether all answers of a segment have a relative gap of at most `gap`."""
    # a little below, as rounding may exceed it
    return bool(segment.relative_gaps.max() <= (1 - 2.0**-30) * gap)


def _longer(segment: Interpolation, gap: float) -> float:
    """Return how many times as long a segment should be for a largest gap of nine tenths of `gap`.

    Between optima the gap grows as the fourth power of the length of a segment; with the gaps of the
    answers themselves, as the third.
    """
    at_ends = max(certificate.relative_gap for certificate in segment.certificates)
    growth = float(segment.relative_gaps.max()) - at_ends
    if growth <= 0:
        return 4.0
    return min(4.0, max(0.125, ((0.9 * gap - at_ends) / growth) ** (1 / 3)))


def _path_answer(answer: Solution, parameter: Parameter, value: float, gap: float) -> PathAnswer:
    """Return the answer with a certificate from its α alone; raise NoPath if its gap is too wide."""
    where = f"{answer.solver.name} at {parameter} = {value:g}"
    alpha = answer.point.alpha
    if alpha is None:  # recovered from the weights
        alpha = answer.certificate.point.alpha
    if alpha is None:
        raise NoPath(f"{where} gave no answer: {answer.reason or answer.status}", answer)
    answer = replace(answer, point=Point(alpha=alpha, b=answer.point.b))
    certificate = answer.certificate
    # combinations are of w, where a certificate may be of s·w
    if primal_excess(answer.problem, certificate) > 0.01 * gap * certificate.primal_objective:
        alpha = certificate.scale * certificate.point.alpha
        stretched = replace(answer, point=Point(alpha=alpha, b=answer.point.b))
        if stretched.certificate.relative_gap <= _GAP_FRACTION * gap:
            answer = stretched
    gap_reached = answer.certificate.relative_gap
    if not gap_reached <= _MAX_GAP_FRACTION * gap:
        why = answer.certificate.reason or answer.reason or "use another solver, or a larger gap"
        raise NoPath(
            f"{where} reached a certified relative gap of {gap_reached:.2g}, but a path within {gap:g} "
            f"needs {_MAX_GAP_FRACTION * gap:g} at the values solved: {why}",
            answer,
        )
    return PathAnswer(value, answer)
