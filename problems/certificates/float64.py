"""What bounds ask of an arithmetic, in float64 numbers with radii."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import Any

import numpy as np

from problems.arithmetic import Intervals
from problems.dataset import Indices, Vector
from problems.dual_problem.dual import DualProblem


class Float64:
    """Arithmetic of float64 numbers with radii.

    Attributes
    ----------
    y, C, costs : a problem's targets, weights (1 where there is no bound) and costs of the offsets.
    worth : of the primal value, that another norm of w has to gain.
    """

    worth = 1e-12

    def __init__(self, problem: DualProblem, target_errors: Vector) -> None:
        self.y: Any = Intervals(problem.y, target_errors) if target_errors.any() else problem.y
        self.C = np.where(np.isinf(problem.weight), 1.0, problem.weight)
        self.costs = Intervals(problem.costs)

    def number(self, value: float) -> float:
        """Return a number to reckon with."""
        return value

    def array(self, values: Any) -> Intervals:
        """Return exact numbers as an array."""
        return Intervals(values)

    def coefficients(self, problem: DualProblem, alpha: Vector) -> Intervals:
        """Return β for `alpha`, within limits but for their rounding."""
        return Intervals(problem.beta(alpha))

    def joined(self, values: Sequence[Intervals]) -> Intervals:
        """Return several values as an array."""
        return Intervals([v.mid for v in values], [v.rad for v in values])

    def replaced(self, values: Intervals, at: Indices, new: Intervals) -> Intervals:
        """Return values with others at some indices."""
        mid, rad = values.mid.copy(), np.broadcast_to(values.rad, values.shape).copy()
        mid[at], rad[at] = new.mid, new.rad
        return Intervals(mid, rad)

    def lacking(self, terms: Intervals, total: Intervals) -> Intervals:
        """Return what exact numbers lack of their sum."""
        move = fsum([*(-terms.mid).tolist(), float(total.mid)])
        return Intervals(move, 2.0**-53 * abs(move))

    def from_zero_to(self, value: float) -> Intervals:
        """Return what holds all numbers from 0 to `value`."""
        return Intervals(0.5 * value, 0.5 * value)

    def middles(self, values: Intervals) -> Any:
        """Return the midpoints, as exact as they are."""
        return values.mid

    def minimum(self, values: Intervals) -> Intervals:
        """Return the smallest value."""
        return values.min()

    def nearest(self, values: Intervals) -> Any:
        """Return the nearest float64 numbers."""
        return values.mid

    def smallest(self, values: Intervals) -> Any:
        """Return float64 numbers that are no more than the values."""
        return values.low

    def largest(self, values: Intervals) -> Any:
        """Return float64 numbers that are no less than the values."""
        return values.high
