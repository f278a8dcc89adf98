"""Several classes in the plane, for pictures of how they are separated."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from problems.datasets.options import count, number
from problems.datasets.source import Generator, Raw


@dataclass(frozen=True, kw_only=True)
class Blobs(Generator):
    """Gaussian clouds of unit variance around a circle in the plane, one for each class 0, 1, ...

    Class k has its centre at radius·(cos φ, sin φ) with φ = 2πk/classes. Keep all classes with
    `multiclass`, or choose the one that becomes +1 with `positive`.

    Parameters
    ----------
    n
        Number of samples, about the same in each class.
    classes
        Number of classes.
    radius
        Distance of the centres from the origin, in standard deviations.
    """

    size: ClassVar[str] = "n x 2"
    origin: ClassVar[str] = "Gaussian clouds around a circle, generated; several classes"

    n: int = count(150, low=2)
    classes: int = count(3, low=2)
    radius: float = number(3.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < self.classes:
            raise ValueError(f"n: must be at least the {self.classes} classes, got {self.n}")

    def _draw(self, rng: np.random.Generator) -> Raw:
        y = rng.permutation(np.arange(self.n) % self.classes)
        angle = 2.0 * np.pi * y / self.classes
        centres = self.radius * np.column_stack([np.cos(angle), np.sin(angle)])
        return Raw(centres + rng.standard_normal((self.n, 2)), y)
