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

from dualgap.problems.dataset import Matrix
from dualgap.problems.formulations.decision import Decision
from dualgap.problems.formulations.nu.one_class import OneClassFormulation, fraction_of_sum
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import PiecewiseLinear, Terms
from dualgap.problems.risk.risk import Risk


@dataclass(frozen=True)
class Shortfall(PiecewiseLinear):
    """max(0, y − f): how far a prediction is below its target."""

    is_regression: ClassVar[bool] = True
    degree: ClassVar[int | None] = 1

    def terms(self, y: Any) -> Terms:
        """Return the terms, in which t is at least 0."""
        return Terms(-y, 0.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class SVDD(OneClassFormulation):
    """min R² + 1/(νn) Σ max(0, ‖φ(xᵢ) − a‖² − R²); at most a fraction `nu` of samples is outside."""

    X: Matrix
    nu: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen

    C: ClassVar[float] = 1.0
    source: ClassVar[str] = "Tax & Duin 2004"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + νn·u + Σ max(0, tᵢ − wᵀφ(xᵢ) − u)."""
        C = np.full(self.n, self.C)
        total = fraction_of_sum(self.nu, C)
        t = 0.5 * total * self.kernel.diagonal(self.X)
        costs = np.array([total])
        return Risk(self.samples, t, Shortfall(), C, costs, target_factor=0.5 * total)

    def decision(self, offsets: Any) -> Decision:
        """Return R² − ‖φ(x) − a‖², which is wᵀφ(x) + u − ½νn·k(x, x) times 2/(νn)."""
        half = 0.5 * float(self.risk.costs[0])
        return Decision(1 / half, lambda X: half * self.kernel.diagonal(X))
