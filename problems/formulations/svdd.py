"""Support vector data description (Tax & Duin 2004): the smallest ball that contains most samples.

    primal  min R² + 1/(νn) Σ ξᵢ     s.t. ‖φ(xᵢ) − a‖² ≤ R² + ξᵢ, ξ ≥ 0
The paper writes C for 1/(νn). Multiplied by ½(νn)², with w = νn·a and u = ½νn(R² − ‖a‖²), it becomes
    primal  min ½‖w‖² + νn·u + Σ max(0, tᵢ − wᵀφ(xᵢ) − u),     tᵢ = ½νn·k(xᵢ, xᵢ)
    dual    min ½αᵀKα − tᵀα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn
the scaling of the one-class SVM. If k(x, x) is the same for all samples, tᵀα is constant, and both
machines have the same α. The decision function is R² − ‖φ(x) − a‖².
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.arithmetic import Balls, Intervals
from dualgap.problems.arithmetic.rounding import gamma
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.formulations.nu.one_class import OneClassFormulation
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Piece, PiecewiseLinear


@dataclass(frozen=True)
class Shortfall(PiecewiseLinear):
    """max(0, y − f): how far a prediction is below its target."""

    is_regression: ClassVar[bool] = True
    degree: ClassVar[int | None] = 1

    def dual_pieces(self, y: Vector) -> list[Piece]:
        """Return the single piece, with r = f − y."""
        return [Piece(np.ones(y.size), y, 0.0, 0.0, 1.0)]


@dataclass(frozen=True, eq=False)
class SVDD(OneClassFormulation):
    """min R² + 1/(νn) Σ max(0, ‖φ(xᵢ) − a‖² − R²); at most a fraction `nu` of samples is outside."""

    X: Matrix
    nu: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen

    C: ClassVar[float] = 1.0  # type: ignore[misc]
    source: ClassVar[str] = "Tax & Duin 2004"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("y", self.baseline(self.X))

    @property
    def loss(self) -> Shortfall:
        """max(0, t − f)."""
        return Shortfall()

    def baseline(self, X: Matrix) -> Vector:
        """Return ½νn·k(x, x) for each row of `X`."""
        return 0.5 * self.costs[0] * self.kernel.diagonal(X)

    def combine(self, f: Vector) -> Vector:
        """Return R² − ‖φ(x) − a‖² for wᵀφ(x) + u − ½νn·k(x, x)."""
        return f * (2 / self.costs[0])

    def slacks(self, f: Vector, offsets: Any) -> Vector:
        """Return max(0, ‖φ(xᵢ) − a‖² − R²)."""
        return np.maximum(0.0, -f)

    def distances(self, f: Vector, norm: float) -> Vector:
        """Raise ValueError: there is no hyperplane.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError("SVDD has a ball but no hyperplane; its decision is R² − ‖φ(x) − a‖²")

    def targets(self, array: type[Intervals] | type[Balls]) -> Any:
        """Return enclosures of tᵢ; `Intervals` cover the kernel value's error and three products."""
        bound = self.kernel.bind(self.X)
        if array is Intervals:
            relative, absolute = bound.radius()
            errors = (relative + gamma(4)) * np.abs(self.y)
            return Intervals(self.y, errors + 0.505 * self.costs[0] * absolute**2)
        indices = np.arange(self.n)[:, None]
        return Balls([bound.balls(i, i)[0, 0] for i in indices]) * self.costs[0] / 2
