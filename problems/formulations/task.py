"""What the values of y are: labels, targets or classes; how they are checked, predicted and scored."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dualgap.problems.dataset import Vector, check_classes, check_labels, check_targets


@dataclass(frozen=True)
class Task:
    """What is learned from y, and how well decisions f predict it.

    Attributes
    ----------
    takes : which data sets fit: of labels, of classes, of targets.
    check : (y, n, name) to `y` as a read-only vector of n usable values; ValueError naming it otherwise.
    predict : decisions f to what they predict, shape (m,).
    error : what the mean of `errors` is called.
    """

    takes: tuple[str, ...]
    check: Callable[..., Vector]
    predict: Callable[[Vector], Vector]
    error: str = "a validation error"

    def errors(self, f: Vector, y: Vector) -> Vector:
        """Return the error of each prediction, shape (m,): 1 where it is wrong, else 0."""
        return (self.predict(f) != y).astype(np.float64)

    def score(self, f: Vector, y: Vector) -> float | None:
        """Return how good the predictions are, 1 being perfect: the share of right ones."""
        return float(np.mean(self.predict(f) == y))


class Targets(Task):
    """Real targets, predicted by f itself."""

    def errors(self, f: Vector, y: Vector) -> Vector:
        """Return (y − f)²."""
        return (y - f) ** 2

    def score(self, f: Vector, y: Vector) -> float | None:
        """Return R² = 1 − Σ(y − f)²/Σ(y − ȳ)²; None where all targets are equal."""
        spread = float(np.sum((y - y.mean()) ** 2))
        return 1.0 - float(np.sum((y - f) ** 2)) / spread if spread > 0 else None


# −1 and +1, from f (m,)
LABELS = Task(("labels",), check_labels, lambda f: np.where(f >= 0, 1.0, -1.0))
# 0, 1, ..., K − 1, from f (m, K)
CLASSES = Task(("labels", "classes"), check_classes, lambda f: f.argmax(axis=1).astype(np.float64))
TARGETS = Targets(  # which all numbers are
    ("labels", "classes", "targets"), check_targets, np.asarray, "a mean squared error"
)
