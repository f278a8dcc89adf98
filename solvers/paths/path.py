"""The whole regularisation path, certified: finitely many answers of which one is good at each C.

An answer found at C bounds the optimum at every C' from both sides
(`dualgap.problems.answers.parametric_bounds`), so it is good enough on an interval around C that follows
from its two bounds. The next C is taken where its own interval is likely to begin at the end of the one
before; a hole that stays is filled from its middle (Giesen, Jaggi & Laue 2012; Ndiaye et al. 2019). Each
answer begins at the last one, and kernel values are kept from one C to the next. Along C and lam the
bounds part as a square, so that a path takes about 1/√gap answers; along epsilon they part in proportion
to the free αᵢ, and it takes about 1/gap.
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
from dualgap.problems.answers.parametric_bounds import Along, Parameter, with_value
from dualgap.problems.dataset import Vector
from dualgap.problems.html_table import html_table, shown
from dualgap.problems.validation import check_positive
from dualgap.solvers.base import Solver, Status
from dualgap.solvers.paths.interval import Ends, interval_of
from dualgap.solvers.running.defaults import default_solvers
from dualgap.solvers.running.loop import solve
from dualgap.solvers.running.solution import Solution

if TYPE_CHECKING:
    import pandas as pd

_SHARE = 0.2  # of the gap, that each answer may have: a tenth more answers than exact ones would be
_MOST = 0.5  # of the gap; with more an interval is too short for the next answer to meet it
_AHEAD = 0.9  # of the last interval's half, expected of the next one
_MOST_PIECES = 2000  # each of some milliseconds
_INWARD = 1 - 2.0**-30  # of the gap, where an interval ends: rounding may not take its points out


class NoPath(Exception):
    """There is no path: some answer has no certified gap, or too large a one, or the time is over.

    Attributes
    ----------
    answer : the one at which it ended; None if there are too many answers, or too few.
    """

    def __init__(self, message: str, answer: Solution | None = None) -> None:
        super().__init__(message)
        self.answer = answer


@dataclass(frozen=True, eq=False)
class Piece:
    """An answer, and the values of the parameter from `low` to `high` at which it is good enough."""

    solution: Solution
    along: Along
    low: float
    high: float

    @property
    def value(self) -> float:
        """The value of the parameter at which it was found."""
        return self.along.own

    @property
    def alpha(self) -> Vector:
        """Its dual variables, shape (n,)."""
        assert self.along.certificate.point.alpha is not None  # see `_piece`
        return self.along.certificate.point.alpha


@dataclass(frozen=True, eq=False)
class Path:
    """Answers of which one has a relative gap of at most `gap` at every value from `low` to `high`.

    Attributes
    ----------
    parameter : "C", "lam" or "epsilon".
    pieces : the answers, in the order of the values at which they were found.
    """

    problem: Formulation
    parameter: Parameter
    low: float
    high: float
    gap: float
    pieces: tuple[Piece, ...]

    @cached_property
    def breakpoints(self) -> Vector:
        """Where one answer takes over from the last, both ends included, shape (pieces + 1,).

        Answer k stands for all values from breakpoints[k] to breakpoints[k + 1].
        """
        ends = [
            0.5 * (max(right.low, left.value) + min(left.high, right.value))
            for left, right in pairwise(self.pieces)
        ]
        return np.array([self.low, *ends, self.high])

    def piece(self, value: float) -> Piece:
        """Return the answer that stands for a value of the parameter, with its interval."""
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{self.parameter}: must be within [{self.low:g}, {self.high:g}], where this path is "
                f"certified, got {value!r}; solve_path takes another interval"
            )
        return self.pieces[bisect_right(self.breakpoints[1:-1].tolist(), value)]

    def at(self, value: float) -> Solution:
        """Return an answer at a value of the parameter, certified there.

        Its alpha bounds the optimum from below, its w and b from above; the decision function is that
        of w and b, which are one piece's throughout.

        Raises
        ------
        ValueError
            If the value is outside the path.
        """
        found = self.piece(value)
        certificate = found.along.at(value)
        return replace(
            found.solution,
            problem=with_value(self.problem, self.parameter, value),
            point=certificate.point,
            target_gap=self.gap,
            known=certificate,
        )

    @property
    def time_solve(self) -> float:
        """Seconds that the answers took to find together."""
        return _seconds(self.pieces)

    def table(self) -> pd.DataFrame:
        """Return a row for each answer: where it was found, where it stands, and its bounds."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        rows = [
            {
                self.parameter: piece.value,
                "from": low,
                "to": high,
                "dual_objective": piece.along.certificate.dual_objective,
                "primal_objective": piece.along.certificate.primal_objective,
                "relative_gap": piece.along.certificate.relative_gap,
                "worst_gap": max(piece.along.relative_gap(end) for end in (low, high)),
                "n_support": np.count_nonzero(piece.solution.alpha),  # type: ignore[arg-type]
                "iterations": piece.solution.iterations,
                "time_solve": piece.solution.time_solve,
            }
            for piece, (low, high) in zip(self.pieces, pairwise(self.breakpoints), strict=True)
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        support = [np.count_nonzero(piece.alpha) for piece in self.pieces]
        rows = {
            self.parameter: f"{self.low:g} to {self.high:g}",
            "answers": f"{len(self.pieces)}, of which one stands at every value",
            "relative gap ≤": f"{self.gap:g} everywhere, certified",
            "support vectors": f"{min(support)} to {max(support)}",
            "seconds": shown(self.time_solve, ".3g"),
            "solver": self.pieces[0].solution.solver.name,
        }
        return html_table(f"Path of {type(self.problem).__name__}", rows.items())

    def __repr__(self) -> str:
        return (
            f"Path({self.parameter} from {self.low:g} to {self.high:g} within a relative gap of "
            f"{self.gap:g}: {len(self.pieces)} answers in {self.time_solve:.3g} s)"
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
    """Return answers of which one has a certified relative gap of at most `gap` at every C of a range.

    Parameters
    ----------
    problem : a soft margin, a regression or a risk; its own C, lam or epsilon does not matter. Of
        weights for each sample C is the largest, the others stay in proportion.
    C, lam, epsilon : the interval (low, high) of the one parameter to follow: lam of a risk, epsilon
        of a support vector regression, C of any formulation that has one.
    gap : largest relative gap at any value, below 1.
    solver : any solver for the problem; None takes the default. It has to reach half of `gap`.
    time_limit : seconds of solving, of all answers together.
    gram : the samples' Gram matrix, for several paths on the same samples, as `solve` takes it.

    Raises
    ------
    ValueError
        If an argument is not usable, or the problem has no such path.
    NoPath
        If the solver's answer is not good enough somewhere, or has no bounds, or the time is over.
    """
    given: dict[Parameter, Ends | None] = {"C": C, "lam": lam, "epsilon": epsilon}
    parameter, low, high = interval_of(problem, given, gap)
    if time_limit is not None:
        check_positive(time_limit, "time_limit")
    largest = with_value(problem, parameter, high)
    solvers = [solver] if solver else default_solvers(largest, _SHARE * gap, from_start=True)
    gram = gram or Gram(problem.X, problem.kernel, keep=True)
    pieces: list[Piece] = []
    while (value := _next_value(pieces, low, high, parameter != "epsilon")) is not None:
        left = None if time_limit is None else time_limit - _seconds(pieces)
        if left is not None and left <= 0:
            last = pieces[-1]
            raise NoPath(
                f"the time limit of {time_limit:g} s ended with {len(pieces)} answers, which reach to "
                f"{parameter} = {last.high:.6g}",
                replace(last.solution, status=Status.TIME_LIMIT),
            )
        place = sum(piece.value < value for piece in pieces)
        answer = solve(
            with_value(problem, parameter, value),
            solvers,
            initial=_start(pieces[max(0, place - 1)], value) if pieces else None,
            gram=gram,
            target_gap=_SHARE * gap,
            time_limit=left,
        )
        pieces.insert(place, _piece(answer, parameter, value, (low, high), gap))
    return Path(problem, parameter, low, high, gap, tuple(pieces))


def path_of(
    problem: Formulation,
    interval: tuple[Parameter, float, float],
    gap: float,
    answers: Iterable[tuple[float, Solution]],
) -> Path:
    """Return the path that answers at given values make up, certified from their points alone.

    Raises
    ------
    NoPath
        If an answer is not good enough, or a value in the interval has none.
    """
    parameter, low, high = interval
    ordered = sorted(answers, key=itemgetter(0))
    pieces = [_piece(found, parameter, value, (low, high), gap) for value, found in ordered]
    lows, highs = [piece.low for piece in pieces], [piece.high for piece in pieces]
    if any(end < begin for end, begin in zip([low, *highs], [*lows, high], strict=True)):
        raise NoPath(f"the answers do not cover {parameter} from {low:g} to {high:g}")
    return Path(problem, parameter, low, high, gap, tuple(pieces))


def _start(last: Piece, value: float) -> Vector | Solution:
    """Return where the next answer begins: at t·α, t from 1 to C/C' where the dual objective is largest.

    tΣ(linear part) − ½t²‖w‖² is where t = 1 + (C·losses)/‖w‖²: an optimum without losses stays, and
    most that have some grow with the box. Linear solvers go by w, which changes less without that.
    """
    along, norm2 = last.along, float(np.mean(last.along.certificate.norm2))
    s = along.scale(value)
    if along.problem.is_linear or s <= 1.0 or norm2 == 0.0:
        return last.solution
    linear = along.certificate.dual_objective + 0.5 * norm2
    return min(max(1.0, linear / norm2), s) * last.alpha


def _seconds(pieces: Iterable[Piece]) -> float:
    return sum(piece.solution.time_solve for piece in pieces)


def _piece(
    answer: Solution, parameter: Parameter, value: float, ends: tuple[float, float], gap: float
) -> Piece:
    """Return an answer with its interval within `ends`; NoPath if it is not good enough."""
    place = f"{answer.solver.name} at {parameter} = {value:g}"
    alpha = answer.point.alpha
    if alpha is None:  # that of weights alone is recovered
        alpha = answer.certificate.point.alpha
    if alpha is None:
        raise NoPath(f"{place} gave no answer: {answer.reason or answer.status}", answer)
    answer = replace(answer, point=Point(alpha=alpha, b=answer.point.b))
    reached = answer.certificate.relative_gap
    if not reached <= _MOST * gap:
        why = answer.certificate.reason or answer.reason or "use another solver, or a larger gap"
        raise NoPath(
            f"{place} reached a certified relative gap of {reached:.2g}, and a path within {gap:g} "
            f"needs {_MOST * gap:g} at its own points: {why}",
            answer,
        )
    along = Along(answer.problem, parameter, value, answer.certificate)
    low, high = (along.reach(end, _INWARD * gap) for end in ends)
    return Piece(answer, along, low, high)


def _next_value(pieces: list[Piece], low: float, high: float, logarithmic: bool) -> float | None:
    """Return where an answer is missing, None if each value is in the interval of one next to it."""
    if not pieces:
        return low
    hole = next((h for h in pairwise(pieces) if h[0].high < h[1].low), None)
    last = pieces[-1]
    if hole is None and last.high >= high:
        return None
    if len(pieces) == _MOST_PIECES:
        raise NoPath(
            f"{_MOST_PIECES} answers only reach to {last.along.parameter} = {last.high:.6g}: the "
            "optimum nears 0, or the gap is very small; end the interval there, or allow a larger gap"
        )
    if hole is not None:
        return 0.5 * (hole[0].high + hole[1].low)
    if logarithmic:
        return min(high, last.high * (last.high / last.value) ** _AHEAD)
    return min(high, last.high + _AHEAD * (last.high - last.value))
