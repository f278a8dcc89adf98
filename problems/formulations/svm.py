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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.certificates.hard_margin import certificate_without_point, hard_bounds
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.dual_problem.dual import View
from dualgap.problems.dual_problem.reductions import FORMS
from dualgap.problems.forms import ERM, Point, Sharded
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.problem import Reducer
from dualgap.problems.problem.certificate import Certificate


@dataclass(frozen=True, eq=False)
class _HardMargin(Formulation):
    X: Matrix
    y: Vector
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    problem_class: ClassVar[str] = "hard_margin"
    forms: ClassVar[Mapping[type, Reducer]] = {
        form: reduce for form, reduce in FORMS.items() if form not in (ERM, Sharded)
    }  # its loss is infinite
    source: ClassVar[str] = "Vapnik 1982; Boser, Guyon & Vapnik 1992"
    may_be_infeasible: ClassVar[bool] = True

    @property
    def weight(self) -> Vector:
        """+inf, shape (n,): slack is not allowed."""
        return np.full(self.n, np.inf)

    def bounds(self, point: Point) -> Certificate:
        """Return bounds from α, scaled optimally, and from w, scaled to a margin of one."""
        return hard_bounds(self, point)

    def without_point(self, reason: str) -> Certificate:
        """Return a certificate without bounds, or a proof that the problem is infeasible."""
        return certificate_without_point(self, reason)


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
    kernel: ClassVar[Kernel] = Linear()  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class _SoftMargin(Formulation):
    X: Matrix
    y: Vector
    C: Any = 1.0
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = True

    problem_class: ClassVar[str] = "soft_margin"
    takes_blocks: ClassVar[bool] = True
    source: ClassVar[str] = "Cortes & Vapnik 1995"


class SoftMarginDual(_SoftMargin):
    """min ½αᵀQα − 1ᵀα s.t. 0 ≤ αᵢ ≤ Cᵢ, yᵀα = 0 (the last only with an intercept)."""


@dataclass(frozen=True, eq=False)
class SoftMarginPrimal(_SoftMargin):
    """min ½‖w‖² + Σ Cᵢ·max(0, 1 − yᵢ(wᵀxᵢ + b)); `C` is a number, or one per sample."""

    view: ClassVar[View] = "primal"
    kernel: ClassVar[Kernel] = Linear()  # type: ignore[misc]
