"""Samples drawn at random, and the scales that data come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Rng = np.random.Generator
Fields = dict[str, Any]


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

    def at(self, rows: Any) -> Sample:
        """Return some of the samples."""
        X, labels, targets = self.X[rows], self.labels[rows], self.targets[rows]
        return replace(self, X=X, labels=labels, targets=targets)


def plain(rng: Rng) -> Sample:
    """Return one to five samples of the unit's order."""
    n, d = int(rng.choice([1, 2, 3, 4, 5], p=[0.04, 0.2, 0.3, 0.3, 0.16])), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-4, 5, (n, d)) * 0.5
    labels = rng.choice([-1.0, 1.0], n)
    if n > 1 and rng.random() < 0.9:
        labels[0] = -labels[1]
    noise = rng.normal(size=n) if rng.random() < 0.7 else rng.integers(-3, 4, n).astype(float)
    return Sample(X, labels, X @ rng.normal(size=d) + noise, float(10.0 ** rng.integers(-2, 3)))


def _weights(sample: Sample, rng: Rng, low: float, high: float) -> Fields:
    several = rng.random() < 0.3
    C = 10.0 ** rng.uniform(low, high, sample.n)
    return {"C": C if several else float(C[0])}


def _unix_seconds(sample: Sample, rng: Rng) -> Fields:
    seconds = 1.7e9 + np.floor(sample.X * rng.choice([1e2, 1e4, 1e6]))
    return {"X": seconds * rng.choice([1.0, 1e-6])}


def _offset_targets(sample: Sample, rng: Rng) -> Fields:
    unit = float(rng.choice([1.0, 1e-3, 1e3]))
    offset = rng.choice([1e3, 1e6, 1e9, 1.7e12, 1e14])
    return {"unit": unit, "targets": unit * sample.targets + offset}


def _duplicates(sample: Sample, rng: Rng) -> Fields:
    copied = rng.integers(0, sample.n, sample.n)
    if rng.random() < 0.3:
        return vars(sample.at(copied))
    return {"X": sample.X[copied]}


def _near_duplicates(sample: Sample, rng: Rng) -> Fields:
    fields = _duplicates(sample, rng)
    steps = rng.choice([-np.inf, 0.0, np.inf], sample.X.shape)
    return fields | {"X": np.nextafter(fields["X"], steps)}


def _constant_targets(sample: Sample, rng: Rng) -> Fields:
    value = float(rng.choice([0.0, 1.0, 0.3, -7e5]))
    return {"labels": np.full(sample.n, sample.labels[0]), "targets": np.full(sample.n, value)}


def _sized_targets(sample: Sample, rng: Rng, low: float, high: float) -> Fields:
    unit = sample.unit * float(10.0 ** rng.uniform(low, high))
    return {"unit": unit, "targets": sample.targets * unit}


def _wide(sample: Sample, rng: Rng) -> Fields:
    wide = np.zeros((sample.n, 400))
    columns = rng.choice(400, sample.X.shape[1], replace=False)
    wide[:, columns] = sample.X * rng.choice([1.0, 1e4]) + rng.choice([0.0, 1e4, 1e8])
    return {"X": wide}


def _margin_in_the_last_bit(sample: Sample, rng: Rng) -> Fields:
    X = sample.X + rng.choice([1e3, 1e6]) * np.sign(rng.normal(size=sample.X.shape[1]))
    return _paired(sample, np.nextafter(X, np.inf), -sample.labels, X)


def _mirrored(sample: Sample, rng: Rng) -> Fields:
    """Make two samples x and −x or −2x, of which an odd kernel without intercept knows no more."""
    factor = -rng.choice([1.0, 2.0, 3.0])
    return _paired(sample, factor * sample.X, rng.choice([-1.0, 1.0]) * sample.labels, sample.X)


def _paired(sample: Sample, partners: Any, labels: Any, X: Any) -> Fields:
    """Return X with partners of the first half of the samples in the place of the second half."""
    first, second = slice(sample.n // 2), slice(sample.n // 2, sample.n // 2 * 2)
    changed = {"X": X.copy(), "labels": sample.labels.copy()}
    changed["X"][second], changed["labels"][second] = partners[first], labels[first]
    return changed


def _extreme(sample: Sample, rng: Rng) -> Fields:
    """Take powers whose squares and products are near the ends of float64's range, or beyond."""
    X, targets = (
        v * 10.0 ** (rng.choice([-1.0, 1.0]) * rng.uniform(50, 150))
        for v in (sample.X, sample.targets)
    )
    unit = float(np.abs(targets).max()) or 1.0
    return {"X": X, "targets": targets, "unit": unit, "C": float(10.0 ** rng.uniform(-100, 100))}


# what each changes of a sample
SCALES: dict[str, Callable[[Sample, Rng], Fields]] = {
    "plain": lambda s, rng: {},
    "large C": lambda s, rng: _weights(s, rng, 3, 12),
    "small C": lambda s, rng: _weights(s, rng, -12, -3),
    "offset features": lambda s, rng: {
        "X": s.X + rng.choice([1e3, 1.7e6, 1e8, 1e9]) * rng.choice([-1.0, 1.0])
    },
    "unix seconds": _unix_seconds,
    "offset targets": _offset_targets,
    "duplicates": _duplicates,
    "near duplicates": _near_duplicates,
    "mixed units": lambda s, rng: {"X": s.X * 10.0 ** rng.integers(-6, 7, s.X.shape[1])},
    "one dimension": lambda s, rng: {"X": s.X[:, :1].copy()},
    "zero rows": lambda s, rng: {"X": s.X * (rng.random((s.n, 1)) < 0.5)},
    "constant targets": _constant_targets,
    "tiny targets": lambda s, rng: _sized_targets(s, rng, -12, -6),
    "huge targets": lambda s, rng: _sized_targets(s, rng, 6, 14),
    "tiny features": lambda s, rng: {"X": s.X * 10.0 ** rng.uniform(-9, -3)},
    "huge features": lambda s, rng: {"X": s.X * 10.0 ** rng.uniform(3, 9)},
    "wide and sparse": _wide,
    "margin in the last bit": _margin_in_the_last_bit,
    "mirrored": _mirrored,
    "extreme": _extreme,
}
