"""The numbers of a problem in an arithmetic that tracks its own rounding."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, cast

import numpy as np

from dualgap.problems.arithmetic import Intervals
from dualgap.problems.arithmetic.rounding import gamma
from dualgap.problems.dataset import Indices, Vector
from dualgap.problems.risk.recovery import EnclosureT
from dualgap.problems.risk.risk import Risk

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
    def coefficients(self, risk: Risk, alpha: Vector) -> EnclosureT:
        """Return β for `alpha`, within its limits up to their rounding."""

    @abstractmethod
    def norm2(self, risk: Risk, at: Positions, moves: EnclosureT) -> EnclosureT:
        """Return ‖Σ movesᵢφ(xᵢ)‖² for changes `moves` of the coefficients `at`."""


def targets(risk: Risk, array: type[EnclosureT]) -> Vector | EnclosureT:
    """Return the targets as an `array`, with their error if they are kernel values; labels as they are.

    `Intervals` cover the error of the kernel value and of three products.
    """
    y, factor, enclosure = risk.y, risk.target_factor, cast(Any, array)
    if factor is None:
        return enclosure(y) if risk.loss.is_regression else y
    if issubclass(array, Intervals):
        value_errors = 1.01 * factor * risk.samples.gram(memory=0).radius() ** 2
        return enclosure(y, gamma(4) * np.abs(y) + value_errors)
    kernel, X = risk.samples.kernel, risk.samples.X
    return enclosure.joined([kernel.balls(X, i, i) for i in np.arange(risk.n)[:, None]]) * factor


class Float64(Arithmetic[Intervals]):
    """Arithmetic on float64 midpoints with radii."""

    array = Intervals
    min_improvement = 1e-12

    def __init__(self, risk: Risk, y: Vector | Intervals) -> None:
        self.y = y
        self.C = Intervals(np.where(np.isinf(risk.C), 1.0, risk.C))
        self.costs = Intervals(risk.costs)

    def coefficients(self, risk: Risk, alpha: Vector) -> Intervals:
        """Return β for `alpha`."""
        return Intervals(risk.beta(alpha))

    def norm2(self, risk: Risk, at: Positions, moves: Intervals) -> Intervals:
        """Return a ball around ‖Σ movesᵢφ(xᵢ)‖², from the triangle inequality."""
        rows = at[0] if isinstance(at, tuple) else at
        length = abs(moves).high @ np.sqrt(risk.samples.kernel.diagonal(risk.samples.X)[rows])
        half = 0.51 * float(length * length)
        return Intervals(half, half)
