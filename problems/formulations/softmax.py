"""Multinomial logistic regression: the softmax loss for K classes, and its regularised risk.

    min (lam/2)‖W‖² + (1/n) Σᵢ [ln Σₖ exp(fᵢₖ) − fᵢ,yᵢ],   f = X W,   W (d, K)
dual, with a matrix of coefficients alpha (n, K) and C = 1/(n·lam):
    max −½‖Xᵀalpha‖² − C Σᵢₖ pᵢₖ·ln pᵢₖ,   pᵢ = e_yᵢ − alphaᵢ/C in the simplex,   W = Xᵀalpha
(Straka's notes, s-NLL; the dual by the entropy of p: Shalev-Shwartz & Zhang 2014, section 5.3.)
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dualgap.problems.arithmetic import entropy, log_sum_exp
from dualgap.problems.dataset import Matrix, Vector
from dualgap.problems.formulations.erm import RegularizedRisk
from dualgap.problems.losses import VectorLoss
from dualgap.problems.problem.task import CLASSES, Task
from dualgap.problems.risk.risk import Risk, one_offset


@dataclass(frozen=True)
class Softmax(VectorLoss):
    """ℓ(y, f) = ln Σₖ exp(fₖ) − f_y for y in {0, ..., K − 1} and scores f (n, K).

    Conjugate Σₖ pₖ·ln pₖ for p = s + e_y in the simplex (its negative entropy). The logistic loss is
    the case K = 2 with scores (f, 0).
    """

    classes: int
    source: ClassVar[str] = "Bridle 1990; NPFL129 notes (s-NLL)"

    @property
    def outputs(self) -> int:
        """K, one per class."""
        return self.classes

    @property
    def lipschitz(self) -> float:
        """1, in each score."""
        return 1.0

    @property
    def dual_range(self) -> tuple[float, float]:
        """±1: a coefficient divided by C is e_y − p."""
        return -1.0, 1.0

    @property
    def smoothness(self) -> float:
        """½, the largest eigenvalue of diag(p) − ppᵀ."""
        return 0.5

    def value(self, y: Any, f: Any) -> Any:
        """Return ln Σₖ exp(fₖ − f_y), shape (n,)."""
        true_scores = f[np.arange(y.size), y.astype(int)]
        return log_sum_exp(f - true_scores[:, None])

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return p − e_y with p = softmax(f), shape (n, K)."""
        return probabilities(f) - self.unit(y)

    def curvature_times(self, y: Vector, f: Vector, v: Vector) -> Vector:
        """Return (diag(p) − ppᵀ)·v for each sample, shape (n, K)."""
        p = probabilities(f)
        return p * (v - (p * v).sum(axis=1, keepdims=True))

    def conjugate(self, y: Any, s: Any) -> Any:
        """Return Σₖ pₖ·ln pₖ for p = s + e_y, shape (n,)."""
        return entropy(s + self.unit(y)).sum(axis=1)

    def in_domain(self, y: Vector, s: Vector) -> NDArray[np.bool_]:
        """Return whether p is a distribution up to rounding, shape (n,)."""
        p, rounding = s + self.unit(y), 1e-12
        return (p.min(axis=1) >= -rounding) & (np.abs(p.sum(axis=1) - 1.0) <= rounding)

    def signs(self, y: Vector) -> Vector:
        """Return ones, shape (n, K): W = Xᵀalpha."""
        return np.ones((y.size, self.classes))

    def limits(self, y: Vector, C: Vector) -> tuple[Vector, Vector]:
        """Return C·(e_y − 1) and C·e_y, shape (n, K)."""
        unit = self.unit(y)
        return C[:, None] * (unit - 1.0), C[:, None] * unit

    def project_dual(self, y: Vector, C: Vector, alpha: Vector) -> Vector:
        """Return the nearest alpha (n, K) for which every e_y − alphaᵢ/Cᵢ is a distribution."""
        unit, p = self.unit(y), self._distributions(y, C, alpha)
        return C[:, None] * (unit - project_to_simplex(p))

    def dual_violation(self, y: Vector, C: Vector, alpha: Vector) -> float:
        """Return the largest violation of a distribution's constraints, times its weight."""
        p = self._distributions(y, C, alpha)
        violation = np.maximum(-p.min(axis=1), np.abs(p.sum(axis=1) - 1.0))
        return max(0.0, float((C * violation).max()))

    def unit(self, y: Vector) -> Vector:
        """Return the unit vectors e_y, shape (n, K)."""
        return np.eye(self.classes)[y.astype(int)]

    def _distributions(self, y: Vector, C: Vector, alpha: Vector) -> Vector:
        return self.unit(y) - alpha.reshape(y.size, -1) / C[:, None]


@dataclass(frozen=True, eq=False)
class SoftmaxERM(RegularizedRisk):
    """min (lam/2)‖W‖² + (1/n) Σ [ln Σₖ exp(fᵢₖ) − fᵢ,yᵢ], f = XW, for y in {0, ..., K − 1}.

    W has shape (d, K), alpha (n, K): the answer's `w` and `alpha`. There is no intercept.
    """

    X: Matrix
    y: Vector
    lam: float

    task: ClassVar[Task] = CLASSES
    source: ClassVar[str] = "NPFL129 notes (s-NLL); Bishop 2006, section 4.3.4"
    intercept: ClassVar[bool] = False

    def build_risk(self) -> Risk:
        """Return the risk ½‖W‖² + C Σ ℓᵢ with the softmax loss, which has no offset."""
        C, exact_C = self.risk_weight
        return Risk(self.samples, self.y, self.loss, C, one_offset(False), exact_C=exact_C)

    @property
    def loss(self) -> Softmax:
        """The softmax loss of these classes."""
        return Softmax(int(self.y.max()) + 1)


def probabilities(f: Vector) -> Vector:
    """Return softmax(f) for each row of scores (n, K)."""
    odds = np.exp(f - f.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def project_to_simplex(p: Vector) -> Vector:
    """Return the nearest distribution to each row of `p` (n, K): max(p − θ, 0), θ found by sorting.

    Duchi, Shalev-Shwartz, Singer & Chandra 2008, figure 1.
    """
    descending = -np.sort(-p, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1.0) / np.arange(1, p.shape[1] + 1)
    last = (descending > excess).sum(axis=1) - 1
    projected = np.maximum(p - excess[np.arange(p.shape[0]), last][:, None], 0.0)
    return projected / projected.sum(axis=1, keepdims=True)
