"""The whole regularisation path, certified: finitely many answers, one of which is good at each C.

An answer at C bounds the optimum at every C' from both sides
(`dualgap.problems.answers.parametric_bounds`), so it is good enough on an interval around C that the two
bounds determine. The next C is chosen such that its interval is likely to start at the end of the last
one; remaining holes are filled from their middles (Giesen, Jaggi & Laue 2012; Ndiaye et al. 2019). Each
solve starts at the previous answer, and kernel values are kept from one C to the next. Along C and lam
the bounds separate quadratically, so that a path takes about 1/√gap answers; along epsilon they separate
in proportion to the free αᵢ, and it takes about 1/gap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from dualgap.problems import Formulation, Gram, Point
from dualgap.problems.answers.parametric_bounds import Parameter, ParametricBounds, with_value
from dualgap.problems.dataset import Vector
from dualgap.problems.html_table import format_number, html_table
from dualgap.problems.problem import replace_fields
from dualgap.problems.validation import check_positive
from dualgap.solvers.base import Solver, Status
from dualgap.solvers.paths.interval import Ends, validate_interval
from dualgap.solvers.running.defaults import default_solvers
from dualgap.solvers.running.output import Target
from dualgap.solvers.running.solution import Solution, with_certificate
from dualgap.solvers.running.solving import solve

if TYPE_CHECKING:
    import pandas as pd

_GAP_FRACTION = 0.2  # target of each answer: takes a tenth more answers than exact ones would
_MAX_GAP_FRACTION = 0.5  # above it intervals are too short for the next answer to reach


class NoPath(Exception):
    """There is no path: an answer has no certified gap, or too large a one, or time ran out.

    Attributes
    ----------
    answer : the last answer; None if there are too many answers, or too few.
    """

    def __init__(self, message: str, answer: Solution | None = None) -> None:
        super().__init__(message)
        self.answer = answer


@dataclass(frozen=True, eq=False)
class PathSegment:
    """An answer, and the values of the parameter, from `low` to `high`, at which it is good enough."""

    solution: Solution
    along: ParametricBounds
    low: float
    high: float

    @property
    def value(self) -> float:
        """The value of the parameter that it was solved at."""
        return self.along.base_value

    @property
    def alpha(self) -> Vector:
        """Its dual variables, shape (n,)."""
        assert self.along.certificate.point.alpha is not None  # see `_make_segment`
        return self.along.certificate.point.alpha


@dataclass(frozen=True, eq=False)
class Path:
    """Answers, one of which has a relative gap of at most `gap` at each value from `low` to `high`.

    Attributes
    ----------
    parameter : "C", "lam" or "epsilon".
    segments : the answers, ordered by the values that they were solved at.
    """

    problem: Formulation
    parameter: Parameter
    low: float
    high: float
    gap: float
    segments: tuple[PathSegment, ...]

    @cached_property
    def breakpoints(self) -> Vector:
        """The ends of the answers' ranges, shape (segments + 1,).

        Answer k is used for all values from breakpoints[k] to breakpoints[k + 1].
        """
        ends = [
            0.5 * (max(right.low, left.value) + min(left.high, right.value))
            for left, right in pairwise(self.segments)
        ]
        return np.array([self.low, *ends, self.high])

    def segment(self, value: float) -> PathSegment:
        """Return the answer for a value of the parameter, with its interval."""
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{self.parameter}: must be within [{self.low:g}, {self.high:g}], where this path is "
                f"certified, got {value!r}; call solve_path with another interval"
            )
        return self.segments[bisect_right(self.breakpoints[1:-1].tolist(), value)]

    def at(self, value: float) -> Solution:
        """Return an answer at a value of the parameter, certified there.

        Its alpha gives the lower bound on the optimum, its w and b the upper bound and the decision
        function; w and b are constant on each segment.

        Raises
        ------
        ValueError
            If the value is outside the path.
        """
        chosen = self.segment(value)
        certificate = chosen.along.at(value)
        answer = replace(
            chosen.solution,
            problem=with_value(self.problem, self.parameter, value),
            point=certificate.point,
            target=Target(self.gap),
        )
        return with_certificate(answer, certificate)

    @property
    def time_solve(self) -> float:
        """Total seconds of solving of all answers."""
        return _total_seconds(self.segments)

    def table(self) -> pd.DataFrame:
        """Return one row per answer: its value of the parameter, its range, and its bounds."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        rows = [
            {
                self.parameter: segment.value,
                "from": low,
                "to": high,
                "dual_objective": segment.along.certificate.dual_objective,
                "primal_objective": segment.along.certificate.primal_objective,
                "relative_gap": segment.along.certificate.relative_gap,
                "worst_gap": max(segment.along.relative_gap(end) for end in (low, high)),
                "n_support": np.count_nonzero(segment.alpha),
                "iterations": segment.solution.iterations,
                "time_solve": segment.solution.time_solve,
            }
            for segment, (low, high) in zip(self.segments, pairwise(self.breakpoints), strict=True)
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        support = [np.count_nonzero(segment.alpha) for segment in self.segments]
        rows = {
            self.parameter: f"{self.low:g} to {self.high:g}",
            "answers": f"{len(self.segments)}, one for every value",
            "relative gap ≤": f"{self.gap:g} everywhere, certified",
            "support vectors": f"{min(support)} to {max(support)}",
            "seconds": format_number(self.time_solve, ".3g"),
            "solver": self.segments[0].solution.solver.name,
        }
        return html_table(f"Path of {type(self.problem).__name__}", rows.items())

    def __repr__(self) -> str:
        return (
            f"Path({self.parameter} from {self.low:g} to {self.high:g} within a relative gap of "
            f"{self.gap:g}: {len(self.segments)} answers in {self.time_solve:.3g} s)"
        )


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
    """Return answers, one of which has a certified relative gap of at most `gap` at each C of a range.

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
    parameter, low, high = validate_interval(problem, intervals, gap)
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    largest = with_value(problem, parameter, high)
    solvers = [solver] if solver else default_solvers(largest, _GAP_FRACTION * gap, from_start=True)
    values, shared = gram or Gram(problem.X, problem.kernel, keep=True), problem
    if values.X is problem.X:  # certificates must not depend on the values of other samples
        shared = replace_fields(problem, samples=problem.samples.derived(problem.X, values))
    segments: list[PathSegment] = []
    while (value := _next_value(segments, low, high, parameter != "epsilon")) is not None:
        time_left = None if time_limit is None else time_limit - _total_seconds(segments)
        if time_left is not None and time_left <= 0:
            last = segments[-1]
            raise NoPath(
                f"the time limit of {time_limit:g} s ended with {len(segments)} answers, up to "
                f"{parameter} = {last.high:.6g}",
                replace(last.solution, status=Status.TIME_LIMIT),
            )
        index = sum(segment.value < value for segment in segments)
        answer = solve(
            with_value(shared, parameter, value),
            solvers,
            initial=_starting_point(segments[max(0, index - 1)], value) if segments else None,
            gram=values,
            target_gap=_GAP_FRACTION * gap,
            time_limit=time_left,
        )
        segments.insert(index, _make_segment(answer, parameter, value, (low, high), gap))
    if gram is None:
        values.forget()
    return Path(problem, parameter, low, high, gap, tuple(segments))


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
    ordered = sorted(answers, key=itemgetter(0))
    segments = [
        _make_segment(answer, parameter, value, (low, high), gap) for value, answer in ordered
    ]
    lows, highs = [segment.low for segment in segments], [segment.high for segment in segments]
    if any(end < start for end, start in zip([low, *highs], [*lows, high], strict=True)):
        raise NoPath(f"the answers do not cover {parameter} from {low:g} to {high:g}")
    return Path(problem, parameter, low, high, gap, tuple(segments))


def _starting_point(last: PathSegment, value: float) -> Vector | Solution:
    """Return the starting point t·α, with t from 1 to C/C' such that the dual objective is largest.

    tΣ(linear part) − ½t²‖w‖² is largest at t = 1 + (C·losses)/‖w‖²: an optimum without losses stays, and
    most others grow with the box. Linear problems are not scaled, as that would change w more.
    """
    along, norm2 = last.along, float(np.mean(last.along.certificate.norm2))
    s = along.scale(value)
    if along.problem.samples.is_linear or s <= 1.0 or norm2 == 0.0:
        return last.solution
    linear = along.certificate.dual_objective + 0.5 * norm2
    return min(max(1.0, linear / norm2), s) * last.alpha


def _total_seconds(segments: Iterable[PathSegment]) -> float:
    return sum(segment.solution.time_solve for segment in segments)


def _make_segment(
    answer: Solution, parameter: Parameter, value: float, ends: tuple[float, float], gap: float
) -> PathSegment:
    """Return the segment of an answer, clipped to `ends`; raise NoPath if its gap is too wide."""
    where = f"{answer.solver.name} at {parameter} = {value:g}"
    alpha = answer.point.alpha
    if alpha is None:  # recovered from the weights
        alpha = answer.certificate.point.alpha
    if alpha is None:
        raise NoPath(f"{where} gave no answer: {answer.reason or answer.status}", answer)
    answer = replace(answer, point=Point(alpha=alpha, b=answer.point.b))
    gap_reached = answer.certificate.relative_gap
    if not gap_reached <= _MAX_GAP_FRACTION * gap:
        why = answer.certificate.reason or answer.reason or "use another solver, or a larger gap"
        raise NoPath(
            f"{where} reached a certified relative gap of {gap_reached:.2g}, but a path within {gap:g} "
            f"needs {_MAX_GAP_FRACTION * gap:g} at the values solved: {why}",
            answer,
        )
    along = ParametricBounds(answer.problem, parameter, value, answer.certificate)
    # a little below the gap, as rounding may exceed it
    low, high = (along.reach(end, (1 - 2.0**-30) * gap) for end in ends)
    return PathSegment(answer, along, low, high)


def _next_value(
    segments: list[PathSegment], low: float, high: float, logarithmic: bool
) -> float | None:
    """Return a value that no answer covers yet, preferably in a hole; None if there is none."""
    if not segments:
        return low
    hole = next((h for h in pairwise(segments) if h[0].high < h[1].low), None)
    last = segments[-1]
    if hole is None and last.high >= high:
        return None
    if len(segments) == 2000:  # each takes a few milliseconds
        raise NoPath(
            f"{len(segments)} answers only reach to {last.along.parameter} = {last.high:.6g}: the "
            "optimum approaches 0, or the gap is very small; shorten the interval, or allow a larger gap"
        )
    if hole is not None:
        return 0.5 * (hole[0].high + hole[1].low)
    # the next answer should reach nine tenths as far as the last one
    if logarithmic:
        return min(high, last.high * (last.high / last.value) ** 0.9)
    return min(high, last.high + 0.9 * (last.high - last.value))
