"""Hard- and soft-margin support vector classification, primal and dual.

Hard margin (Vapnik 1982; Boser, Guyon & Vapnik 1992):
    primal  min ½‖w‖²                    s.t. yᵢ(wᵀφ(xᵢ) + b) ≥ 1
    dual    min ½αᵀQα − 1ᵀα              s.t. α ≥ 0, yᵀα = 0,   Q = diag(y) K diag(y)
Soft margin (Cortes & Vapnik 1995):
    primal  min ½‖w‖² + Σ Cᵢξᵢ           s.t. yᵢ(wᵀφ(xᵢ) + b) ≥ 1 − ξᵢ, ξ ≥ 0
    dual    min ½αᵀQα − 1ᵀα              s.t. 0 ≤ αᵢ ≤ Cᵢ, yᵀα = 0
Without an intercept b = 0 and yᵀα = 0 is dropped. w = Σ αᵢyᵢφ(xᵢ).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Matrix, Vector
from problems.formulations.formulation import Face, Family, Formulation
from problems.kernels import Kernel, Linear


class _HardMargin(Formulation):
    family: ClassVar[Family] = "hard_margin"
    source: ClassVar[str] = "Vapnik 1982; Boser, Guyon & Vapnik 1992"

    @property
    def upper(self) -> Vector:
        """No upper bounds: +inf, shape (n,)."""
        return np.full(self.n, np.inf)


@dataclass(frozen=True, eq=False)
class HardMarginPrimal(_HardMargin):
    """min ½‖w‖² s.t. yᵢ(wᵀxᵢ + b) ≥ 1, for `X` (n, d) dense or CSR and labels `y` (n,) in {−1, +1}.

    Raises
    ------
    ValueError
        Naming the argument, if one is not usable.
    """

    X: Matrix
    y: Vector
    intercept: bool = True

    face: ClassVar[Face] = "primal"


@dataclass(frozen=True, eq=False)
class HardMarginDual(_HardMargin):
    """min ½αᵀQα − 1ᵀα s.t. α ≥ 0, yᵀα = 0 (the last only with an intercept)."""

    X: Matrix
    y: Vector
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    face: ClassVar[Face] = "dual"


@dataclass(frozen=True, eq=False)
class SoftMarginPrimal(Formulation):
    """min ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢ(wᵀxᵢ + b)); `C` is a number or one for each sample."""

    X: Matrix
    y: Vector
    C: Any = 1.0
    intercept: bool = True

    face: ClassVar[Face] = "primal"
    family: ClassVar[Family] = "soft_margin"
    source: ClassVar[str] = "Cortes & Vapnik 1995"


@dataclass(frozen=True, eq=False)
class SoftMarginDual(Formulation):
    """min ½αᵀQα − 1ᵀα s.t. 0 ≤ αᵢ ≤ Cᵢ, yᵀα = 0 (the last only with an intercept)."""

    X: Matrix
    y: Vector
    C: Any = 1.0
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    face: ClassVar[Face] = "dual"
    family: ClassVar[Family] = "soft_margin"
    source: ClassVar[str] = "Cortes & Vapnik 1995"
