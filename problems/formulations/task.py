"""What the values of y are: labels, targets or classes; how they are checked, predicted and scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from problems.dataset import Vector, check_classes, check_labels, check_targets


class Task(ABC):
    """What is learned from y, and how well decisions f predict it.

    Attributes
    ----------
    takes : which data sets fit: of labels, of classes, of targets.
    error : what the mean of `errors` is called.
    """

    takes: ClassVar[tuple[str, ...]]
    error: ClassVar[str] = "a validation error"

    @abstractmethod
    def check(self, y: Any, n: int, name: str = "y") -> Vector:
        """Return `y` as a read-only vector of n usable values; ValueError naming it otherwise."""

    @abstractmethod
    def predict(self, f: Vector) -> Vector:
        """Return what the decisions `f` predict, shape (m,)."""

    def errors(self, f: Vector, y: Vector) -> Vector:
        """Return the error of each prediction, shape (m,): by default 1 where it is wrong, else 0."""
        return (self.predict(f) != y).astype(np.float64)

    def score(self, f: Vector, y: Vector) -> float | None:
        """Return how good the predictions are, 1 being perfect: by default the share of right ones."""
        return float(np.mean(self.predict(f) == y))


class Labels(Task):
    """Labels −1 and +1, predicted by the sign of f, shape (m,)."""

    takes: ClassVar[tuple[str, ...]] = ("labels",)

    def check(self, y: Any, n: int, name: str = "y") -> Vector:
        """Return n labels, each −1 or +1."""
        return check_labels(y, n, name)

    def predict(self, f: Vector) -> Vector:
        """Return +1 where f ≥ 0, else −1."""
        return np.where(f >= 0, 1.0, -1.0)


class Targets(Task):
    """Real targets, predicted by f itself."""

    takes: ClassVar[tuple[str, ...]] = ("labels", "classes", "targets")  # all are numbers
    error: ClassVar[str] = "a mean squared error"

    def check(self, y: Any, n: int, name: str = "y") -> Vector:
        """Return n finite numbers."""
        return check_targets(y, n, name)

    def predict(self, f: Vector) -> Vector:
        """Return f."""
        return f

    def errors(self, f: Vector, y: Vector) -> Vector:
        """Return (y − f)²."""
        return (y - f) ** 2

    def score(self, f: Vector, y: Vector) -> float | None:
        """Return R² = 1 − Σ(y − f)²/Σ(y − ȳ)²; None where all targets are equal."""
        spread = float(np.sum((y - y.mean()) ** 2))
        return 1.0 - float(np.sum((y - f) ** 2)) / spread if spread > 0 else None


class Classes(Task):
    """Classes 0, 1, ..., K − 1, predicted by the largest of K scores, shape (m, K)."""

    takes: ClassVar[tuple[str, ...]] = ("labels", "classes")

    def check(self, y: Any, n: int, name: str = "y") -> Vector:
        """Return n classes."""
        return check_classes(y, n, name)

    def predict(self, f: Vector) -> Vector:
        """Return the class of the largest score."""
        return f.argmax(axis=1).astype(np.float64)


LABELS, TARGETS, CLASSES = Labels(), Targets(), Classes()
