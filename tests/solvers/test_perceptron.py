"""The perceptron: its mistakes stay below Novikoff's bound, and it says where it would never end."""

import numpy as np
import pytest

from dualgap.problems import RBF, HardMarginDual, HardMarginPrimal, Linear
from dualgap.solvers import CvxoptQP, Perceptron, Status, solve
from dualgap.solvers.perceptron import mistake_bound


def separable(seed: int, gap: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3))
    f = X @ [1.0, -2.0, 0.5] + 0.3
    keep = np.abs(f) > gap
    return X[keep], np.sign(f[keep])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.5)], ids=str)
def test_mistakes_never_exceed_the_bound(seed, intercept, kernel):
    X, y = separable(seed)
    if not intercept:
        y = np.sign(X @ [1.0, -2.0, 0.5])
    problem = HardMarginDual(X, y, kernel, intercept)
    maximal, solution = solve(problem, CvxoptQP()), solve(problem, Perceptron())
    assert 0 < solution.iterations <= mistake_bound(problem, maximal.certificate)


@pytest.mark.parametrize("intercept", [True, False])
def test_it_separates_and_its_margin_is_no_larger_than_the_maximal_one(intercept):
    X, y = separable(1)
    y = y if intercept else np.sign(X @ [1.0, -2.0, 0.5])
    problem = HardMarginPrimal(X, y, intercept)
    maximal, solution = solve(problem, CvxoptQP()), solve(problem, Perceptron())
    assert (y * solution.decision_function(X) > 0).all()
    assert solution.claimed == "stopped"
    assert solution.certificate.primal_objective >= maximal.certificate.dual_objective


def test_its_weights_are_the_loop_of_the_note():
    X, y = separable(2)
    w, b, mistakes, clean = np.zeros(3), 0.0, 0, False
    while not clean:
        clean = True
        for x, t in zip(X, y, strict=True):
            if t * (w @ x + b) <= 0:
                w, b, mistakes, clean = w + t * x, b + t, mistakes + 1, False
    solution = solve(HardMarginDual(X, y), Perceptron())
    assert solution.iterations == mistakes
    counts = solution.point.alpha
    assert np.allclose((counts * y) @ X, w)
    assert np.isclose(counts @ y, b)


def test_the_perceptron_stops_with_a_proof_on_inseparable_samples():
    X, y = separable(3)
    y[0] = -y[0]
    X = np.vstack([X, X[:1]])
    solution = solve(HardMarginDual(X, np.append(y, -y[0])), Perceptron())
    assert solution.status is Status.INFEASIBLE
    assert solution.verdict == "infeasible"


def test_a_bound_needs_a_separating_hyperplane():
    X = np.array([[0.0], [1.0], [2.0]])
    problem = HardMarginDual(X, np.array([1.0, -1.0, 1.0]))
    with pytest.raises(ValueError, match="maximal"):
        mistake_bound(problem, solve(problem, Perceptron(max_passes=5)).certificate)
