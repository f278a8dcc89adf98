"""Kernels drawn at random for samples, which some of them replace by sets, strings or kernel values."""

from collections.abc import Callable

import numpy as np
from tests.differential.scales import Rng, Sample

from dualgap.problems import (
    RBF,
    Exponential,
    Kernel,
    Linear,
    Polynomial,
    PolynomialOf,
    Precomputed,
    QuadraticForm,
    Scaled,
    SetIntersection,
    Sigmoid,
    Spectrum,
    Subset,
)


def _gamma(sample: Sample, rng: Rng) -> float:
    """Return a width by which some of the samples are near each other, or one that is not fitted."""
    if rng.random() < 0.3:
        return float(rng.choice([1e-6, 1.0, 1e3]))
    size = max(float(np.abs(sample.X - sample.X[[0]]).max()), 1e-100)
    return float(rng.choice([0.01, 0.3, 3.0, 30.0])) * size**-2.0


def _polynomial(sample: Sample, rng: Rng) -> Kernel:
    gamma = float(rng.choice([1.0, 0.3, sample.size**-2]))
    return Polynomial(int(rng.integers(1, 4)), gamma, float(rng.choice([0.0, 1.0, 0.7])))


def _combination(sample: Sample, rng: Rng) -> Kernel:
    first, second = (
        KERNELS[str(name)](sample, rng) for name in rng.choice(["linear", "polynomial", "rbf"], 2)
    )
    d = sample.X.shape[1]
    root = rng.integers(-2, 3, (d, d)) * 0.5 if d < 5 else np.eye(d)
    choices = [
        lambda: first + second,
        lambda: first * second,
        lambda: Scaled(first, float(10.0 ** rng.uniform(-4, 4))),
        lambda: Exponential(Scaled(Linear(), 0.5 / sample.size**2 / d)),
        lambda: PolynomialOf(first, (0.5, 0.0, 0.3)),
        lambda: Subset(first, (int(rng.integers(d)),)),
        lambda: QuadraticForm(tuple(map(tuple, (root @ root.T).tolist()))),
    ]
    return choices[int(rng.integers(len(choices)))]()


def _precomputed(sample: Sample, rng: Rng) -> Kernel:
    """Put a Gram matrix in place of the samples: exactly semidefinite, or so but for rounding."""
    if rng.random() < 0.3:
        kernel = KERNELS[str(rng.choice(["linear", "polynomial", "rbf"]))](sample, rng)
        K = np.asarray(kernel(sample.X, sample.X))
        sample.X = 0.5 * K + 0.5 * K.T
    else:
        integers = np.round(sample.X / sample.size * 1000)
        sample.X = integers @ integers.T * float(rng.choice([1.0, 2.0**-20, 2.0**20]))
    return Precomputed()


def _sigmoid(sample: Sample, rng: Rng) -> Kernel:
    return Sigmoid(float(rng.choice([0.3, 1.0])) * sample.size**-2, float(rng.choice([0.0, -0.5])))


def _sets(sample: Sample, rng: Rng) -> Kernel:
    sample.X = (np.median(sample.X) < sample.X) + 0.0
    return SetIntersection(bool(rng.random() < 0.5))


def _strings(sample: Sample, rng: Rng) -> Kernel:
    letters = rng.integers(1, 3, (sample.n, 6))
    ends = rng.integers(1, 7, (sample.n, 1))
    sample.X = np.where(np.arange(6) < ends, letters, 0).astype(float)
    return Spectrum(int(rng.integers(1, 3)), bool(rng.random() < 0.5))


KERNELS: dict[str, Callable[[Sample, Rng], Kernel]] = {
    "linear": lambda sample, rng: Linear(),
    "polynomial": _polynomial,
    "rbf": lambda sample, rng: RBF(_gamma(sample, rng)),
    "combination": _combination,
    "precomputed": _precomputed,
    "sigmoid": _sigmoid,
    "sets": _sets,
    "strings": _strings,
}
