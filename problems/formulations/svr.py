"""Epsilon-insensitive support vector regression (Vapnik 1995), primal and dual.

    primal  min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀφ(xᵢ) − b| − epsilon)
    dual    min ½βᵀKβ − yᵀβ + epsilon·‖β‖₁     s.t. −Cᵢ ≤ βᵢ ≤ Cᵢ, 1ᵀβ = 0
with β = α − α*, w = Σ βᵢφ(xᵢ). Without an intercept b = 0 and 1ᵀβ = 0 is dropped.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.formulations.formulation import Formulation, View
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import EpsilonInsensitive
from dualgap.problems.problem.task import TARGETS, Task
from dualgap.problems.risk.risk import Risk, one_offset


@dataclass(frozen=True, eq=False)
class _Regression(Formulation):
    X: Matrix
    y: Vector
    C: Any
    epsilon: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    task: ClassVar[Task] = TARGETS
    takes_blocks: ClassVar[bool] = True
    source: ClassVar[str] = "Vapnik 1995; Smola & Schölkopf 2004"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − fᵢ| − epsilon)."""
        loss = EpsilonInsensitive(self.epsilon)
        return Risk(self.samples, self.y, loss, self.C, one_offset(self.intercept))


class SVRDual(_Regression):
    """min ½βᵀKβ − yᵀβ + epsilon·‖β‖₁ s.t. −Cᵢ ≤ βᵢ ≤ Cᵢ, 1ᵀβ = 0 (the last only with an intercept)."""

    name: ClassVar[str] = "svr_dual"


@dataclass(frozen=True, eq=False)
class SVRPrimal(_Regression):
    """min ½‖w‖² + Σ Cᵢ·max(0, |yᵢ − wᵀxᵢ − b| − epsilon); `C` is a number, or one per sample."""

    name: ClassVar[str] = "svr_primal"
    view: ClassVar[View] = "primal"
    kernel: ClassVar[Kernel] = Linear()
