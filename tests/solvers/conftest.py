"""Small problems of every kind, on which every solver is tried."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from problems import (
    RBF,
    Fisher,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Kernel,
    Linear,
    OneVsOne,
    OneVsRest,
    Polynomial,
    Precomputed,
    RegularizedERM,
    SetIntersection,
    SoftMarginDual,
    SoftMarginPrimal,
    SoftmaxERM,
    Spectrum,
    SVRDual,
    SVRPrimal,
    WeisfeilerLehman,
    datasets,
)
from problems.losses import EpsilonInsensitive, SquaredEpsilonInsensitive


@dataclass(frozen=True)
class Data:
    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray
    apart: np.ndarray  # the same samples with the classes moved apart


def _data() -> Data:
    rng = np.random.default_rng(7)
    y = np.where(np.arange(42) % 3 == 0, 1.0, -1.0)
    X = rng.standard_normal((42, 4)) + 0.6 * y[:, None]
    targets = X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.3 * rng.standard_normal(42)
    return Data(X, y, targets, X + 2.5 * y[:, None])


D = _data()
WEIGHTS = np.random.default_rng(1).uniform(0.1, 3.0, D.y.size)
ORDER = np.random.default_rng(2).permutation(D.y.size)


def _symbolic(name: str, kernel: Kernel) -> SoftMarginDual:
    data = datasets.load(name, n=40)
    return SoftMarginDual(data.X, data.y, 1.0, kernel)


PROBLEMS: dict[str, Callable[[], Formulation]] = {
    "hard_primal": lambda: HardMarginPrimal(D.apart, D.y),
    "hard_primal_no_intercept": lambda: HardMarginPrimal(D.apart, D.y, intercept=False),
    "hard_dual_linear": lambda: HardMarginDual(D.apart, D.y),
    "hard_dual_rbf": lambda: HardMarginDual(D.X, D.y, RBF(1.0)),
    "hard_dual_rbf_no_intercept": lambda: HardMarginDual(D.X, D.y, RBF(1.0), intercept=False),
    "soft_primal": lambda: SoftMarginPrimal(D.X, D.y, 1.0),
    "soft_primal_sparse": lambda: SoftMarginPrimal(sp.csr_array(D.X), D.y, 1.0),
    "soft_primal_no_intercept": lambda: SoftMarginPrimal(D.X, D.y, 1.0, intercept=False),
    "soft_dual_linear": lambda: SoftMarginDual(D.X, D.y, 1.0),
    "soft_dual_flipped": lambda: SoftMarginDual(D.X[ORDER], -D.y[ORDER], 1.0),
    "soft_dual_weights": lambda: SoftMarginDual(D.X, D.y, WEIGHTS, RBF(0.3)),
    "soft_dual_rbf": lambda: SoftMarginDual(D.X, D.y, 10.0, RBF(0.3)),
    "soft_dual_rbf_no_intercept": lambda: SoftMarginDual(D.X, D.y, 1.0, RBF(0.3), intercept=False),
    "soft_dual_polynomial_sparse": lambda: SoftMarginDual(
        sp.csr_array(D.X), D.y, 0.1, Polynomial(2, 0.5)
    ),
    "soft_dual_precomputed": lambda: SoftMarginDual(D.X @ D.X.T, D.y, 1.0, Precomputed()),
    "soft_dual_sum_of_kernels": lambda: SoftMarginDual(D.X, D.y, 1.0, 0.5 * Linear() + RBF(1.0)),
    "soft_dual_sets": lambda: _symbolic("planted_sets", SetIntersection(normalize=True)),
    "soft_dual_strings": lambda: _symbolic("motif_strings", Spectrum(2)),
    "soft_dual_graphs": lambda: _symbolic("graph_families", WeisfeilerLehman(1)),
    "soft_dual_fisher": lambda: SoftMarginDual(D.X, D.y, 1.0, Fisher(2)),
    "erm": lambda: HingeERM(D.X, D.y, 0.05),
    "erm_sparse": lambda: HingeERM(sp.csr_array(D.X), D.y, 0.05),
    "erm_intercept": lambda: HingeERM(D.X, D.y, 0.05, intercept=True),
    "svr_primal": lambda: SVRPrimal(D.X, D.targets, 1.0, 0.2),
    "svr_primal_no_intercept": lambda: SVRPrimal(D.X, D.targets, 1.0, 0.2, intercept=False),
    "svr_dual_rbf": lambda: SVRDual(D.X, D.targets, 10.0, 0.1, RBF(0.2)),
    "svr_dual_linear_no_intercept": lambda: SVRDual(D.X, D.targets, WEIGHTS, 0.1, intercept=False),
    "svr_epsilon_zero": lambda: SVRDual(D.X, D.targets, 1.0, 0.0, RBF(0.2)),
    "risk_hinge_rbf": lambda: RegularizedERM(D.X, D.y, 0.05, "hinge", RBF(0.3)),
    "risk_squared_hinge": lambda: RegularizedERM(D.X, D.y, 0.05, "squared_hinge"),
    "risk_logistic_sparse": lambda: RegularizedERM(sp.csr_array(D.X), D.y, 0.05, "logistic"),
    "risk_logistic_intercept": lambda: RegularizedERM(D.X, D.y, 0.05, intercept=True),
    "risk_logistic_rbf": lambda: RegularizedERM(D.X, D.y, 0.01, "logistic", RBF(0.3)),
    "risk_perceptron": lambda: RegularizedERM(D.X, D.y, 0.05, "perceptron"),
    "risk_ridge": lambda: RegularizedERM(D.X, D.targets, 0.05, "squared", intercept=True),
    "risk_kernel_ridge": lambda: RegularizedERM(D.X, D.targets, 0.01, "squared", RBF(0.2)),
    "risk_tube": lambda: RegularizedERM(D.X, D.targets, 0.05, EpsilonInsensitive(0.2)),
    "risk_squared_tube": lambda: RegularizedERM(
        D.X, D.targets, 0.05, SquaredEpsilonInsensitive(0.2)
    ),
    "softmax": lambda: SoftmaxERM(D.X, np.digitize(D.targets, [2.0, 4.0]), 0.05),
    "one_vs_rest": lambda: OneVsRest(D.X, np.digitize(D.targets, [2.0, 4.0]), 1.0),
    "one_vs_one_rbf": lambda: OneVsOne(D.X, np.digitize(D.targets, [2.0, 4.0]), 1.0, RBF(0.3)),
}


BOX_FAMILIES = ("hard_margin", "soft_margin", "svr")


@pytest.fixture(
    params=[name for name in PROBLEMS if PROBLEMS[name]().problem_class in BOX_FAMILIES]
)
def box_problem(request: pytest.FixtureRequest) -> Formulation:
    """Each of the small problems whose dual is a box QP."""
    return PROBLEMS[request.param]()


NOT_QUADRATIC = (
    *("risk_squared_hinge", "risk_logistic_sparse", "risk_logistic_intercept", "risk_logistic_rbf"),
    *("risk_perceptron", "risk_ridge", "risk_kernel_ridge", "risk_squared_tube", "softmax"),
)


@pytest.fixture(params=[name for name in PROBLEMS if name not in NOT_QUADRATIC])
def quadratic_problem(request: pytest.FixtureRequest) -> Formulation:
    """Each of the small problems that is solved as a quadratic program."""
    return PROBLEMS[request.param]()


@pytest.fixture(params=NOT_QUADRATIC)
def other_problem(request: pytest.FixtureRequest) -> Formulation:
    """Each of the small problems that is not."""
    return PROBLEMS[request.param]()


@pytest.fixture(params=list(PROBLEMS))
def problem(request: pytest.FixtureRequest) -> Formulation:
    """Each of the small problems in turn."""
    return PROBLEMS[request.param]()


BLACK_BOXES = ("scipy_minimize", "mystic")  # slow, and each problem is a box QP to them
OF_EACH_KIND = ("hard_dual_rbf", "soft_primal_sparse", "soft_dual_rbf", "svr_dual_rbf", "softmax")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave most problems of the slowest solvers to `make test-all`."""
    for item in items:
        chosen = item.callspec.params if hasattr(item, "callspec") else {}
        if chosen.get("solver") in BLACK_BOXES and chosen["problem"] not in OF_EACH_KIND:
            item.add_marker("exhaustive")
