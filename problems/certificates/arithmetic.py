"""The numbers of a problem in an arithmetic that tracks its own rounding."""

from abc import ABC, abstractmethod
from typing import ClassVar, Generic

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.dual_problem.dual import DualProblem
from dualgap.problems.dual_problem.recovery import EnclosureT

Positions = Indices | tuple[Indices, Indices]  # of coefficients: samples, or samples and outputs


class Arithmetic(ABC, Generic[EnclosureT]):
    """A problem's numbers as enclosures of one class.

    Attributes
    ----------
    array : the class of its enclosures.
    min_improvement : smallest relative decrease of the primal value for which a rescaled w is accepted.
    y, C, costs : the problem's targets, weights (1 if infinite) and costs of the offsets.
    """

    array: type[EnclosureT]
    min_improvement: ClassVar[float]
    y: Vector | EnclosureT
    C: EnclosureT
    costs: EnclosureT

    @abstractmethod
    def coefficients(self, problem: DualProblem, alpha: Vector) -> EnclosureT:
        """Return β for `alpha`, within its limits up to their rounding."""

    @abstractmethod
    def norm2(self, problem: DualProblem, at: Positions, moves: EnclosureT) -> EnclosureT:
        """Return ‖Σ movesᵢφ(xᵢ)‖² for changes `moves` of the coefficients `at`."""


class Float64(Arithmetic[Intervals]):
    """Arithmetic on float64 midpoints with radii."""

    array = Intervals
    min_improvement = 1e-12

    def __init__(self, problem: DualProblem, y: Vector | Intervals) -> None:
        self.y = y
        self.C = Intervals(np.where(np.isinf(problem.weight), 1.0, problem.weight))
        self.costs = Intervals(problem.costs)

    def coefficients(self, problem: DualProblem, alpha: Vector) -> Intervals:
        """Return β for `alpha`."""
        return Intervals(problem.beta(alpha))

    def norm2(self, problem: DualProblem, at: Positions, moves: Intervals) -> Intervals:
        """Return a ball around ‖Σ movesᵢφ(xᵢ)‖², from the triangle inequality."""
        rows = at[0] if isinstance(at, tuple) else at
        length = abs(moves).high @ np.sqrt(problem.kernel.diagonal(problem.X)[rows])
        half = 0.51 * float(length * length)
        return Intervals(half, half)
