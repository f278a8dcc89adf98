"""Regularised empirical risk: min (lam/2)‖w‖² + (1/n) Σ ℓ(yᵢ, wᵀφ(xᵢ) + b), b = 0 unless `intercept`.

Divided by lam this is ½‖w‖² + C Σ ℓ with C = 1/(n·lam), the scale in which it is certified. Depending on
ℓ this is the soft margin (hinge), ridge regression (squared), logistic regression, support vector
regression (epsilon-insensitive) or a perceptron (Gori's notes, eq. 40 to 44).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from dualgap.problems.dataset import Matrix, Vector, check_weight_range
from dualgap.problems.formulations.formulation import Formulation, View
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import (
    LOSSES,
    Hinge,
    Logistic,
    ScalarLoss,
    SquaredHinge,
)
from dualgap.problems.problem.task import Task, task_of
from dualgap.problems.risk.risk import Risk, one_offset
from dualgap.problems.validation import short_repr


def named_loss(loss: Any) -> Any:
    """Return the loss with the given name, if it needs no settings; return other values unchanged."""
    has_no_settings = isinstance(loss, str) and loss in LOSSES and "epsilon" not in loss
    return LOSSES[loss]() if has_no_settings else loss


class RegularizedRisk(Formulation):
    """(lam/2)‖w‖² + (1/n) Σ ℓᵢ, certified as ½‖w‖² + C Σ ℓᵢ with C = 1/(n·lam)."""

    lam: float
    view: ClassVar[View] = "risk"

    @property
    def risk_weight(self) -> tuple[float, Fraction]:
        """C = 1/(n·lam), rounded to float64 and exact; ValueError if bounds would not hold for it."""
        check_weight_range(
            1.0 / max(self.n * self.lam, np.finfo(float).tiny),
            f"lam: is {self.lam!r}, and 1/(n*lam)",
        )
        return 1.0 / (self.n * self.lam), 1 / (self.n * Fraction(self.lam))

    def objective(self, primal: float, dual: float) -> float:
        """Return lam times the value of ½‖w‖² + C Σ ℓ."""
        return self.lam * primal


@dataclass(frozen=True, eq=False)
class RegularizedERM(RegularizedRisk):
    """min (lam/2)‖w‖² + (1/n) Σ ℓ(yᵢ, wᵀφ(xᵢ) + b); `loss` is a loss or its name.

    Losses for labels −1 and +1: hinge, squared_hinge, logistic, perceptron; for real targets:
    squared, epsilon_insensitive and squared_epsilon_insensitive (the last two need an `epsilon`). The
    hinge loss gives the soft margin, the epsilon-insensitive loss support vector regression.
    """

    X: Matrix
    y: Vector
    lam: float
    loss: Any = Logistic()  # noqa: RUF009 - frozen
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = False

    takes_blocks: ClassVar[bool] = True
    source: ClassVar[str] = "Gori's notes, eq. 40-44; Hastie, Tibshirani & Friedman 2009, ch. 12"

    def __post_init__(self) -> None:
        vars(self)["loss"] = named_loss(self.loss)  # the dataclass is frozen
        if not isinstance(self.loss, ScalarLoss):
            raise ValueError(
                f"loss: must be one of {', '.join(LOSSES)} (if it has an epsilon, for example "
                f"EpsilonInsensitive(0.1)), got {short_repr(self.loss)}"
            )
        super().__post_init__()

    @property
    def task(self) -> Task:
        """Targets for regression losses, else labels."""
        return task_of(self.loss)

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + C Σ ℓ(yᵢ, fᵢ) with C = 1/(n·lam)."""
        C, exact_C = self.risk_weight
        costs = one_offset(self.intercept)
        return Risk(self.samples, self.y, self.loss, C, costs, exact_C=exact_C)


@dataclass(frozen=True, eq=False)
class HingeERM(RegularizedERM):
    """min (lam/2)‖w‖² + (1/n) Σ max(0, 1 − yᵢ(wᵀxᵢ + b)), with b = 0 unless `intercept`."""

    loss: ClassVar[Hinge] = Hinge()
    kernel: ClassVar[Kernel] = Linear()
    source: ClassVar[str] = "Shalev-Shwartz et al. 2011; NPFL129 and Gori's notes"


@dataclass(frozen=True, eq=False)
class WeightedERM(Formulation):
    """min ½‖w‖² + Σ Cᵢ·ℓ(yᵢ, wᵀφ(xᵢ) + b), b = 0 unless `intercept`: a risk with weighted samples.

    Only for smooth losses: use `SoftMarginDual` and `SVRDual` for weighted hinge and tube losses.
    """

    X: Matrix
    y: Vector
    C: Any
    loss: Any = SquaredHinge()  # noqa: RUF009 - frozen
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: bool = False

    view: ClassVar[View] = "primal"
    takes_blocks: ClassVar[bool] = True
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.loss, ScalarLoss) or not self.loss.is_smooth:
            raise ValueError(
                f"loss: must be a smooth loss, such as SquaredHinge(), got {short_repr(self.loss)}"
            )
        super().__post_init__()

    @property
    def task(self) -> Task:
        """Targets for regression losses, else labels."""
        return task_of(self.loss)

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² + Σ Cᵢ·ℓ(yᵢ, fᵢ)."""
        return Risk(self.samples, self.y, self.loss, self.C, one_offset(self.intercept))
