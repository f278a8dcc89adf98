"""Small problems of every kind by name, on which solvers, certificates and reductions are tried."""

import numpy as np
import scipy.sparse as sp

from dualgap.problems import (
    RBF,
    SVDD,
    Fisher,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    Kernel,
    Linear,
    NuSVC,
    NuSVR,
    OneClassSVM,
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
from dualgap.problems.formulations.erm import WeightedERM
from dualgap.problems.losses import EpsilonInsensitive, SquaredEpsilonInsensitive


def two_classes(
    n: int = 60, d: int = 4, seed: int = 0, distance: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Return samples of two classes, whose means are this far from 0 in each feature."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return rng.standard_normal((n, d)) + distance * y[:, None], y


N = 42
_rng = np.random.default_rng(7)
Y = np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
# in single precision, for solvers that keep no more
X = (_rng.standard_normal((N, 4)) + 0.6 * Y[:, None]).astype(np.float32).astype(np.float64)
SPARSE = sp.csr_array(np.where(np.abs(X) > 0.4, X, 0.0))
WIDE = sp.csr_array(sp.random_array((N, 90), density=0.1, rng=3))  # more features than samples
SEPARABLE = X + 2.5 * Y[:, None]
TARGETS = X @ [1.0, -2.0, 0.5, 0.0] + 3.0 + 0.3 * _rng.standard_normal(N)
CLASSES = np.digitize(TARGETS, [2.0, 4.0]).astype(float)
WEIGHTS = np.random.default_rng(1).uniform(0.1, 3.0, N)
_order = np.random.default_rng(2).permutation(N)


def _symbolic(name: str, kernel: Kernel) -> SoftMarginDual:
    data = datasets.load(name, n=40)
    return SoftMarginDual(data.X, data.y, 1.0, kernel)


HARD: dict[str, Formulation] = {
    "hard_primal": HardMarginPrimal(SEPARABLE, Y),
    "hard_primal_sparse": HardMarginPrimal(sp.csr_array(SEPARABLE), Y),
    "hard_primal_no_intercept": HardMarginPrimal(SEPARABLE, Y, intercept=False),
    "hard_dual_linear": HardMarginDual(SEPARABLE, Y),
    "hard_dual_rbf": HardMarginDual(X, Y, RBF(1.0)),
    "hard_dual_rbf_no_intercept": HardMarginDual(X, Y, RBF(1.0), intercept=False),
}
SOFT: dict[str, Formulation] = {
    "soft_primal": SoftMarginPrimal(X, Y, 1.0),
    "soft_primal_sparse": SoftMarginPrimal(SPARSE, Y, WEIGHTS),
    "soft_primal_wide": SoftMarginPrimal(WIDE, Y, 10.0),
    "soft_primal_no_intercept": SoftMarginPrimal(X, Y, 1.0, intercept=False),
    "soft_dual_linear": SoftMarginDual(X, Y, 1.0),
    "soft_dual_linear_no_intercept": SoftMarginDual(X, Y, WEIGHTS, intercept=False),
    "soft_dual_flipped": SoftMarginDual(X[_order], -Y[_order], 1.0),
    "soft_dual_weights": SoftMarginDual(X, Y, WEIGHTS, RBF(0.3)),
    "soft_dual_rbf": SoftMarginDual(X, Y, 10.0, RBF(0.3)),
    "soft_dual_rbf_no_intercept": SoftMarginDual(X, Y, 1.0, RBF(0.3), intercept=False),
    "soft_dual_polynomial_sparse": SoftMarginDual(SPARSE, Y, 0.1, Polynomial(2, 0.5)),
    "soft_dual_precomputed": SoftMarginDual(X @ X.T, Y, 1.0, Precomputed()),
    "soft_dual_sum_of_kernels": SoftMarginDual(X, Y, 1.0, 0.5 * Linear() + RBF(1.0)),
    "soft_dual_sets": _symbolic("planted_sets", SetIntersection(normalize=True)),
    "soft_dual_strings": _symbolic("motif_strings", Spectrum(2)),
    "soft_dual_graphs": _symbolic("graph_families", WeisfeilerLehman(1)),
    "soft_dual_fisher": SoftMarginDual(X, Y, 1.0, Fisher(2)),
    "erm": HingeERM(X, Y, 0.05),
    "erm_sparse": HingeERM(SPARSE, Y, 0.05),
    "erm_intercept": HingeERM(X, Y, 0.05, intercept=True),
    "risk_hinge_rbf": RegularizedERM(X, Y, 0.05, "hinge", RBF(0.3)),
}
TUBES: dict[str, Formulation] = {
    "svr_primal": SVRPrimal(X, TARGETS, 1.0, 0.2),
    "svr_primal_sparse": SVRPrimal(SPARSE, TARGETS, WEIGHTS, 0.0),
    "svr_primal_no_intercept": SVRPrimal(X, TARGETS, 1.0, 0.2, intercept=False),
    "svr_dual_rbf": SVRDual(X, TARGETS, 10.0, 0.1, RBF(0.2)),
    "svr_dual_linear_no_intercept": SVRDual(X, TARGETS, WEIGHTS, 0.1, intercept=False),
    "svr_epsilon_zero": SVRDual(X, TARGETS, 1.0, 0.0, RBF(0.2)),
    "risk_tube": RegularizedERM(X, TARGETS, 0.05, EpsilonInsensitive(0.2)),
}
NU: dict[str, Formulation] = {
    "nu_svc": NuSVC(X, Y, 0.4, RBF(0.3)),
    "nu_svr": NuSVR(X, TARGETS, 0.4, 2.0, RBF(0.3)),
    "one_class": OneClassSVM(X, 0.2, RBF(0.3)),
    "svdd": SVDD(X, 0.3),
}
# those whose dual is no quadratic program
RISKS: dict[str, Formulation] = {
    "risk_squared_hinge": RegularizedERM(X, Y, 0.05, "squared_hinge"),
    "risk_squared_hinge_intercept": WeightedERM(X, Y, WEIGHTS, intercept=True),
    "risk_logistic_sparse": RegularizedERM(SPARSE, Y, 0.05, "logistic"),
    "risk_logistic_intercept": RegularizedERM(X, Y, 0.05, intercept=True),
    "risk_logistic_rbf": RegularizedERM(X, Y, 0.01, "logistic", RBF(0.3)),
    "risk_perceptron": RegularizedERM(X, Y, 0.05, "perceptron"),
    "risk_ridge": RegularizedERM(X, TARGETS, 0.05, "squared"),
    "risk_ridge_intercept": RegularizedERM(X, TARGETS, 0.05, "squared", intercept=True),
    "risk_kernel_ridge": RegularizedERM(X, TARGETS, 0.01, "squared", RBF(0.2)),
    "risk_squared_tube": RegularizedERM(X, TARGETS, 0.05, SquaredEpsilonInsensitive(0.2)),
    "softmax": SoftmaxERM(X, CLASSES, 0.05),
}
SEVERAL_CLASSES: dict[str, Formulation] = {
    "one_vs_rest": OneVsRest(X, CLASSES, 1.0),
    "one_vs_one_rbf": OneVsOne(X, CLASSES, 1.0, RBF(0.3)),
}
BINARY = {**HARD, **SOFT, **TUBES}  # one equality or none, and a box
PROBLEMS = {**BINARY, **NU, **RISKS, **SEVERAL_CLASSES}
# one of each kind, for `make test`; the others are variants of these
KINDS = ("hard_dual_rbf", "soft_primal_sparse", "soft_dual_linear_no_intercept", "soft_dual_rbf")
KINDS += ("erm_sparse", "svr_primal", "svr_dual_rbf", "nu_svc", "nu_svr", "one_class", "svdd")
KINDS += ("risk_ridge", "risk_squared_hinge", "risk_logistic_intercept", "softmax", "one_vs_rest")
