"""Problems drawn at random, of few samples and of every scale that data come in.

Problem `number` of a seed is the same however many are drawn before it: see `drawn`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from problems import (
    RBF,
    Exponential,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Kernel,
    Linear,
    Polynomial,
    PolynomialOf,
    Precomputed,
    QuadraticForm,
    RegularizedERM,
    Scaled,
    SoftMarginDual,
    SoftMarginPrimal,
    Subset,
    SVRDual,
    SVRPrimal,
)
from problems.losses import (
    EpsilonInsensitive,
    Hinge,
    Perceptron,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

Rng = np.random.Generator
LOSSES = {
    "hinge": lambda _: Hinge(),
    "squared_hinge": lambda _: SquaredHinge(),
    "perceptron": lambda _: Perceptron(),
    "squared": lambda _: Squared(),
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


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


@dataclass(frozen=True)
class Drawn:
    """A problem with the words it is counted under."""

    number: int
    formulation: str
    kernel: str
    scale: str
    problem: Formulation


def drawn(seed: int, number: int) -> Drawn:
    """Return problem `number` of a seed; what a problem refuses, such as overflow, is drawn again."""
    rng = np.random.default_rng([seed, number])
    while True:
        found = _draw(rng, number)
        if found is not None:
            return found


def _draw(rng: Rng, number: int) -> Drawn | None:
    sample = _plain(rng)
    scale = str(rng.choice(list(SCALES)))
    SCALES[scale](sample, rng)
    if rng.random() < 0.15:  # a second one, which the table does not name
        SCALES[str(rng.choice(list(SCALES)))](sample, rng)
    formulation = str(rng.choice(list(FORMULATIONS), p=SHARES))
    if sample.n > 4 and "epsilon" in formulation + _is_tube(formulation):
        sample = _first(sample, 4)
    kernel = str(rng.choice(list(KERNELS))) if formulation not in LINEAR_ONLY else "linear"
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            made = KERNELS[kernel](sample, rng)
            if kernel != "precomputed" and (scale == "wide and sparse" or rng.random() < 0.3):
                sample.X = scipy.sparse.csr_array(sample.X)
            problem = FORMULATIONS[formulation](sample, made, rng)
        except ValueError:
            return None
    return Drawn(number, formulation, kernel, scale, problem)


def _is_tube(formulation: str) -> str:
    return "epsilon" if formulation.startswith("svr") else ""


def _first(sample: Sample, count: int) -> Sample:
    C = sample.C[:count] if np.ndim(sample.C) else sample.C
    rows = slice(count)
    return Sample(sample.X[rows], sample.labels[rows], sample.targets[rows], C, sample.unit)


def _plain(rng: Rng) -> Sample:
    n, d = int(rng.choice([1, 2, 3, 4, 5], p=[0.04, 0.2, 0.3, 0.3, 0.16])), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(-4, 5, (n, d)) * 0.5
    labels = rng.choice([-1.0, 1.0], n)
    if n > 1 and rng.random() < 0.9:
        labels[0] = -labels[1]
    noise = rng.normal(size=n) if rng.random() < 0.7 else rng.integers(-3, 4, n).astype(float)
    targets = X @ rng.normal(size=d) + noise
    C = float(10.0 ** rng.integers(-2, 3))
    return Sample(X, labels, targets, C)


def _weights(low: float, high: float) -> Callable[[Sample, Rng], None]:
    def change(sample: Sample, rng: Rng) -> None:
        several = sample.n if rng.random() < 0.3 else None
        C = 10.0 ** rng.uniform(low, high, several)
        sample.C = C if several else float(C)

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
    sample.X = sample.X[:, :1] + 0.0


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
}


def _gamma(sample: Sample, rng: Rng) -> float:
    """Return a width by which some of the samples are near each other, or one that is not fitted."""
    if rng.random() < 0.3:
        return float(rng.choice([1e-6, 1.0, 1e3]))
    size = float(np.abs(sample.X - sample.X[[0]]).max()) or 1.0
    return float(rng.choice([0.01, 0.3, 3.0, 30.0])) / size**2


def _rbf(sample: Sample, rng: Rng) -> Kernel:
    return RBF(_gamma(sample, rng))


def _polynomial(sample: Sample, rng: Rng) -> Kernel:
    size = float(np.abs(sample.X).max()) or 1.0
    gamma = float(rng.choice([1.0, 0.3, 1.0 / size**2]))
    return Polynomial(int(rng.integers(1, 4)), gamma, float(rng.choice([0.0, 1.0, 0.7])))


def _combination(sample: Sample, rng: Rng) -> Kernel:
    first, second = (
        KERNELS[str(name)](sample, rng) for name in rng.choice(["linear", "polynomial", "rbf"], 2)
    )
    size, d = float(np.abs(sample.X).max()) or 1.0, sample.X.shape[1]
    root = rng.integers(-2, 3, (d, d)) * 0.5
    choices = [
        lambda: first + second,
        lambda: first * second,
        lambda: Scaled(first, float(10.0 ** rng.uniform(-4, 4))),
        lambda: Exponential(Scaled(Linear(), 0.5 / size**2 / d)),
        lambda: PolynomialOf(first, (0.5, 0.0, 0.3)),
        lambda: Subset(first, (int(rng.integers(d)),)),
        lambda: QuadraticForm(tuple(map(tuple, (root @ root.T).tolist()))),
    ]
    return choices[int(rng.integers(len(choices)))]()


def _precomputed(sample: Sample, rng: Rng) -> Kernel:
    """Put a Gram matrix in place of the samples: exactly semidefinite, as its entries are whole."""
    size = float(np.abs(sample.X).max()) or 1.0
    whole = np.round(sample.X / size * 1000)
    sample.X = whole @ whole.T * float(rng.choice([1.0, 2.0**-20, 2.0**20]))
    return Precomputed()


KERNELS: dict[str, Callable[[Sample, Rng], Kernel]] = {
    "linear": lambda sample, rng: Linear(),
    "polynomial": _polynomial,
    "rbf": _rbf,
    "combination": _combination,
    "precomputed": _precomputed,
}


def _epsilon(sample: Sample, rng: Rng) -> float:
    return float(rng.choice([0.0, 0.1, 1.0, 10.0])) * sample.unit


def _intercept(rng: Rng) -> bool:
    return bool(rng.random() < 0.65)


def _lam(sample: Sample) -> float:
    return 1.0 / (sample.n * float(np.max(sample.C)))


def _risk(name: str) -> Callable[[Sample, Kernel, Rng], Formulation]:
    def make(s: Sample, kernel: Kernel, rng: Rng) -> Formulation:
        loss = LOSSES[name](_epsilon(s, rng))
        y = s.targets if loss.is_regression else s.labels
        return RegularizedERM(s.X, y, _lam(s), loss, kernel, _intercept(rng))

    return make


FORMULATIONS: dict[str, Callable[[Sample, Kernel, Rng], Formulation]] = {
    "soft_margin_dual": lambda s, k, rng: SoftMarginDual(s.X, s.labels, s.C, k, _intercept(rng)),
    "soft_margin_primal": lambda s, k, rng: SoftMarginPrimal(s.X, s.labels, s.C, _intercept(rng)),
    "hard_margin_dual": lambda s, k, rng: HardMarginDual(s.X, s.labels, k, _intercept(rng)),
    "hard_margin_primal": lambda s, k, rng: HardMarginPrimal(s.X, s.labels, _intercept(rng)),
    "svr_dual": lambda s, k, rng: SVRDual(
        s.X, s.targets, s.C, _epsilon(s, rng), k, _intercept(rng)
    ),
    "svr_primal": lambda s, k, rng: SVRPrimal(
        s.X, s.targets, s.C, _epsilon(s, rng), _intercept(rng)
    ),
    "hinge_erm": lambda s, k, rng: HingeERM(s.X, s.labels, _lam(s), _intercept(rng)),
    **{name: _risk(name) for name in LOSSES},
}
LINEAR_ONLY = ("soft_margin_primal", "hard_margin_primal", "svr_primal", "hinge_erm")
_WEIGHTS = {"soft_margin_dual": 4, "hard_margin_dual": 2, "svr_dual": 3}
_counts = np.array([float(_WEIGHTS.get(name, 1)) for name in FORMULATIONS])
SHARES = _counts / _counts.sum()
