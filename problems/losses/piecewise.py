"""Piecewise linear losses that are defined by their terms alone."""

from abc import abstractmethod
from math import inf
from typing import Any

import numpy as np

from dualgap.problems.arithmetic.intervals import MIN_NORMAL
from dualgap.problems.dataset import Vector
from dualgap.problems.losses.base import ScalarLoss, Terms


class PiecewiseLinear(ScalarLoss):
    """A loss defined by its terms alone, from which all methods follow."""

    @abstractmethod
    def terms(self, y: Any) -> Terms:
        """Return the terms."""

    @property
    def dual_range(self) -> tuple[float, float]:
        """The smallest and the largest α/C."""
        _, _, lo, hi = self.terms(np.ones(1))
        return float(np.min(lo)), float(np.max(hi))

    @property
    def lipschitz(self) -> float:
        """The largest slope |ℓ'|."""
        return max(map(abs, self.dual_range))

    @property
    def smoothness(self) -> float:
        """Infinite, because of the kink."""
        return inf

    def value(self, y: Any, f: Any) -> Any:
        """Return the sum of both slopes, each beyond its kink."""
        return self.terms(y).value(f, f)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return the slope, and at a kink the subgradient closest to 0."""
        q, eps, lo, hi = self.terms(y)
        return -np.select([f + q < -eps, f + q > eps], [hi + 0.0 * q, lo + 0.0 * q])

    def curvature(self, y: Vector, f: Vector) -> Vector:
        """Return 0: the loss is linear between its kinks."""
        return np.zeros(np.shape(f))

    def conjugate(self, y: Any, s: Any) -> Any:
        """Return q·t + eps·|t| for t = −s."""
        q, eps, _, _ = self.terms(y)
        return -q * s + eps * abs(s) if np.any(eps) else -q * s

    def dual_step(self, y: Vector, m: Vector, t: Vector) -> Vector:
        """Return −(m + q)/t, moved towards 0 by eps/t, within its limits."""
        q, eps, lo, hi = self.terms(y)
        e = m + q
        return np.clip(-(e - np.clip(e, -eps, eps)) / np.maximum(t, MIN_NORMAL), lo, hi)

    def kinks(self, y: Vector) -> tuple[Vector, Vector]:
        """Return the f at which β may be above 0, −q − eps, and below 0, −q + eps."""
        q, eps, _, _ = self.terms(y)
        return -q - eps, -q + eps
