"""A formulation with several offsets, which the toolkit does not have itself."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dualgap.problems import Formulation, Kernel, Linear, Matrix, Risk, Vector
from dualgap.problems.losses import Hinge, Loss, PiecewiseLinear, Terms
from dualgap.problems.problem.task import Task, task_of


@dataclass(frozen=True)
class Pinball(PiecewiseLinear):
    """max(tau·e, (tau − 1)·e) for e = y − f, of quantile regression."""

    tau: float
    is_regression: ClassVar[bool] = True

    def terms(self, y: Vector) -> Terms:
        """Return the terms: in the dual β is from (tau − 1)C to tau·C."""
        return Terms(-y, 0.0, self.tau - 1.0, self.tau)


@dataclass(frozen=True, eq=False)
class Grouped(Formulation):
    """min ½‖w‖² + cᵀu + Σ Cᵢℓ(yᵢ, wᵀφ(xᵢ) + u_g(i)), with an offset for each group of samples.

    Quantile regression, the one-class SVM and ν-SVC are of this kind.
    """

    X: Matrix
    y: Vector
    C: float
    members: tuple[int, ...]
    prices: tuple[float, ...]
    loss: Loss = Hinge()  # noqa: RUF009 - frozen
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    intercept: ClassVar[bool] = True

    @property
    def task(self) -> Task:  # type: ignore[override]
        """Targets for regression losses, else labels."""
        return task_of(self.loss)

    def build_risk(self) -> Risk:
        """A group for each sample, −1 for none, and a cost for each offset."""
        groups, costs = np.array(self.members), np.array(self.prices)
        return Risk(self.samples, self.y, self.loss, self.C, costs, groups)
