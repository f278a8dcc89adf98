"""How the outputs of an answer become decisions, and these predictions of y, which are scored.

A `Task` is the kind of values in y: labels, targets or classes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import matmul

import numpy as np

from dualgap.problems.dataset import Matrix, Vector, check_classes, check_labels, check_targets
from dualgap.problems.losses import Loss


@dataclass(frozen=True)
class Task:
    """The kind of values in y, and how well decisions f predict them.

    Attributes
    ----------
    takes : the kinds of data sets that fit: with labels, classes or targets.
    check : validates (y, n, name); returns `y` as a read-only vector of n values, or raises ValueError.
    predict : maps decisions f to predictions, shape (m,).
    error : the name of the mean of `errors`.
    """

    takes: tuple[str, ...]
    check: Callable[..., Vector]
    predict: Callable[[Vector], Vector]
    error: str = "a validation error"

    def errors(self, f: Vector, y: Vector) -> Vector:
        """Return the error of each prediction, shape (m,): 1 if it is wrong, else 0."""
        return (self.predict(f) != y).astype(np.float64)

    def score(self, f: Vector, y: Vector) -> float | None:
        """Return the fraction of correct predictions."""
        return float(np.mean(self.predict(f) == y))


class Targets(Task):
    """Real targets, predicted by f."""

    def errors(self, f: Vector, y: Vector) -> Vector:
        """Return (y − f)²."""
        return (y - f) ** 2

    def score(self, f: Vector, y: Vector) -> float | None:
        """Return R² = 1 − Σ(y − f)²/Σ(y − ȳ)²; None if all targets are equal."""
        total = float(np.sum((y - y.mean()) ** 2))
        return 1.0 - float(np.sum((y - f) ** 2)) / total if total > 0 else None


# y is −1 or +1, f has shape (m,).
LABELS = Task(("labels",), check_labels, lambda f: np.where(f >= 0, 1.0, -1.0))
# y is 0, 1, ..., or K − 1, f has shape (m, K).
CLASSES = Task(("labels", "classes"), check_classes, lambda f: f.argmax(axis=1).astype(np.float64))
TARGETS = Targets(  # labels and classes are numbers too
    ("labels", "classes", "targets"), check_targets, np.asarray, "a mean squared error"
)


def task_of(loss: Loss) -> Task:
    """Return the task of a loss of one prediction: targets for a regression loss, else labels."""
    return TARGETS if loss.is_regression else LABELS


@dataclass(frozen=True, eq=False)
class Decision:
    """The decision function f(x) = scale·(wᵀφ(x) + b − minus(x)) of an answer.

    Attributes
    ----------
    minus : maps samples (m, d) to the terms (m,) subtracted; None for none, as f has a hyperplane.
    has_margin : whether f has a strip between two classes, of width 2·margin/‖w‖.
    margin : |f| on its margins.
    tube : the half-width of the tube around f; 0 for none.
    vote : maps f (m, outputs) of several binary problems to the classes' scores (m, K).
    scores : maps samples (m, d) and w to the outputs without b, by default Xw.
    """

    scale: float = 1.0
    minus: Callable[[Matrix], Vector] | None = None
    has_margin: bool = False
    margin: float = 1.0
    tube: float = 0.0
    vote: Callable[[Vector], Vector] | None = None
    scores: Callable[[Matrix, Vector], Vector] = matmul

    def values(self, outputs: Vector, X: Matrix) -> Vector:
        """Return f(x), or the classes' scores, for the outputs at the rows of `X` (m, d)."""
        f = self.scale * (outputs if self.minus is None else outputs - self.minus(X))
        return f if self.vote is None else self.vote(f)
