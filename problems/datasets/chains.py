"""Labelled sequences from a hidden Markov model, for structured margins."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from problems.datasets.options import count, number
from problems.datasets.source import Generator, Raw


@dataclass(frozen=True, kw_only=True)
class HiddenMarkov(Generator):
    """Sequences of `labels` hidden states, each seen through a Gaussian cloud of its own.

    The next label is drawn from its predecessor's transition probabilities, a Dirichlet draw of
    concentration 0.3, so that a few successors are likely; x ~ N(mean of the label, noise²·I) with the
    means N(0, I). Rows are the samples of one sequence after another, labels are 0, 1, ...

    Parameters
    ----------
    n, length
        Number of sequences, and of samples in each.
    d
        Number of features.
    labels
        Number of labels.
    noise
        Standard deviation within a cloud, where the means are about √(2d) apart.
    """

    size: ClassVar[str] = "n·length x d"
    origin: ClassVar[str] = "hidden Markov model, generated; for chain_margin"

    n: int = count(50, low=1)
    length: int = count(10, low=1)
    d: int = count(4, low=1)
    labels: int = count(4, low=2)
    noise: float = number(1.0)
    multiclass: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for option in ("limit", "test_size", "folds"):
            if getattr(self, option):
                raise ValueError(f"{option}: would split sequences; leave it out")
        if not self.multiclass:
            raise ValueError("multiclass: the labels of a sequence are more than two; leave it out")

    def _draw(self, rng: np.random.Generator) -> Raw:
        transitions = rng.dirichlet(np.full(self.labels, 0.3), self.labels).cumsum(axis=1)
        means = rng.standard_normal((self.labels, self.d))
        y = np.empty((self.n, self.length), dtype=int)
        y[:, 0] = rng.integers(self.labels, size=self.n)
        for t in range(1, self.length):
            above = rng.random((self.n, 1)) > transitions[y[:, t - 1]]
            y[:, t] = np.minimum(above.sum(axis=1), self.labels - 1)
        X = means[y] + self.noise * rng.standard_normal((self.n, self.length, self.d))
        return Raw(X.reshape(-1, self.d), y.ravel())
