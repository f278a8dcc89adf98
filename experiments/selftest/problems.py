"""The problems of a selftest, by the names that its report shows: small, and drawn from seeds.

Each is built anew whenever it is asked for, so that a solver that writes to its data spoils no other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from problems import (
    RBF,
    ChainMargin,
    Formulation,
    HardMarginDual,
    HingeERM,
    Kernel,
    Linear,
    Matrix,
    NuSVC,
    NuSVR,
    OneClassSVM,
    RegularizedERM,
    Sigmoid,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    Vector,
    datasets,
)
from problems.kernels import Block

_Data = Callable[[], tuple[Matrix, Vector]]
_GAMMA = 0.05  # for clouds some five apart


def _drawn(source: datasets.Source) -> _Data:
    """Return what reads a source anew."""

    def draw() -> tuple[Matrix, Vector]:
        data = source.load()
        return data.X, data.y

    return draw


def _clouds(n: int, distance: float = 2.0, imbalance: float = 2.0) -> _Data:
    return _drawn(datasets.TwoGaussians(n=n, d=3, distance=distance, imbalance=imbalance))


_TWO, _FOUR = _clouds(60), _drawn(datasets.FourGaussians(n=80))
_THIRTY, _APART = _clouds(30), _clouds(60, 8.0)


def _sparse() -> tuple[Matrix, Vector]:
    X, y = _drawn(datasets.SparseClassification(n=80))()
    return sp.csr_array(X), y


def _off_centre() -> tuple[Matrix, Vector]:
    """Both classes far on one side of the origin: an intercept makes a large difference."""
    X, y = _TWO()
    return X + 4.0, y


def _hardest_first() -> tuple[Matrix, Vector]:
    """Samples that are support vectors come first: a subset of the data has the same optimum."""
    X, y = _clouds(80, 6.0)()
    order = np.argsort(y * X.sum(axis=1), kind="stable")
    return X[order], y[order]


def _twins() -> tuple[Matrix, Vector]:
    """Each sample twice, once with either label."""
    X, _ = _clouds(20)()
    return np.vstack([X, X]), np.repeat([1.0, -1.0], 20)


def _crossed() -> tuple[Matrix, Vector]:
    """Corners of a square, equal labels on a diagonal."""
    return np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]), np.array([1.0, 1, -1, -1])


def _changed(change: Callable[[Block], Block]) -> _Data:
    """Return what makes two clouds of 30 samples with changed features."""

    def make() -> tuple[Matrix, Vector]:
        X, y = _THIRTY()
        return change(np.array(X)), y

    return make


def _with_zero_rows(X: Block) -> Block:
    X[::5] = 0.0
    return X


def _few(labels: list[float]) -> tuple[Matrix, Vector]:
    return _THIRTY()[0][: len(labels)], np.array(labels)


def _soft(data: _Data, kernel: Kernel, intercept: bool = True, C: float = 1.0) -> Formulation:
    return SoftMarginDual(*data(), C, kernel, intercept)


def _chains() -> Formulation:
    data = datasets.HiddenMarkov(n=8, length=5, labels=3).load()
    return ChainMargin(data.X, data.y, length=5, C=0.1)


def _regression(kernel: Kernel, intercept: bool) -> Formulation:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + 2.0 * intercept + 0.3 * rng.standard_normal(50)
    return SVRDual(X, y, 1.0, 0.1, kernel, intercept)


def _scattered() -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 3))
    return X, np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(60)


def _targets(targets: Callable[[Vector], Vector], epsilon: float) -> Formulation:
    X = np.random.default_rng(5).standard_normal((30, 2))
    return SVRDual(X, targets(X[:, 0]), 1.0, epsilon, RBF(0.5))


_PLAIN: dict[str, tuple[_Data, Kernel]] = {
    "two_gaussians linear C=1": (_TWO, Linear()),
    "four_gaussians rbf C=1": (_FOUR, RBF(_GAMMA)),
    "sparse linear C=1": (_sparse, Linear()),
    "off centre": (_off_centre, Linear()),
    "hardest first": (_hardest_first, Linear()),
}
_DEGENERATE: dict[str, tuple[_Data, float]] = {  # with C
    "one class": (partial(_few, [1.0] * 10), 1.0),
    "one sample": (partial(_few, [-1.0]), 1.0),
    "two samples": (partial(_few, [1.0, -1.0]), 1.0),
    "twins": (_twins, 1.0),
    "all equal": (_changed(np.ones_like), 1.0),
    "duplicates": (_changed(lambda X: X[np.arange(30) // 3]), 1.0),
    "zero rows": (_changed(_with_zero_rows), 1.0),
    "all zero": (_changed(np.zeros_like), 1.0),
    "collinear": (_changed(lambda X: X @ np.ones((3, 5)) + [0, 0, 0, 1, 0]), 1.0),
    "times 1e8": (_changed(lambda X: 1e8 * X), 1.0),
    "times 1e-8": (_changed(lambda X: 1e-8 * X), 1.0),
    "mixed scales": (_changed(lambda X: X * [1e-8, 1.0, 1e8]), 1.0),
    "1:1000": (_clouds(1001, imbalance=1000.0), 1.0),
    "C=1e-12": (_THIRTY, 1e-12),
    "C=1e12": (_THIRTY, 1e12),
}
PROBLEMS: dict[str, Callable[[], Formulation]] = {
    **{name: partial(_soft, *setting) for name, setting in _PLAIN.items()},
    **{f"{name}, no intercept": partial(_soft, *v, False) for name, v in _PLAIN.items()},
    "two_gaussians primal C=1": lambda: SoftMarginPrimal(*_TWO()),
    "two_gaussians risk lam=0.02": lambda: HingeERM(*_TWO(), 0.02),
    "logistic risk lam=0.02": lambda: RegularizedERM(*_TWO(), 0.02, "logistic"),
    "squared hinge risk lam=0.02": lambda: RegularizedERM(*_TWO(), 0.02, "squared_hinge"),
    "chains C=0.1": _chains,
    "regression rbf C=1": partial(_regression, RBF(0.2), True),
    "regression linear C=1, no intercept": partial(_regression, Linear(), False),
    "nu-SVC rbf nu=0.4": lambda: NuSVC(*_FOUR(), 0.4, RBF(_GAMMA)),
    "nu-SVR rbf nu=0.4": lambda: NuSVR(*_scattered(), 0.4, 1.0, RBF(0.2)),
    "one class rbf nu=0.2": lambda: OneClassSVM(_scattered()[0], 0.2, RBF(0.2)),
    "one class linear nu=0.2": lambda: OneClassSVM(_scattered()[0] + 2.0, 0.2),
    "separable hard margin": lambda: HardMarginDual(*_APART()),
    "twins hard margin": lambda: HardMarginDual(*_twins()),
    "crossed hard margin": lambda: HardMarginDual(*_crossed()),
    "rbf gamma=1e-9": partial(_soft, _THIRTY, RBF(1e-9)),
    "rbf gamma=1e9": partial(_soft, _THIRTY, RBF(1e9)),
    "sigmoid kernel": partial(_soft, _THIRTY, Sigmoid(0.5, -1.0)),
    "constant target": partial(_targets, lambda x: np.full(x.size, 3.0), 0.1),
    "epsilon=0": partial(_targets, np.sin, 0.0),
    "epsilon above the range": partial(_targets, np.sin, 2.0),
    **{
        f"{name}: {kind}": partial(_soft, data, kernel, intercept, C)
        for name, (data, C) in _DEGENERATE.items()
        for kind, kernel, intercept in (
            ("linear", Linear(), True),
            ("linear, no intercept", Linear(), False),
            ("rbf", RBF(_GAMMA), True),
        )
    },
}
