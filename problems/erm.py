"""The soft margin as regularised empirical risk: min (lam/2)‖w‖² + (1/n) Σ max(0, 1 − yᵢ(wᵀxᵢ + b)).

Divided by lam this is the soft-margin primal with C = 1/(n·lam), and it is certified in that scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from problems.dataset import Matrix, Vector, check_positive
from problems.formulation import Face, Family, Formulation


@dataclass(frozen=True, eq=False)
class HingeERM(Formulation):
    """min (lam/2)‖w‖² + (1/n) Σ max(0, 1 − yᵢ(wᵀxᵢ + b)), with b = 0 unless `intercept`."""

    X: Matrix
    y: Vector
    lam: float
    intercept: bool = False

    face: ClassVar[Face] = "risk"
    family: ClassVar[Family] = "soft_margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("lam", check_positive(self.lam, "lam"))
        C = 1.0 / max(self.n * self.lam, np.finfo(float).tiny)
        if not 0 < C <= 1e300:
            raise ValueError(
                f"lam: C = 1/(n*lam) must be within (0, 1e300], got lam = {self.lam!r}"
            )

    @property
    def upper(self) -> Vector:
        """C = 1/(n·lam) for each sample."""
        return np.full(self.n, 1.0 / (self.n * self.lam))

    def objective(self, primal: float, dual: float) -> float:
        """Return lam times the soft-margin primal value."""
        return self.lam * primal
