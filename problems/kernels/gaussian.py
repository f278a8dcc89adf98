"""The Gaussian kernel."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from dualgap.problems.arithmetic.rounding import EXPONENTIAL, terms
from dualgap.problems.dataset import Matrix
from dualgap.problems.kernels.dot import DotKernel
from dualgap.problems.kernels.samples import squared_norms
from dualgap.problems.validation import check_positive


@dataclass(frozen=True)
class RBF(DotKernel):
    """k(x, z) = exp(−gamma·‖x − z‖²), with gamma > 0."""

    gamma: float

    source: ClassVar[str] = "Aizerman, Braverman & Rozonoer 1964; Boser, Guyon & Vapnik 1992"
    of_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_positive(self.gamma, "gamma"))

    def of_products(self, p: Any, x2: Any, z2: Any) -> Any:
        """Return exp(2·gamma·p) for p = −½‖x − z‖²."""
        return np.exp(self.gamma * (2.0 * p))  # 2·gamma may overflow

    @property
    def power_form(self) -> tuple[float, float, int]:
        """exp(2·gamma·p)."""
        return 2 * self.gamma, 0.0, 0

    def cancellation(self, largest: float) -> float:
        """Return gamma·max‖x‖², by which the error of the exponent is multiplied."""
        return self.gamma * largest

    def check(self, X: Matrix) -> None:
        """Raise ValueError if squared distances overflow."""
        with np.errstate(over="ignore"):
            if not np.isfinite(4.0 * squared_norms(X)).all():
                raise ValueError("X: its squared norms overflow float64; scale the features down")

    def operations(self, X: Matrix) -> float:
        """Return the number for the exponent t and for exp.

        The error of the expansion is at most 4γ_m·max‖x‖²; that of differences γ_m·‖x − z‖², which
        changes exp by at most γ_m/e, as t·exp(−t) ≤ 1/e.
        """
        X = self.centred(X)
        norms, count = squared_norms(X), terms(X)
        if not self.needs_differences(norms):
            largest = self.cancellation(float(norms.max(initial=0.0)))
            return 4 * largest * (count + 6) + EXPONENTIAL
        # two sparse rows have up to twice as many entries
        return 0.4 * ((2 * count if scipy.sparse.issparse(X) else X.shape[1]) + 4) + EXPONENTIAL
