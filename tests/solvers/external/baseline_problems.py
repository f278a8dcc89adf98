"""Problems that every baseline is tried on, and what an answer to one is worth."""

import numpy as np
import scipy.sparse as sp

from problems import (
    RBF,
    Formulation,
    HardMarginDual,
    HardMarginPrimal,
    HingeERM,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Polynomial,
    SoftMarginDual,
    SoftMarginPrimal,
    SVRDual,
    SVRPrimal,
)
from solvers import SMO, Solution, solve

N = 80


def samples(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return samples in single precision (SVMlight keeps no more), labels and targets; read-only."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0)
    X = (rng.standard_normal((N, 4)) + 0.5 * y[:, None]).astype(np.float32).astype(np.float64)
    arrays = X, y, X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.standard_normal(N)
    for array in arrays:
        array.flags.writeable = False
    return arrays


X, Y, TARGETS = samples()
SPARSE = sp.csr_array(np.where(X > 0, X, 0.0))
WEIGHTS = np.random.default_rng(1).uniform(0.1, 3.0, N)
WITHOUT = {"intercept": False}
LINEAR = {
    "one C": SoftMarginPrimal(X, Y, 2.0, **WITHOUT),
    "sparse": SoftMarginPrimal(SPARSE, Y, 2.0, **WITHOUT),
    "a C for each": SoftMarginPrimal(X, Y, WEIGHTS, **WITHOUT),
    "risk": HingeERM(X, Y, 0.05),
    "flipped": SoftMarginPrimal(X, -Y, 2.0, **WITHOUT),
    "regression": SVRPrimal(X, TARGETS, 2.0, 0.1, **WITHOUT),
    "regression, a C for each": SVRDual(SPARSE, TARGETS, WEIGHTS, 0.1, **WITHOUT),
}
KERNEL = {
    "linear": SoftMarginDual(X, Y, 2.0),
    "rbf, a C for each": SoftMarginDual(X, Y, WEIGHTS, RBF(0.3)),
    "polynomial, sparse": SoftMarginDual(SPARSE, -Y, 1.0, Polynomial(2, 0.5, 1.0)),
    "regression": SVRDual(X, TARGETS, 2.0, 0.1, RBF(0.3)),
    "regression, a C for each": SVRDual(SPARSE, TARGETS + 3, WEIGHTS, 0.0, RBF(0.3)),
}
NU = {
    "classification": NuSVC(X, Y, 0.4, RBF(0.3)),
    "regression": NuSVR(X, TARGETS, 0.4, 2.0, RBF(0.3)),
    "one class": OneClassSVM(X, 0.2, RBF(0.3)),
}
QUADRATIC = {
    "dual": KERNEL["rbf, a C for each"],
    "singular dual": KERNEL["linear"],
    "small C": SoftMarginDual(X, Y, 1e-4, RBF(0.3)),
    "primal": SoftMarginPrimal(SPARSE, Y, 2.0),
    "primal without intercept": LINEAR["a C for each"],
    "regression primal": SVRPrimal(X, TARGETS, WEIGHTS, 0.1),
    "hard margin": HardMarginPrimal(X + 3 * Y[:, None], Y),
    "hard margin dual": HardMarginDual(X, Y, RBF(1.0), **WITHOUT),
}


def optimum(problem: Formulation) -> float:
    """Return the primal optimum, certified."""
    settings = problem.X, problem.y, problem.upper
    if problem.is_regression:
        view = SVRDual(*settings, problem.epsilon, problem.kernel, problem.intercept)
    else:
        view = SoftMarginDual(*settings, problem.kernel, problem.intercept)
    certificate = solve(view, SMO(tol=1e-8)).certificate
    assert certificate.relative_gap <= 1e-6
    return certificate.primal_objective


def excess(found: Solution) -> float:
    """Return by how much an answer's primal value exceeds the optimum, relatively."""
    return found.certificate.primal_objective / optimum(found.problem) - 1
