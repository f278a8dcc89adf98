"""A certified path: answers at some values of C, lam or epsilon, and their combinations in between."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dualgap.problems import Certificate, Formulation, Point
from dualgap.problems.answers.interpolation import Interpolation, Parameter, with_value
from dualgap.problems.dataset import Vector
from dualgap.problems.html_table import format_number, html_table
from dualgap.solvers.running.output import Target
from dualgap.solvers.running.solution import Solution

if TYPE_CHECKING:
    import pandas as pd


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
class PathAnswer:
    """An answer that was computed, at a `value` of the parameter."""

    value: float
    solution: Solution

    @property
    def certificate(self) -> Certificate:
        """Its certificate, from α alone."""
        return self.solution.certificate

    @property
    def alpha(self) -> Vector:
        """Its dual variables, shape (n,)."""
        return self.certificate.point.alpha


@dataclass(frozen=True, eq=False)
class Path:
    """An answer with a relative gap of at most `gap` at each value of a parameter from `low` to `high`.

    Attributes
    ----------
    parameter : "C", "lam" or "epsilon".
    answers : those that were computed, in the order of their values; the first is at `low`, the last at
        `high`.
    segments : the answers between each two of them, with their bounds.
    """

    problem: Formulation
    parameter: Parameter
    gap: float
    answers: tuple[PathAnswer, ...]
    segments: tuple[Interpolation, ...]

    @property
    def low(self) -> float:
        """The smallest value of the parameter."""
        return self.answers[0].value

    @property
    def high(self) -> float:
        """The largest value of the parameter."""
        return self.answers[-1].value

    @cached_property
    def breakpoints(self) -> Vector:
        """The ends of the ranges of values to which each answer is nearest, shape (answers + 1,)."""
        return np.array([self.low, *(segment.middle for segment in self.segments), self.high])

    def segment_number(self, value: float) -> int:
        """Return the position of the segment that a value of the parameter is in."""
        inner = [answer.value for answer in self.answers[1:-1]]
        return bisect_right(inner, value)

    def at(self, value: float) -> Solution:
        """Return the answer at a value of the parameter: the combination of the two next to it.

        Its certificate is computed from its α; its iterations and times are those of the nearer answer.

        Raises
        ------
        ValueError
            If the value is outside the path.
        """
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{self.parameter}: must be within [{self.low:g}, {self.high:g}], where this path is "
                f"certified, got {value!r}; call solve_path with another interval"
            )
        number = self.segment_number(value)
        segment = self.segments[number]
        nearer = self.answers[number + (segment.fraction(value) > 0.5)]
        return replace(
            nearer.solution,
            problem=with_value(self.problem, self.parameter, value),
            point=Point(alpha=segment.alpha(value)),
            target=Target(self.gap),
        )

    @property
    def time_solve(self) -> float:
        """Total seconds of solving of all answers."""
        return sum(answer.solution.time_solve for answer in self.answers)

    def table(self) -> pd.DataFrame:
        """Return one row per answer: its value, the values that it is nearest to, and its bounds."""
        import pandas as pd  # noqa: PLC0415 - slow to import

        gaps = [np.split(segment.relative_gaps, 2) for segment in self.segments]
        # the gaps between an answer and the middle of the segment before and after it
        before = [0.0, *(float(after_middle.max()) for _, after_middle in gaps)]
        after = [*(float(to_middle.max()) for to_middle, _ in gaps), 0.0]
        rows = [
            {
                self.parameter: answer.value,
                "from": low,
                "to": high,
                "dual_objective": answer.certificate.dual_objective,
                "primal_objective": answer.certificate.primal_objective,
                "relative_gap": answer.certificate.relative_gap,
                "worst_gap": max(worst),
                "n_support": np.count_nonzero(answer.alpha),
                "iterations": answer.solution.iterations,
                "time_solve": answer.solution.time_solve,
            }
            for answer, (low, high), worst in zip(
                self.answers,
                pairwise(self.breakpoints),
                zip(before, after, strict=True),
                strict=True,
            )
        ]
        return pd.DataFrame(rows)

    def _repr_html_(self) -> str:
        support = [np.count_nonzero(answer.alpha) for answer in self.answers]
        rows = {
            self.parameter: f"{self.low:g} to {self.high:g}",
            "answers": f"{len(self.answers)}, and combinations of two at every other value",
            "relative gap ≤": f"{self.gap:g} everywhere, certified",
            "support vectors": f"{min(support)} to {max(support)}",
            "seconds": format_number(self.time_solve, ".3g"),
            "solver": self.answers[0].solution.solver.name,
        }
        return html_table(f"Path of {type(self.problem).__name__}", rows.items())

    def __repr__(self) -> str:
        return (
            f"Path({self.parameter} from {self.low:g} to {self.high:g} within a relative gap of "
            f"{self.gap:g}: {len(self.answers)} answers in {self.time_solve:.3g} s)"
        )
