"""The problems of a selftest, by display name: small, and generated from seeds.

A property is tried on some of the groups. Each problem is built again for every use, so that a solver
that modifies its data spoils no other problem.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dualgap.problems import (
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
from dualgap.problems.kernels import Block

_Data = Callable[[], tuple[Matrix, Vector]]
_Problems = dict[str, Callable[[], Any]]  # formulations, and ChainMargin
_LINEAR = Linear()
_GAMMA = 0.05  # suits clouds at a distance of five


def _drawn(source: datasets.Source) -> _Data:
    """Return a function that loads a source again."""

    def draw() -> tuple[Matrix, Vector]:
        data = source.load()
        return data.X, data.y

    return draw


def _clouds(n: int, distance: float = 2.0, imbalance: float = 2.0) -> _Data:
    return _drawn(datasets.TwoGaussians(n=n, d=3, distance=distance, imbalance=imbalance))


_TWO_CLOUDS = _clouds(60)
_FOUR_CLOUDS = _drawn(datasets.FourGaussians(n=80))
_THIRTY_SAMPLES = _clouds(30)
_SEPARABLE = _clouds(60, 8.0)
_LINE = _drawn(datasets.Regression(n=50, d=3, noise=0.3))


def _hardest_first() -> tuple[Matrix, Vector]:
    """Support vectors come first: a subset of the samples has the same optimum."""
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


def _changed(change: Callable[[Block], Block], data: _Data = _THIRTY_SAMPLES) -> _Data:
    """Return a function that makes two clouds with changed features."""

    def make() -> tuple[Matrix, Vector]:
        X, y = data()
        return change(np.array(X)), y

    return make


def _labelled(*labels: float) -> tuple[Matrix, Vector]:
    return _THIRTY_SAMPLES()[0][: len(labels)], np.array(labels)


def _soft(data: _Data, kernel: Kernel, intercept: bool = True, C: float = 1.0) -> Formulation:
    return SoftMarginDual(*data(), C, kernel, intercept)


def _targets(targets: Callable[[Vector], Vector], epsilon: float) -> Formulation:
    X, _ = _LINE()
    return SVRDual(X, targets(X[:, 0]), 1.0, epsilon, RBF(0.5))


def _both(name: str, data: _Data, kernel: Kernel = _LINEAR) -> _Problems:
    """Return a soft margin with and without an intercept."""
    return {
        name: partial(_soft, data, kernel),
        f"{name}, no intercept": partial(_soft, data, kernel, False),
    }


def _degenerate(name: str, data: _Data, C: float = 1.0) -> _Problems:
    kernels = {
        "linear": (_LINEAR, True),
        "linear, no intercept": (_LINEAR, False),
        "rbf": (RBF(_GAMMA), True),
    }
    return {f"{name}: {kind}": partial(_soft, data, *kernel, C) for kind, kernel in kernels.items()}


LINEAR = _both("two_gaussians linear C=1", _TWO_CLOUDS)
KERNEL = _both("four_gaussians rbf C=1", _FOUR_CLOUDS, RBF(_GAMMA))
SPARSE = _both("sparse linear C=1", _drawn(datasets.SparseClassification(n=80)))
SOFT = LINEAR | KERNEL
REGRESSION: _Problems = {
    "regression rbf C=1": lambda: SVRDual(*_LINE(), 1.0, 0.1, RBF(0.2)),
    "regression linear C=1, no intercept": lambda: SVRDual(*_LINE(), 1.0, 0.1, intercept=False),
}
PLAIN: _Problems = {
    **SOFT,
    **SPARSE,
    **REGRESSION,
    "two_gaussians primal C=1": lambda: SoftMarginPrimal(*_TWO_CLOUDS()),
    "two_gaussians risk lam=0.02": lambda: HingeERM(*_TWO_CLOUDS(), 0.02),
}
ALL: _Problems = {
    **PLAIN,
    "separable hard margin": lambda: HardMarginDual(*_SEPARABLE()),
    "logistic risk lam=0.02": lambda: RegularizedERM(*_TWO_CLOUDS(), 0.02, "logistic"),
    "squared hinge risk lam=0.02": lambda: RegularizedERM(*_TWO_CLOUDS(), 0.02, "squared_hinge"),
    "chains C=0.1": lambda: ChainMargin(
        *_drawn(datasets.HiddenMarkov(n=8, length=5, labels=3))(), length=5, C=0.1
    ),
}
INFEASIBLE: _Problems = {
    "twins hard margin": lambda: HardMarginDual(*_twins()),
    "crossed hard margin": lambda: HardMarginDual(*_crossed()),
}
NU: _Problems = {
    "nu-SVC rbf nu=0.4": lambda: NuSVC(*_FOUR_CLOUDS(), 0.4, RBF(_GAMMA)),
    "nu-SVR rbf nu=0.4": lambda: NuSVR(*_LINE(), 0.4, 1.0, RBF(0.2)),
    "one class rbf nu=0.2": lambda: OneClassSVM(_LINE()[0], 0.2, RBF(0.2)),
    "one class linear nu=0.2": lambda: OneClassSVM(_LINE()[0] + 2.0, 0.2),
}
# both classes far from the origin, on one side: the intercept makes a large difference
OFF_CENTRE = _both("off centre", _changed(lambda X: X + 4.0, _TWO_CLOUDS))
HARDEST_FIRST = _both("hardest first", _hardest_first)
# by property
DEGENERATE: dict[str, _Problems] = {
    "few samples": {
        **_degenerate("one class", partial(_labelled, *[1.0] * 10)),
        **_degenerate("one sample", partial(_labelled, -1.0)),
        **_degenerate("two samples", partial(_labelled, 1.0, -1.0)),
    },
    "equal samples": {
        **_degenerate("twins", _twins),
        **_degenerate("all equal", _changed(np.ones_like)),
        **_degenerate("duplicates", _changed(lambda X: X[np.arange(30) // 3])),
    },
    "empty features": {
        **_degenerate("zero rows", _changed(lambda X: X * (np.arange(30) % 5 > 0)[:, None])),
        **_degenerate("all zero", _changed(np.zeros_like)),
        **_degenerate("collinear", _changed(lambda X: X @ np.ones((3, 5)) + [0, 0, 0, 1, 0])),
    },
    "large features": _degenerate("times 1e8", _changed(lambda X: 1e8 * X)),
    "small features": _degenerate("times 1e-8", _changed(lambda X: 1e-8 * X)),
    "mixed features": _degenerate("mixed scales", _changed(lambda X: X * [1e-8, 1.0, 1e8])),
    "imbalance": _both("1:1000: linear", _clouds(1001, imbalance=1000.0)),
    "small C": _degenerate("C=1e-12", _THIRTY_SAMPLES, 1e-12),
    "large C": _degenerate("C=1e12", _THIRTY_SAMPLES, 1e12),
    "extreme kernels": {
        "rbf gamma=1e-9": partial(_soft, _THIRTY_SAMPLES, RBF(1e-9)),
        "rbf gamma=1e9": partial(_soft, _THIRTY_SAMPLES, RBF(1e9)),
        "sigmoid kernel": partial(_soft, _THIRTY_SAMPLES, Sigmoid(0.5, -1.0)),
    },
    "extreme targets": {
        "constant target": partial(_targets, lambda x: np.full(x.size, 3.0), 0.1),
        "epsilon=0": partial(_targets, np.sin, 0.0),
        "epsilon above the range": partial(_targets, np.sin, 2.0),
    },
}
PROBLEMS = ALL | INFEASIBLE | NU | OFF_CENTRE | HARDEST_FIRST
PROBLEMS |= {name: make for group in DEGENERATE.values() for name, make in group.items()}
