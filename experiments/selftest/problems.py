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
    Dataset,
    Formulation,
    HardMarginDual,
    HingeERM,
    Kernel,
    Linear,
    Matrix,
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


def _two_gaussians(n: int = 60, distance: float = 2.0) -> Dataset:
    return datasets.TwoGaussians(n=n, d=3, distance=distance, imbalance=2.0).load()


def _four_gaussians() -> Dataset:
    return datasets.FourGaussians(n=80).load()


def _off_centre(intercept: bool) -> Formulation:
    """Both classes far on one side of the origin: an intercept makes a large difference."""
    data = _two_gaussians()
    return SoftMarginDual(data.X + 4.0, data.y, 1.0, intercept=intercept)


def _hardest_first(intercept: bool) -> Formulation:
    """Samples that are support vectors come first: a subset of the data has the same optimum."""
    data = _two_gaussians(80, 6.0)
    order = np.argsort(data.y * (data.X.sum(axis=1)), kind="stable")
    return SoftMarginDual(data.X[order], data.y[order], 1.0, intercept=intercept)


def _sparse(intercept: bool) -> Formulation:
    data = datasets.SparseClassification(n=80).load()
    return SoftMarginDual(sp.csr_array(data.X), data.y, 1.0, intercept=intercept)


def _risk(loss: str) -> Formulation:
    return RegularizedERM(_two_gaussians().X, _two_gaussians().y, 0.02, loss)


def _chains() -> Formulation:
    data = datasets.HiddenMarkov(n=8, length=5, labels=3).load()
    return ChainMargin(data.X, data.y, length=5, C=0.1)


def _regression(kernel: Kernel, intercept: bool) -> Formulation:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 3))
    y = X @ np.array([1.0, -2.0, 0.5]) + 2.0 * intercept + 0.3 * rng.standard_normal(50)
    return SVRDual(X, y, 1.0, 0.1, kernel, intercept)


def _targets(targets: Callable[[Vector], Vector], epsilon: float) -> Formulation:
    X = np.random.default_rng(5).standard_normal((30, 2))
    return SVRDual(X, targets(X[:, 0]), 1.0, epsilon, RBF(0.5))


def _rbf(gamma: float) -> Formulation:
    data = _two_gaussians(30)
    return SoftMarginDual(data.X, data.y, 1.0, RBF(gamma))


def _sigmoid() -> Formulation:
    data = _two_gaussians(30)
    return SoftMarginDual(data.X, data.y, 1.0, Sigmoid(0.5, -1.0))


def _twins() -> tuple[Matrix, Vector]:
    """Each sample twice, once with either label."""
    X = _two_gaussians(20).X
    return np.vstack([X, X]), np.repeat([1.0, -1.0], 20)


def _crossed() -> tuple[Matrix, Vector]:
    """Corners of a square, equal labels on a diagonal."""
    return np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]), np.array([1.0, 1, -1, -1])


def _changed(change: Callable[[Block], Block]) -> _Data:
    """Return what makes two clouds of 30 samples with changed features."""

    def make() -> tuple[Matrix, Vector]:
        data = _two_gaussians(30)
        return change(np.array(data.X)), data.y

    return make


def _with_zero_rows(X: Block) -> Block:
    X[::5] = 0.0
    return X


def _few(labels: list[float]) -> tuple[Matrix, Vector]:
    return _two_gaussians(30).X[: len(labels)], np.array(labels)


def _imbalanced() -> tuple[Matrix, Vector]:
    data = datasets.TwoGaussians(n=1001, d=3, imbalance=1000.0).load()
    return data.X, data.y


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
    "1:1000": (_imbalanced, 1.0),
    "C=1e-12": (_changed(np.asarray), 1e-12),
    "C=1e12": (_changed(np.asarray), 1e12),
}


def _degenerate(data: _Data, C: float, kernel: Kernel, intercept: bool) -> Formulation:
    X, y = data()
    return SoftMarginDual(X, y, C, kernel, intercept)


def _plain(data: Callable[[], Dataset], kernel: Kernel, intercept: bool) -> Formulation:
    return SoftMarginDual(data().X, data().y, 1.0, kernel, intercept)


PROBLEMS: dict[str, Callable[[], Formulation]] = {
    "two_gaussians linear C=1": partial(_plain, _two_gaussians, Linear(), True),
    "two_gaussians linear C=1, no intercept": partial(_plain, _two_gaussians, Linear(), False),
    "four_gaussians rbf C=1": partial(_plain, _four_gaussians, RBF(_GAMMA), True),
    "four_gaussians rbf C=1, no intercept": partial(_plain, _four_gaussians, RBF(_GAMMA), False),
    "two_gaussians primal C=1": lambda: SoftMarginPrimal(_two_gaussians().X, _two_gaussians().y),
    "two_gaussians risk lam=0.02": lambda: HingeERM(_two_gaussians().X, _two_gaussians().y, 0.02),
    "logistic risk lam=0.02": partial(_risk, "logistic"),
    "squared hinge risk lam=0.02": partial(_risk, "squared_hinge"),
    "chains C=0.1": _chains,
    "sparse linear C=1": partial(_sparse, True),
    "sparse linear C=1, no intercept": partial(_sparse, False),
    "regression rbf C=1": partial(_regression, RBF(0.2), True),
    "regression linear C=1, no intercept": partial(_regression, Linear(), False),
    "separable hard margin": lambda: HardMarginDual(
        _two_gaussians(60, 8.0).X, _two_gaussians(60, 8.0).y
    ),
    "twins hard margin": lambda: HardMarginDual(*_twins()),
    "crossed hard margin": lambda: HardMarginDual(*_crossed()),
    "off centre": partial(_off_centre, True),
    "off centre, no intercept": partial(_off_centre, False),
    "hardest first": partial(_hardest_first, True),
    "hardest first, no intercept": partial(_hardest_first, False),
    "rbf gamma=1e-9": partial(_rbf, 1e-9),
    "rbf gamma=1e9": partial(_rbf, 1e9),
    "sigmoid kernel": _sigmoid,
    "constant target": partial(_targets, lambda x: np.full(x.size, 3.0), 0.1),
    "epsilon=0": partial(_targets, np.sin, 0.0),
    "epsilon above the range": partial(_targets, np.sin, 2.0),
    **{
        f"{name}: {kind}": partial(_degenerate, data, C, kernel, intercept)
        for name, (data, C) in _DEGENERATE.items()
        for kind, kernel, intercept in (
            ("linear", Linear(), True),
            ("linear, no intercept", Linear(), False),
            ("rbf", RBF(_GAMMA), True),
        )
    },
}
