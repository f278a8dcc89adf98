"""LDA beside the linear machine: outliers on the right side move the one and not the other."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dualgap.problems import SoftMarginPrimal
from dualgap.solvers import LDA, SMO, solve


def classes(outliers: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    X[:, 0] += 2.5 * y
    far = np.column_stack([np.full(outliers, 12.0), np.linspace(25.0, 30.0, outliers)])
    return np.vstack([X, far]), np.concatenate([y, np.ones(outliers)])


def direction(w: np.ndarray) -> np.ndarray:
    return w / np.linalg.norm(w)


def test_its_hyperplane_is_that_of_scikit_learn():
    X, y = classes()
    solution = solve(SoftMarginPrimal(X, y, 1.0), LDA())
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert np.allclose(direction(solution.point.w), direction(model.coef_.ravel()))
    assert solution.claimed == "stopped"
    assert solution.verdict == "inaccurate"


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_its_weights_have_the_optimal_length(C):
    X, y = classes()
    solution = solve(SoftMarginPrimal(X, y, C), LDA())
    w, b = solution.point.w, solution.point.b

    def primal(t):
        return 0.5 * t**2 * (w @ w) + C * np.maximum(0, 1 - t * y * (X @ w + b)).sum()

    assert primal(1.0) <= minimize_scalar(primal, bounds=(0, 3), method="bounded").fun * (1 + 1e-9)


def test_far_outliers_move_lda_and_not_the_machine():
    turned = {}
    for solver in (LDA(), SMO(tol=1e-8)):
        w = [
            direction(solve(SoftMarginPrimal(*classes(k), 1.0), solver).certificate.point.w)
            for k in (0, 10)
        ]
        turned[solver.name] = np.degrees(np.arccos(min(1.0, w[0] @ w[1])))
    assert turned["lda"] > 10.0
    assert turned["smo"] < 0.1
