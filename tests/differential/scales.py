"""Samples drawn at random, and the scales that data come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Rng = np.random.Generator


@dataclass
class Sample:
    """Features, targets and weights of a problem that is being drawn.

    Attributes
    ----------
    labels : −1 and +1. targets : real ones, for regression. unit : what targets differ by.
    """

    X: Any
    labels: Any
    targets: Any
    C: Any
    unit: float = 1.0

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def size(self) -> float:
        """The largest feature, 1 where all are 0 or as good as that."""
        largest = float(np.abs(self.X).max())
        return largest if 1e-100 < largest < 1e100 else 1.0

    def first(self, count: int) -> Sample:
        """Return no more samples than `count`."""
        C = self.C[:count] if np.ndim(self.C) else self.C
        rows = slice(count)
        return replace(
            self, X=self.X[rows], labels=self.labels[rows], targets=self.targets[rows], C=C
        )


def plain(rng: Rng) -> Sample:
    """Return one to five samples of the unit's order."""
    n, d = int(rng.choice([1, 2, 3, 4, 5], p=[0.04, 0.2, 0.3, 0.3, 0.16])), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-4, 5, (n, d)) * 0.5
    labels = rng.choice([-1.0, 1.0], n)
    if n > 1 and rng.random() < 0.9:
        labels[0] = -labels[1]
    noise = rng.normal(size=n) if rng.random() < 0.7 else rng.integers(-3, 4, n).astype(float)
    return Sample(X, labels, X @ rng.normal(size=d) + noise, float(10.0 ** rng.integers(-2, 3)))


def _weights(low: float, high: float) -> Callable[[Sample, Rng], None]:
    def change(sample: Sample, rng: Rng) -> None:
        several = rng.random() < 0.3
        C = 10.0 ** rng.uniform(low, high, sample.n)
        sample.C = C if several else float(C[0])

    return change


def _offset_features(sample: Sample, rng: Rng) -> None:
    sample.X = sample.X + rng.choice([1e3, 1.7e6, 1e8, 1e9]) * rng.choice([-1.0, 1.0])


def _unix_seconds(sample: Sample, rng: Rng) -> None:
    seconds = 1.7e9 + np.floor(sample.X * rng.choice([1e2, 1e4, 1e6]))
    sample.X = seconds * rng.choice([1.0, 1e-6])


def _offset_targets(sample: Sample, rng: Rng) -> None:
    sample.unit = float(rng.choice([1.0, 1e-3, 1e3]))
    offset = rng.choice([1e3, 1e6, 1e9, 1.7e12, 1e14])
    sample.targets = sample.unit * sample.targets + offset


def _duplicates(sample: Sample, rng: Rng) -> None:
    copied = rng.integers(0, sample.n, sample.n)
    sample.X = sample.X[copied]
    if rng.random() < 0.3:
        sample.labels, sample.targets = sample.labels[copied], sample.targets[copied]


def _near_duplicates(sample: Sample, rng: Rng) -> None:
    _duplicates(sample, rng)
    sample.X = np.nextafter(sample.X, rng.choice([-np.inf, 0.0, np.inf], sample.X.shape))


def _mixed_units(sample: Sample, rng: Rng) -> None:
    sample.X = sample.X * 10.0 ** rng.integers(-6, 7, sample.X.shape[1])


def _one_dimensional(sample: Sample, rng: Rng) -> None:
    sample.X = sample.X[:, :1].copy()


def _zero_rows(sample: Sample, rng: Rng) -> None:
    sample.X = sample.X * (rng.random((sample.n, 1)) < 0.5)


def _constant_targets(sample: Sample, rng: Rng) -> None:
    sample.labels = np.full(sample.n, sample.labels[0])
    sample.targets = np.full(sample.n, float(rng.choice([0.0, 1.0, 0.3, -7e5])))


def _sized_targets(low: float, high: float) -> Callable[[Sample, Rng], None]:
    def change(sample: Sample, rng: Rng) -> None:
        sample.unit *= float(10.0 ** rng.uniform(low, high))
        sample.targets = sample.targets * sample.unit

    return change


def _sized_features(low: float, high: float) -> Callable[[Sample, Rng], None]:
    def change(sample: Sample, rng: Rng) -> None:
        sample.X = sample.X * 10.0 ** rng.uniform(low, high)

    return change


def _wide(sample: Sample, rng: Rng) -> None:
    wide = np.zeros((sample.n, 400))
    columns = rng.choice(400, sample.X.shape[1], replace=False)
    wide[:, columns] = sample.X * rng.choice([1.0, 1e4]) + rng.choice([0.0, 1e4, 1e8])
    sample.X = wide


def _margin_in_the_last_bit(sample: Sample, rng: Rng) -> None:
    sample.X = sample.X + rng.choice([1e3, 1e6]) * np.sign(rng.normal(size=sample.X.shape[1]))
    half = sample.n // 2
    sample.X[half : 2 * half] = np.nextafter(sample.X[:half], np.inf)
    sample.labels[half : 2 * half] = -sample.labels[:half]


def _mirrored(sample: Sample, rng: Rng) -> None:
    """Make two samples x and −x or −2x, of which an odd kernel without intercept knows no more."""
    half = sample.n // 2
    factor = -rng.choice([1.0, 2.0, 3.0])
    sample.X[half : 2 * half] = factor * sample.X[:half]
    sample.labels[half : 2 * half] = rng.choice([-1.0, 1.0]) * sample.labels[:half]


def _extreme(sample: Sample, rng: Rng) -> None:
    """Take powers whose squares and products are near the ends of float64's range, or beyond."""
    sample.X, sample.targets = (
        v * 10.0 ** (rng.choice([-1.0, 1.0]) * rng.uniform(50, 150))
        for v in (sample.X, sample.targets)
    )
    sample.unit = float(np.abs(sample.targets).max()) or 1.0
    sample.C = float(10.0 ** rng.uniform(-100, 100))


SCALES: dict[str, Callable[[Sample, Rng], None]] = {
    "plain": lambda sample, rng: None,
    "large C": _weights(3, 12),
    "small C": _weights(-12, -3),
    "offset features": _offset_features,
    "unix seconds": _unix_seconds,
    "offset targets": _offset_targets,
    "duplicates": _duplicates,
    "near duplicates": _near_duplicates,
    "mixed units": _mixed_units,
    "one dimension": _one_dimensional,
    "zero rows": _zero_rows,
    "constant targets": _constant_targets,
    "tiny targets": _sized_targets(-12, -6),
    "huge targets": _sized_targets(6, 14),
    "tiny features": _sized_features(-9, -3),
    "huge features": _sized_features(3, 9),
    "wide and sparse": _wide,
    "margin in the last bit": _margin_in_the_last_bit,
    "mirrored": _mirrored,
    "extreme": _extreme,
}
