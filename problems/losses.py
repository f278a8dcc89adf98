"""Losses ℓ(y, f) of a prediction f for a label or target y, convex in f.

Each knows what a certificate and a subgradient method need: its value, a subgradient, and its
conjugate in the form of a dual coefficient β of w = Σ βᵢφ(xᵢ): the dual of
½‖w‖² + Σ Cᵢℓ(yᵢ, fᵢ) is −½βᵀKβ − Σ Cᵢℓ*(yᵢ, −βᵢ/Cᵢ) (Shalev-Shwartz & Zhang 2013, section 1).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from problems.dataset import Vector


class Loss(ABC):
    """A convex loss; all methods work entry by entry on arrays of shape (n,)."""

    @abstractmethod
    def value(self, y: Vector, f: Vector) -> Vector:
        """Return ℓ(y, f)."""

    @abstractmethod
    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return a g with ℓ(y, f') ≥ ℓ(y, f) + g·(f' − f) for all f'."""

    @abstractmethod
    def conjugate(self, y: Vector, s: Vector) -> Vector:
        """Return ℓ*(y, s) = max over f of s·f − ℓ(y, f); +inf outside its domain."""


@dataclass(frozen=True)
class Hinge(Loss):
    """ℓ(y, f) = max(0, 1 − y·f), the loss of support vector classification."""

    def value(self, y: Vector, f: Vector) -> Vector:
        """Return max(0, 1 − y·f)."""
        return np.maximum(0.0, 1.0 - y * f)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return −y where the margin y·f is below one, else 0."""
        return np.where(y * f < 1.0, -y, 0.0)

    def conjugate(self, y: Vector, s: Vector) -> Vector:
        """Return y·s where −1 ≤ y·s ≤ 0, else +inf."""
        return np.where((y * s >= -1.0) & (y * s <= 0.0), y * s, np.inf)


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """ℓ(y, f) = max(0, |y − f| − epsilon), the loss of support vector regression (Vapnik 1995)."""

    epsilon: float

    def value(self, y: Vector, f: Vector) -> Vector:
        """Return max(0, |y − f| − epsilon)."""
        return np.maximum(0.0, np.abs(y - f) - self.epsilon)

    def subgradient(self, y: Vector, f: Vector) -> Vector:
        """Return −sign(y − f) outside the tube, 0 inside."""
        return np.where(np.abs(y - f) > self.epsilon, -np.sign(y - f), 0.0)

    def conjugate(self, y: Vector, s: Vector) -> Vector:
        """Return y·s + epsilon·|s| where |s| ≤ 1, else +inf."""
        return np.where(np.abs(s) <= 1.0, y * s + self.epsilon * np.abs(s), np.inf)
