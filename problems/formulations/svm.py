"""Hard- and soft-margin support vector classification, primal and dual.

Hard margin (Vapnik 1982; Boser, Guyon & Vapnik 1992):
    primal  min ½‖w‖²                    s.t. yᵢ(wᵀφ(xᵢ) + b) ≥ 1
    dual    min ½αᵀQα − 1ᵀα              s.t. α ≥ 0, yᵀα = 0,   Q = diag(y) K diag(y)
Soft margin (Cortes & Vapnik 1995):
    primal  min ½‖w‖² + Σ Cᵢξᵢ           s.t. yᵢ(wᵀφ(xᵢ) + b) ≥ 1 − ξᵢ, ξ ≥ 0
    dual    min ½αᵀQα − 1ᵀα              s.t. 0 ≤ αᵢ ≤ Cᵢ, yᵀα = 0
Without an intercept b = 0, and yᵀα = 0 is dropped. w = Σ αᵢyᵢφ(xᵢ). The views of a problem have the same
fields, except that a primal needs coordinates of w, so its kernel is always linear.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.formulations.formulation import Formulation, View
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Hinge
from dualgap.problems.risk.risk import Risk, one_offset


@dataclass(frozen=True, eq=False)
class _HardMargin(Formulation):
    X: Matrix
    y: Vector
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    source: ClassVar[str] = "Vapnik 1982; Boser, Guyon & Vapnik 1992"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖², where any loss max(0, 1 − yᵢfᵢ) costs infinitely much."""
        return Risk(self.samples, self.y, Hinge(), np.inf, one_offset(self.intercept))


class HardMarginDual(_HardMargin):
    """min ½αᵀQα − 1ᵀα s.t. α ≥ 0, yᵀα = 0 (the last only with an intercept)."""


@dataclass(frozen=True, eq=False)
class HardMarginPrimal(_HardMargin):
    """min ½‖w‖² s.t. yᵢ(wᵀxᵢ + b) ≥ 1, for `X` (n, d) dense or CSR and labels `y` (n,) in {−1, +1}.

    Raises
    ------
    ValueError
        If an argument is invalid; the message names it.
    """

    view: ClassVar[View] = "primal"
    kernel: ClassVar[Kernel] = Linear()


@dataclass(frozen=True, eq=False)
class _SoftMargin(Formulation):
    X: Matrix
    y: Vector
    C: Any = 1.0
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    takes_blocks: ClassVar[bool] = True
    source: ClassVar[str] = "Cortes & Vapnik 1995"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢfᵢ)."""
        return Risk(self.samples, self.y, Hinge(), self.C, one_offset(self.intercept))


class SoftMarginDual(_SoftMargin):
    """min ½αᵀQα − 1ᵀα s.t. 0 ≤ αᵢ ≤ Cᵢ, yᵀα = 0 (the last only with an intercept)."""


@dataclass(frozen=True, eq=False)
class SoftMarginPrimal(_SoftMargin):
    """min ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢ(wᵀxᵢ + b)); `C` is a number, or one per sample."""

    view: ClassVar[View] = "primal"
    kernel: ClassVar[Kernel] = Linear()
