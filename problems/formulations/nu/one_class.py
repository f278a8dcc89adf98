"""The one-class support vector machine (Schölkopf et al. 2001): the region that contains most samples.

    primal  min ½‖w‖² − νnρ + Σ max(0, ρ − wᵀφ(xᵢ))
    dual    min ½αᵀKα     s.t. 0 ≤ αᵢ ≤ 1, Σ αᵢ = νn
with w = Σ αᵢφ(xᵢ), and f(x) = wᵀφ(x) − ρ < 0 for novel samples. This is LIBSVM's scaling (Chang & Lin
2011, section 2.4), νn times that of the paper, where αᵢ ≤ 1/(νn) and Σ αᵢ = 1. The offset is −ρ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum, nextafter
from typing import Any, ClassVar, Self

import numpy as np

from dualgap.problems.dataset import Matrix, Vector, check_labels
from dualgap.problems.formulations.decision import Decision
from dualgap.problems.formulations.formulation import Formulation
from dualgap.problems.kernels import Kernel, Linear
from dualgap.problems.losses import Perceptron
from dualgap.problems.problem.task import LABELS, Task
from dualgap.problems.risk.risk import Risk


def lower_sum(values: Vector) -> float:
    """Return the sum of positive numbers, rounded down to float64."""
    total = fsum(values)
    return total if fsum([*values, -total]) >= 0 else nextafter(total, 0.0)


def fraction_of_sum(nu: float, C: Vector) -> float:
    """Return ν·ΣCᵢ rounded to float64, and at most ΣCᵢ."""
    return min(nu * fsum(C), lower_sum(C))


class OneClassFormulation(Formulation):
    """Base of machines trained on samples of one class, which detect samples outside it.

    f(x) < 0 means novel, predicted as −1; members of the class are predicted as +1.
    """

    X: Matrix
    nu: float
    intercept: ClassVar[bool] = True
    task: ClassVar[Task] = LABELS

    @cached_property
    def y(self) -> Vector:
        """The label +1 of each sample."""
        return np.ones(self.n)

    @classmethod
    def from_data(cls, X: Matrix, y: Vector, **parameters: Any) -> Self:
        """Return the problem of the samples labelled +1; the others are novel.

        Raises
        ------
        ValueError
            If labels are not −1 and +1, or none is +1.
        """
        positive = np.flatnonzero(check_labels(y, X.shape[0]) > 0)
        if not positive.size:
            raise ValueError("y: no sample is labelled +1, the class that is described")
        build: Any = cls
        return build(X[positive], **parameters)

    @classmethod
    def example_data(cls, _: Mapping[str, Any], /) -> tuple[Matrix, Vector]:
        """Return valid example samples, with which the other parameters can be checked."""
        return np.eye(2), np.ones(2)

    def decision(self, offsets: Any) -> Decision:
        """Return f itself, without a margin: there is no other class."""
        return Decision()


@dataclass(frozen=True, eq=False)
class OneClassSVM(OneClassFormulation):
    """min ½‖w‖² − νnρ + Σ max(0, ρ − wᵀφ(xᵢ)); at most a fraction `nu` of the samples has f < 0.

    With weights `C` (n,), sample i counts Cᵢ times, also in n.
    """

    X: Matrix
    nu: float
    kernel: Kernel = Linear()  # noqa: RUF009 - frozen
    C: Any = 1.0

    source: ClassVar[str] = "Schölkopf, Platt, Shawe-Taylor, Smola & Williamson 2001"

    def build_risk(self) -> Risk:
        """Return the risk ½‖w‖² − νnρ + Σ Cᵢ·max(0, −fᵢ): the offset −ρ has the cost νn."""
        C = np.full(self.n, self.C, np.float64)
        costs = np.array([fraction_of_sum(self.nu, C)])
        return Risk(self.samples, np.ones(self.n), Perceptron(), C, costs)
